//! A table's name as it stands in a statement.
//!
//! Invariant: every part is quoted, so that no name can be anything but a name.

use std::str::FromStr;

use crate::Error;

/// Bytes of a name that Postgres keeps (`NAMEDATALEN` less one).
const NAME_BYTES_MAX: usize = 63;

/// `table` or `schema.table`, exactly as they are called: no quotes, upper case stays upper case. A name without a
/// schema is looked for along the connection's `search_path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    quoted: String,
}

impl Table {
    /// Reads a name.
    ///
    /// # Errors
    /// [`Error::TableName`] when it has more than two parts, or one that Postgres would not keep as it is.
    pub fn new(name: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = name.split('.').collect();
        let is_name = |part: &&str| (1..=NAME_BYTES_MAX).contains(&part.len()) && !part.contains(['\0', '"']);
        if parts.len() > 2 || !parts.iter().all(is_name) {
            return Err(Error::TableName(name.to_owned()));
        }
        Ok(Self { quoted: format!("\"{}\"", parts.join("\".\"")) })
    }

    pub(crate) fn quoted(&self) -> &str {
        &self.quoted
    }
}

impl FromStr for Table {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests;
