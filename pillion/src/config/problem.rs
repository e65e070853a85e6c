//! What can be wrong with a configuration.

use std::fmt;

/// Every problem of a configuration, in the order found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigurationError {
    /// One sentence each, naming the key and where its value comes from. Never empty.
    pub(crate) problems: Vec<String>,
}

impl ConfigurationError {
    /// `Ok` when there are no problems.
    pub(crate) fn unless_none(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the configuration cannot be used: {only}"),
            several => {
                write!(f, "the configuration cannot be used, {} problems:", several.len())?;
                several.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigurationError {}
