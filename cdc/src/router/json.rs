//! JSON text as Jackson writes it, so that what Debezium's JsonConverter would have written comes out byte for byte.
//!
//! It differs from `serde_json` in two places: escapes have upper-case digits and characters beyond U+FFFF are written
//! as an escaped surrogate pair; floating-point numbers look as Java's `Double.toString` makes them.

#[cfg(test)]
mod tests;

/// Appends `text` in quotes.
pub(super) fn push_string(json: &mut String, text: &str) {
    json.reserve(text.len() + 2);
    json.push('"');
    let mut plain_from = 0;
    for (at, character) in text.char_indices() {
        if escaped_length(character) == character.len_utf8() {
            continue;
        }
        json.push_str(&text[plain_from..at]);
        push_escaped(json, character);
        plain_from = at + character.len_utf8();
    }
    json.push_str(&text[plain_from..]);
    json.push('"');
}

/// Appends the start of `text` in quotes, at most `bytes_max` bytes between them; true if that is not all of it.
pub(super) fn push_string_cut(json: &mut String, text: &str, bytes_max: usize) -> bool {
    let mut room = bytes_max;
    let end = text.char_indices().find_map(|(at, character)| {
        let left = room.checked_sub(escaped_length(character));
        room = left.unwrap_or(0);
        left.is_none().then_some(at)
    });
    push_string(json, &text[..end.unwrap_or(text.len())]);
    end.is_some()
}

/// Bytes that [`push_string`] writes between the quotes.
pub(super) fn string_length(text: &str) -> usize {
    text.chars().map(escaped_length).sum()
}

/// `12.5`, `1.0E10`, `NaN`: Java's `Double.toString`, with the fewest digits that name the number.
pub(super) fn double_text(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    java_text(format!("{number:e}"), number == 0.0)
}

/// The same of a 32-bit number: `Float.toString`.
pub(super) fn float_text(number: f32) -> String {
    if !number.is_finite() {
        return double_text(number.into());
    }
    java_text(format!("{number:e}"), number == 0.0)
}

/// Java's text of a number given as Rust's `-1.25e-7`: plain from 10⁻³ to below 10⁷, otherwise with an exponent.
fn java_text(scientific: String, is_zero: bool) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    if !is_zero && !(-3..7).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        return format!("{sign}{first}.{rest}E{exponent}");
    }
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    let whole = format!("{digits:0<width$}", width = exponent + 1);
    let (whole, fraction) = whole.split_at(exponent + 1);
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    format!("{sign}{whole}.{fraction}")
}

fn escaped_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        '\u{10000}'.. => 12,
        plain => plain.len_utf8(),
    }
}

fn push_escaped(json: &mut String, character: char) {
    match character {
        '"' => json.push_str("\\\""),
        '\\' => json.push_str("\\\\"),
        '\n' => json.push_str("\\n"),
        '\r' => json.push_str("\\r"),
        '\t' => json.push_str("\\t"),
        '\u{8}' => json.push_str("\\b"),
        '\u{c}' => json.push_str("\\f"),
        other => {
            for unit in other.encode_utf16(&mut [0; 2]) {
                json.push_str(&format!("\\u{unit:04X}"));
            }
        }
    }
}
