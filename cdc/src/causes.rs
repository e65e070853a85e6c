//! An error with its causes in one line, for logs and the status.

use std::error::Error;

/// `error: cause: cause of the cause`, without repeating one that says the same as the one before.
pub(crate) fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}
