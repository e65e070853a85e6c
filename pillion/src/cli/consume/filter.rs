//! Which records are printed: those with these keys and headers.

use std::str::FromStr;

use clap::Args;
use pillion_client::ConsumedRecord;

/// Filters; a record passes all of them.
#[derive(Debug, Clone, Args)]
pub(super) struct Filter {
    /// Only records with this key; may be repeated, and any of them will do
    #[arg(short = 'k', long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// Only records with this header, or with this value of it; may be repeated, and all of them must be there
    #[arg(short = 'H', long = "header", value_name = "NAME[=VALUE]")]
    headers: Vec<WantedHeader>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct WantedHeader {
    name: String,
    value: Option<String>,
}

impl FromStr for WantedHeader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err("expected NAME or NAME=VALUE".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: value.map(str::to_owned) })
    }
}

impl Filter {
    /// Whether a record is wanted.
    pub(super) fn passes(&self, record: &ConsumedRecord) -> bool {
        let has_key = |wanted: &String| record.key.as_deref() == Some(wanted.as_bytes());
        let has_header = |wanted: &WantedHeader| {
            record.headers.iter().any(|header| {
                let is_value = |value: &String| header.value.as_deref() == Some(value.as_bytes());
                *header.key == *wanted.name && wanted.value.as_ref().is_none_or(is_value)
            })
        };
        (self.keys.is_empty() || self.keys.iter().any(has_key)) && self.headers.iter().all(has_header)
    }
}
