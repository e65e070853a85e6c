//! The record that takes a poison row's place with `on.error=dead-letter`: enough to see what was wrong, and to
//! write the row again once it is mended.
//!
//! ```text
//! key      the key the row's record would have had, null if it cannot be read or is longer than 16 KiB
//! value    {"reason":"…","table":"public.outbox","commitLsn":"0/1A2B3C8","ordinal":3,
//!           "row":{"id":"…","payload":"…","note":null,…},"truncated":["payload"]}
//! headers  traceparent, tracestate, baggage   as far as the row's trace context can be read
//!          id                                 the row's id, if it can be read and has at most 1 KiB
//!          pillion.dead-letter.reason, .table, .lsn, .ordinal
//! ```
//!
//! Members of `row` are the table's columns in their order, each the text Postgres printed (bytea as `\x` and
//! hexadecimal digits) or null. Bytes that are not UTF-8 are shown like bytea. In place of `row` there is
//! `"message":{"content":"…"}` for `pg_logical_emit_message`.
//!
//! Invariant: a dead letter is never poison itself. Its value is at most [`DEAD_LETTER_VALUE_BYTES_MAX`] long, whatever
//! the row's size: the longest values are cut until it fits, and `truncated`, there only then, names them.

use std::borrow::Cow;
use std::fmt::Write;

use bytes::Bytes;

use super::event::{Header, OutboxEvent};
use super::json;
use super::layout::TableLayout;
use crate::lsn::Lsn;
use crate::pgoutput::Cell;

#[cfg(test)]
mod tests;

/// Longest value of a dead letter, in bytes: half of what a broker takes by default (`message.max.bytes` 1048588),
/// so that key and headers have room beside it.
pub const DEAD_LETTER_VALUE_BYTES_MAX: usize = 512 * 1024;
/// A longer key is left out: it is among the row's values.
const KEY_BYTES_MAX: usize = 16 * 1024;
/// A longer id is no header: it is among the row's values.
const ID_BYTES_MAX: usize = 1024;
/// A longer reason is cut.
const REASON_BYTES_MAX: usize = 4 * 1024;
/// Most room for the columns' names; further columns are left out, and `truncated` says how many.
const NAMES_BYTES_MAX: usize = 256 * 1024;
/// Room for everything in the value that is not the row: braces, position, a table's name of 127 bytes.
const FRAME_BYTES: usize = 4 * 1024;

/// A row that no record can be made of, or whose record the broker refuses.
#[derive(Debug, Clone, Copy)]
pub struct Poison<'a> {
    /// Why, for a person to read.
    pub reason: &'a str,
    /// The table, schema-qualified, or `pg_logical_emit_message`.
    pub table: &'a str,
    /// Where the commit record of its transaction starts.
    pub commit_lsn: Lsn,
    /// Which outbox row of its transaction it is, from 1.
    pub ordinal: u64,
    /// The commit's time in milliseconds since the Unix epoch: the record's timestamp.
    pub commit_time_ms: i64,
    /// What there is of it.
    pub content: PoisonContent<'a>,
}

/// What a dead letter is made of.
#[derive(Debug, Clone, Copy)]
pub enum PoisonContent<'a> {
    /// A table's row.
    Row {
        /// Its table.
        layout: &'a TableLayout,
        /// One value per column.
        row: &'a [Cell],
    },
    /// The content of an emitted message.
    Message(&'a Bytes),
}

/// One column's or member's name and text; none is null.
type Part<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// What the row says about itself, as far as it can be read.
#[derive(Default)]
pub(super) struct Readable {
    pub(super) id: Option<Bytes>,
    pub(super) key: Option<Bytes>,
    pub(super) trace: Option<pillion_trace_context::TraceContext>,
}

pub(super) fn build(topic: &str, poison: &Poison<'_>, readable: Readable) -> OutboxEvent {
    let reason = cut(poison.reason, REASON_BYTES_MAX);
    let text = |text: String| Some(Bytes::from(text));
    let mut headers = Vec::with_capacity(5);
    if let Some(id) = readable.id.filter(|id| id.len() <= ID_BYTES_MAX) {
        headers.push(Header { key: "id".into(), value: Some(id) });
    }
    headers.extend([
        Header { key: "pillion.dead-letter.reason".into(), value: text(reason.to_owned()) },
        Header { key: "pillion.dead-letter.table".into(), value: text(poison.table.to_owned()) },
        Header { key: "pillion.dead-letter.lsn".into(), value: text(poison.commit_lsn.to_string()) },
        Header { key: "pillion.dead-letter.ordinal".into(), value: text(poison.ordinal.to_string()) },
    ]);
    OutboxEvent {
        topic: topic.into(),
        partition: None,
        key: readable.key.filter(|key| key.len() <= KEY_BYTES_MAX),
        value: Some(value(poison, reason).into()),
        headers,
        trace: readable.trace,
        timestamp_ms: poison.commit_time_ms,
    }
}

fn value(poison: &Poison<'_>, reason: &str) -> String {
    let (member, mut parts) = parts(&poison.content);
    // A name that is cut stands in `truncated` too, so it counts twice.
    let name_length = |name: &str| 2 * json::string_length(name) + 16;
    let mut names = 0;
    let mut has_room = |(name, _): &Part<'_>| {
        names += name_length(name);
        names <= NAMES_BYTES_MAX
    };
    let named = parts.iter().take_while(|part| has_room(part)).count();
    let left_out = parts.split_off(named).len();
    let mut json = String::from("{\"reason\":");
    json::push_string(&mut json, reason);
    json.push_str(",\"table\":");
    json::push_string_cut(&mut json, poison.table, FRAME_BYTES / 4);
    // Writing to a String cannot fail.
    let _ = write!(json, ",\"commitLsn\":\"{}\",\"ordinal\":{},\"{member}\":{{", poison.commit_lsn, poison.ordinal);
    let room = DEAD_LETTER_VALUE_BYTES_MAX - 6 * REASON_BYTES_MAX - FRAME_BYTES - names.min(NAMES_BYTES_MAX);
    let lengths = parts.iter().map(|(_, text)| text.as_deref().map_or(0, json::string_length));
    let share = fair_share(lengths.collect(), room);
    let mut truncated = Vec::new();
    for (position, (name, text)) in parts.iter().enumerate() {
        if position > 0 {
            json.push(',');
        }
        json::push_string(&mut json, name);
        json.push(':');
        match text {
            None => json.push_str("null"),
            Some(text) => {
                if json::push_string_cut(&mut json, text, share) {
                    truncated.push(name);
                }
            }
        }
    }
    json.push('}');
    let left_out = (left_out > 0).then(|| Cow::Owned(format!("{left_out} more")));
    truncated.extend(&left_out);
    if !truncated.is_empty() {
        json.push_str(",\"truncated\":[");
        for (position, name) in truncated.into_iter().enumerate() {
            if position > 0 {
                json.push(',');
            }
            json::push_string(&mut json, name);
        }
        json.push(']');
    }
    json.push('}');
    json
}

/// What the value shows, each part with its name, and the name of all of them.
fn parts<'a>(content: &PoisonContent<'a>) -> (&'static str, Vec<Part<'a>>) {
    match *content {
        PoisonContent::Row { layout, row } => {
            let name = |index: usize| match layout.columns.get(index) {
                Some(name) => Cow::Borrowed(&**name),
                None => Cow::Owned(format!("column {}", index + 1)),
            };
            let text = |cell: &'a Cell| match cell {
                Cell::Null | Cell::Unchanged => None,
                Cell::Text(text) => Some(shown(text)),
                Cell::Binary(bytes) => Some(hexadecimal(bytes)),
            };
            ("row", row.iter().enumerate().map(|(index, cell)| (name(index), text(cell))).collect())
        }
        PoisonContent::Message(content) => ("message", vec![("content".into(), Some(shown(content)))]),
    }
}

/// The largest length `share` for which the sum of all lengths, each cut to `share`, is at most `room`.
fn fair_share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (position, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - position);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

fn shown(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| hexadecimal(bytes), Cow::Borrowed)
}

/// As Postgres prints bytea; no more than can be shown.
fn hexadecimal(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = &bytes[..bytes.len().min(DEAD_LETTER_VALUE_BYTES_MAX)];
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.into()
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
