//! An event, its kind, and how a record is read as one.

use anyhow::{Context as _, Result};
use opentelemetry::Context;
use rdkafka::message::{Headers as _, Message};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::trace_context;

/// What happened, or what is asked for: the name is the outbox column and record header `type`, the aggregate type
/// decides the topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKind {
    /// The outbox column `aggregatetype`: whose event it is.
    pub aggregate_type: &'static str,
    /// The name as other services know it.
    pub name: &'static str,
}

impl EventKind {
    /// A kind.
    pub const fn new(aggregate_type: &'static str, name: &'static str) -> EventKind {
        EventKind { aggregate_type, name }
    }

    /// The topic the connector publishes it to: the outbox event router's default name.
    pub fn topic(self) -> String {
        format!("outbox.event.{}", self.aggregate_type)
    }
}

/// An event as a service receives it.
#[derive(Debug, Clone)]
pub struct Event {
    /// The outbox row's id, from the record header `id`: the same at every delivery.
    pub id: Uuid,
    /// What happened.
    pub kind: EventKind,
    /// The aggregate's id: events of one key come in order.
    pub key: String,
    /// Where it was read.
    pub partition: i32,
    /// Where it was read.
    pub offset: i64,
    /// When its transaction committed, in milliseconds since 1970: the connector makes it the record's timestamp.
    pub committed_ms: i64,
    /// The trace it belongs to.
    pub context: Context,
    /// The record's value.
    pub(super) payload: Vec<u8>,
}

impl Event {
    /// What it carries.
    ///
    /// # Errors
    /// When the value is not the JSON of a `T`: no later attempt will find another one.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.payload)
            .with_context(|| format!("the value of {} {} is not what it should be", self.kind.name, self.id))
    }
}

/// A record that is put aside.
#[derive(Debug, Clone)]
pub struct Parked {
    /// Where it stays.
    pub topic: String,
    /// Where it stays.
    pub partition: i32,
    /// Where it stays.
    pub offset: i64,
    /// `None` when the record does not tell.
    pub event_id: Option<Uuid>,
    /// Empty when the record does not tell.
    pub name: String,
    /// The record's key, as text.
    pub key: String,
    /// The record's value.
    pub payload: Vec<u8>,
    /// Why nothing can be done with it.
    pub reason: String,
}

impl Parked {
    pub(super) fn event(event: &Event, reason: &anyhow::Error) -> Parked {
        Parked {
            topic: event.kind.topic(),
            partition: event.partition,
            offset: event.offset,
            event_id: Some(event.id),
            name: event.kind.name.to_owned(),
            key: event.key.clone(),
            payload: event.payload.clone(),
            reason: format!("{reason:#}"),
        }
    }
}

/// The event in a record; `None` for one this service does not react to.
pub(super) fn read(record: &impl Message, wanted: &[EventKind]) -> Result<Option<Event>> {
    let name = header(record, "type").context("it has no header `type`: let the connector place the column there")?;
    let is_wanted = |kind: &&EventKind| {
        kind.name == name && record.topic().strip_prefix("outbox.event.") == Some(kind.aggregate_type)
    };
    let Some(kind) = wanted.iter().find(is_wanted).copied() else {
        return Ok(None);
    };
    let id = header(record, "id").context("it has no header `id`")?;
    let id = Uuid::parse_str(id).context("its header `id` is not a UUID")?;
    Ok(Some(Event {
        id,
        kind,
        key: key(record),
        partition: record.partition(),
        offset: record.offset(),
        committed_ms: record.timestamp().to_millis().unwrap_or_default(),
        context: trace_context::remote(text_headers(record)),
        payload: record.payload().unwrap_or_default().to_vec(),
    }))
}

/// A record that is no event.
pub(super) fn unreadable(record: &impl Message, reason: &anyhow::Error) -> Parked {
    Parked {
        topic: record.topic().to_owned(),
        partition: record.partition(),
        offset: record.offset(),
        event_id: header(record, "id").and_then(|id| Uuid::parse_str(id).ok()),
        name: header(record, "type").unwrap_or_default().to_owned(),
        key: key(record),
        payload: record.payload().unwrap_or_default().to_vec(),
        reason: format!("{reason:#}"),
    }
}

fn key(record: &impl Message) -> String {
    String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned()
}

/// The last header of a name counts.
fn header<'a>(record: &'a impl Message, name: &str) -> Option<&'a str> {
    text_headers(record).filter(|(key, _)| *key == name).last().map(|(_, value)| value)
}

fn text_headers(record: &impl Message) -> impl Iterator<Item = (&str, &str)> {
    let headers = record.headers().into_iter().flat_map(|headers| headers.iter());
    headers.filter_map(|header| Some((header.key, std::str::from_utf8(header.value?).ok()?)))
}

#[cfg(test)]
mod tests;
