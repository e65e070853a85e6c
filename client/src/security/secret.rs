//! A text that is nobody's to read: a password or a private key.

use std::fmt;

/// A secret. Its debug output does not show it, and there is no `Display`.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text, for the one who has to use it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("********")
    }
}
