//! `partition.metadata`: which topic a partition's directory belongs to (KIP-516).
//!
//! ```text
//! version: 0
//! topic_id: UVGUqxutQEKkc_BHemDLwA    16 bytes in URL-safe base64; Kafka ends the file without a line feed
//! ```

use uuid::Uuid;

use super::FormatError;
use crate::data_directory::base64;

const VERSION: i32 = 0;
const ID_CHARACTERS: usize = 22;

/// The file of a topic's id.
pub(crate) fn encode(topic_id: Uuid) -> String {
    format!("version: {VERSION}\ntopic_id: {}", base64(topic_id))
}

/// The topic's id in a file.
///
/// # Errors
/// [`FormatError`] naming the line. An id of zeroes is none.
pub(crate) fn decode(text: &str) -> Result<Uuid, FormatError> {
    let wrong = |line, expected| FormatError::Line { line, expected };
    let mut lines = text.lines();
    let version = lines.next().and_then(|line| line.strip_prefix("version:"));
    let found = version.and_then(|version| version.trim().parse::<i32>().ok()).ok_or(wrong(1, "`version: 0`"))?;
    if found != VERSION {
        return Err(FormatError::Version { expected: VERSION, found });
    }
    let id = lines.next().and_then(|line| line.strip_prefix("topic_id:")).and_then(|id| decode_id(id.trim()));
    let id = id.filter(|id| !id.is_nil()).ok_or(wrong(2, "`topic_id:` and an id of 22 characters"))?;
    match lines.next() {
        None => Ok(id),
        Some(_) => Err(wrong(3, "there in this format")),
    }
}

/// The id that [`base64`] wrote so.
fn decode_id(text: &str) -> Option<Uuid> {
    if text.len() != ID_CHARACTERS {
        return None;
    }
    let mut bits = 0_u128;
    for (character, index) in text.bytes().zip(1..) {
        let value = u128::from(sextet(character)?);
        bits = match index {
            // The last character has but two bits of the id, and zeroes.
            ID_CHARACTERS if value & 0xf != 0 => return None,
            ID_CHARACTERS => bits << 2 | value >> 4,
            _ => bits << 6 | value,
        };
    }
    Some(Uuid::from_u128(bits))
}

fn sextet(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}
