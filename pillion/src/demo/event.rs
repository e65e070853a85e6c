//! An event as the demo sees it pass, and its line on the screen.

use std::time::{SystemTime, UNIX_EPOCH};

use pillion_client::ConsumedRecord;
use pillion_trace_context::{TRACEPARENT, TraceParent};

/// What is shown of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
    /// The aggregate id: here the order's.
    pub(super) key: String,
    /// The record header `id`: the same in every copy of the event. Empty when there is none.
    pub(super) id: String,
    /// The record header `type`.
    pub(super) event_type: String,
    /// From the record header `traceparent`; `None` when there is none that is valid.
    pub(super) trace_id: Option<String>,
    /// When the event's transaction committed, in milliseconds since 1970: the connector makes it the record's timestamp.
    pub(super) committed_ms: i64,
    /// From the commit until we had the record, in milliseconds.
    pub(super) since_commit_ms: i64,
}

impl Event {
    /// Reads a record that arrived at `now`.
    pub(super) fn of(record: &ConsumedRecord, now: SystemTime) -> Self {
        // The last header of a name wins (Kafka's `Headers.lastHeader`).
        let header = |name: &str| {
            let header = record.headers.iter().rev().find(|header| *header.key == *name)?;
            header.value.as_deref().map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let trace_parent = header(TRACEPARENT).and_then(|text| TraceParent::parse(text.as_bytes()).ok());
        let now_ms =
            now.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        Self {
            topic: record.topic.to_string(),
            partition: record.partition,
            offset: record.offset,
            key: record.key.as_deref().map(|key| String::from_utf8_lossy(key).into_owned()).unwrap_or_default(),
            id: header("id").unwrap_or_default(),
            event_type: header("type").unwrap_or_default(),
            trace_id: trace_parent.map(|parent| parent.trace_id.to_string()),
            committed_ms: record.timestamp_ms,
            since_commit_ms: now_ms - record.timestamp_ms,
        }
    }

    /// The names over the columns of [`Event::line`].
    pub(super) fn heading() -> String {
        columns(["event", "topic", "part", "offset", "ms", "key", "trace id"])
    }

    /// One line; `ms` is from the commit to us.
    pub(super) fn line(&self) -> String {
        columns([
            &self.event_type,
            &self.topic,
            &self.partition.to_string(),
            &self.offset.to_string(),
            &self.since_commit_ms.to_string(),
            &self.key,
            self.trace_id.as_deref().unwrap_or("-"),
        ])
    }
}

/// Lines cells up: widths fit the demo's topics, UUIDs and trace ids.
fn columns([event, topic, partition, offset, ms, key, trace]: [&str; 7]) -> String {
    format!("  {event:<18} {topic:<28} {partition:>4} {offset:>6} {ms:>5}  {key:<36}  {trace}")
}

#[cfg(test)]
mod tests;
