//! The options of an address that are about TLS, taken out of it: libpq's names, in the URL and the `key=value` form.
//!
//! `tokio-postgres` knows three of libpq's values of `sslmode` and none of its files, so these never reach it.

use percent_encoding::percent_decode_str;

/// What is taken out.
const NAMES: [&str; 7] =
    ["sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation", "channel_binding"];

/// The address without them, and they with their values, in order. A text that is no address comes back whole: whoever
/// reads it next says what is wrong with it.
pub(super) fn split(text: &str) -> (String, Vec<(&'static str, String)>) {
    let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    let parted = if is_url { split_url(text) } else { split_pairs(text) };
    parted.unwrap_or_else(|| (text.to_owned(), Vec::new()))
}

fn known(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

fn split_url(text: &str) -> Option<(String, Vec<(&'static str, String)>)> {
    // A `?` before the `@` belongs to the password.
    let credentials = text.find('@').map_or(0, |at| at + 1);
    let query = credentials + text[credentials..].find('?')?;
    let mut taken = Vec::new();
    let mut rest = Vec::new();
    for parameter in text[query + 1..].split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match percent_decode_str(name).decode_utf8().ok().and_then(|name| known(&name)) {
            Some(name) => taken.push((name, percent_decode_str(value).decode_utf8_lossy().into_owned())),
            None => rest.push(parameter),
        }
    }
    let separator = if rest.is_empty() { "" } else { "?" };
    Some((format!("{}{separator}{}", &text[..query], rest.join("&")), taken))
}

/// None where the text is not of that form.
fn split_pairs(text: &str) -> Option<(String, Vec<(&'static str, String)>)> {
    let mut taken = Vec::new();
    let mut rest = String::new();
    let mut remaining = text.trim_start();
    while !remaining.is_empty() {
        let (name, after) = remaining.split_once('=')?;
        let (value, end) = value(after.trim_start())?;
        let after = &after.trim_start()[end..];
        match known(name.trim_end()) {
            Some(name) => taken.push((name, value)),
            None => {
                rest.push_str(&remaining[..remaining.len() - after.len()]);
                rest.push(' ');
            }
        }
        remaining = after.trim_start();
    }
    Some((rest, taken))
}

/// A value and how many bytes it takes: up to a blank, or in single quotes; a backslash makes the next character
/// an ordinary one.
fn value(text: &str) -> Option<(String, usize)> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.push(characters.next()?.1),
            '\'' if is_quoted => return Some((value, at + 1)),
            blank if !is_quoted && blank.is_whitespace() => return Some((value, at)),
            other => value.push(other),
        }
    }
    (!is_quoted).then_some((value, text.len()))
}
