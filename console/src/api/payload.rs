//! Records as JSON: bytes that are text as text, others in hexadecimal, and no more of either than was asked for.

use std::fmt::Write as _;

use pillion_client::{ConsumedRecord, Header};
use serde_json::{Value, json};

/// Bytes of a key, a value or a header shown in a list.
pub(super) const IN_LIST: usize = 2 * 1024;
/// Bytes of one shown alone.
pub(super) const ALONE: usize = 1024 * 1024;
/// Headers shown of a record.
const HEADERS_MAX: usize = 100;

/// A record.
pub(super) fn record(record: &ConsumedRecord, bytes_max: usize) -> Value {
    let header = |header: &Header| json!({ "name": *header.key, "value": bytes(header.value.as_deref(), bytes_max) });
    json!({
        "partition": record.partition,
        "offset": record.offset,
        "timestampMs": record.timestamp_ms,
        "key": bytes(record.key.as_deref(), bytes_max),
        "value": bytes(record.value.as_deref(), bytes_max),
        "headers": record.headers.iter().take(HEADERS_MAX).map(header).collect::<Vec<_>>(),
        "headerCount": record.headers.len(),
        "traceId": record.headers.iter().find_map(trace_id),
    })
}

/// `null`, `{"text": …}` or `{"hex": …}`, with how many bytes there are; `cut` when not all of them are shown.
pub(super) fn bytes(bytes: Option<&[u8]>, bytes_max: usize) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    let (shown, is_cut) = (&bytes[..bytes.len().min(bytes_max)], bytes.len() > bytes_max);
    match text(shown, is_cut) {
        Some(text) => json!({ "text": text, "bytes": bytes.len(), "cut": is_cut }),
        None => json!({ "hex": hex(&shown[..shown.len().min(bytes_max / 2)]), "bytes": bytes.len(),
                        "cut": bytes.len() > bytes_max / 2 }),
    }
}

/// The text that bytes are; of cut ones what is whole. Control characters make it something else.
fn text(shown: &[u8], is_cut: bool) -> Option<&str> {
    let text = match std::str::from_utf8(shown) {
        Ok(text) => text,
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&shown[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_plain = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t');
    text.chars().all(is_plain).then_some(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The trace a W3C `traceparent` is of: `00-<32 digits>-<16 digits>-<2 digits>`.
fn trace_id(header: &Header) -> Option<String> {
    if *header.key != *"traceparent" {
        return None;
    }
    let text = std::str::from_utf8(header.value.as_deref()?).ok()?;
    let id = text.split('-').nth(1)?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    is_id.then(|| id.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
