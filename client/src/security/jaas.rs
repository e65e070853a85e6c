//! Kafka's `sasl.jaas.config`, as far as it says no more than a user's name and password. Pure.
//!
//! `org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";`

use super::error::SecurityError;

/// Modules that come down to a name and a password.
const MODULES: [&str; 2] = ["plain.PlainLoginModule", "scram.ScramLoginModule"];

/// User and password.
///
/// # Errors
/// [`SecurityError::Jaas`], which repeats nothing of the text.
pub(super) fn credentials(text: &str) -> Result<(String, String), SecurityError> {
    let text = text.trim();
    let text = text.strip_suffix(';').ok_or(SecurityError::Jaas("expected a semicolon at the end"))?;
    let (module, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if !MODULES.iter().any(|known| module.ends_with(known)) {
        return Err(SecurityError::Jaas("expected PlainLoginModule or ScramLoginModule"));
    }
    let rest = rest.trim_start();
    let options = rest.strip_prefix("required").ok_or(SecurityError::Jaas("expected `required` behind the module"))?;
    let (mut username, mut password) = (None, None);
    let mut rest = options.trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=').ok_or(SecurityError::Jaas("expected name=\"value\""))?;
        let (value, behind) = value(behind.trim_start())?;
        match name.trim() {
            "username" => username = Some(value),
            "password" => password = Some(value),
            _ => return Err(SecurityError::Jaas("only username and password are known")),
        }
        rest = behind.trim_start();
    }
    username.zip(password).ok_or(SecurityError::Jaas("expected username and password"))
}

/// A quoted value with backslash escapes, or a bare word, and what is behind it.
fn value(text: &str) -> Result<(String, &str), SecurityError> {
    let mut characters = text.char_indices();
    let Some((_, quote @ ('"' | '\''))) = characters.next() else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            end if end == quote => return Ok((value, &text[at + end.len_utf8()..])),
            other => value.push(other),
        }
    }
    Err(SecurityError::Jaas("a quote is not closed"))
}

#[cfg(test)]
mod tests;
