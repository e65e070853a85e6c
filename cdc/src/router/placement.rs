//! Where additional columns of the outbox table go: `column:header|envelope|partition[:alias]`.

use std::sync::Arc;

use thiserror::Error;

/// One additional column and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The column.
    pub column: String,
    /// Where its value goes.
    pub target: Target,
    /// The name it has there; the column's own without one.
    pub alias: Option<String>,
}

/// A place in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A header.
    Header,
    /// The value becomes a JSON object of the payload and this.
    Envelope,
    /// The partition's number.
    Partition,
}

/// A placement as it is used for every row: its name is shared by all records.
#[derive(Debug)]
pub(super) struct NamedPlacement {
    pub(super) column: String,
    pub(super) target: Target,
    pub(super) name: Arc<str>,
}

/// A placement that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// Not in the form the option has.
    #[error("`{0}`: expected column:header|envelope|partition[:alias]")]
    Form(String),
    /// A record has one partition.
    #[error("more than one column is placed as partition")]
    SecondPartition,
}

impl Placement {
    /// Reads a comma-separated list; an empty text is an empty list.
    ///
    /// # Errors
    /// [`PlacementError`] shows the item that cannot be read.
    pub fn parse_list(text: &str) -> Result<Vec<Placement>, PlacementError> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let list = text.split(',').map(Placement::parse).collect::<Result<Vec<_>, _>>()?;
        if list.iter().filter(|placement| placement.target == Target::Partition).count() > 1 {
            return Err(PlacementError::SecondPartition);
        }
        Ok(list)
    }

    /// The name the value has where it goes.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.column)
    }

    pub(super) fn named(&self) -> NamedPlacement {
        NamedPlacement { column: self.column.clone(), target: self.target, name: self.name().into() }
    }

    fn parse(item: &str) -> Result<Placement, PlacementError> {
        let form = || PlacementError::Form(item.to_owned());
        let mut parts = item.trim().split(':');
        let column = parts.next().filter(|column| !column.is_empty()).ok_or_else(form)?;
        let target = match parts.next() {
            Some("header") => Target::Header,
            Some("envelope") => Target::Envelope,
            Some("partition") => Target::Partition,
            _ => return Err(form()),
        };
        let alias = parts.next();
        if alias == Some("") || parts.next().is_some() {
            return Err(form());
        }
        Ok(Placement { column: column.to_owned(), target, alias: alias.map(str::to_owned) })
    }
}
