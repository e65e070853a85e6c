//! An event on its way into the outbox table.

use std::fmt::Display;

use opentelemetry::Context;
use serde::Serialize;
use uuid::Uuid;

use crate::Error;
use crate::trace::tracing_span_context;

/// A row of the outbox table. Its id is a new UUID of version 7: ids of one writer ascend, which keeps the index compact.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub(crate) id: Uuid,
    pub(crate) aggregate_type: String,
    pub(crate) aggregate_id: String,
    pub(crate) event_type: String,
    pub(crate) payload: Payload,
    /// `None`: that of the span current when the event is inserted.
    pub(crate) trace_context: Option<String>,
}

/// What a record's value is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Payload {
    /// NULL: a tombstone, or no record's value, as the connector's `route.tombstone.on.empty.payload` says.
    #[default]
    Null,
    /// For a column of type `jsonb`, `json` or text.
    Json(serde_json::Value),
    /// For a column of type `bytea`: Avro, Protobuf, anything; arrives as it is.
    Bytes(Vec<u8>),
}

impl Event {
    /// An event without a payload.
    ///
    /// `aggregate_type` chooses the topic (`outbox.event.<aggregate_type>`), `aggregate_id` is the record's key: events
    /// of one id stay in order. `event_type` becomes the header `type`. 255 characters each in Debezium's table.
    pub fn new(aggregate_type: impl Into<String>, aggregate_id: impl Display, event_type: impl Into<String>) -> Self {
        Self {
            id: Uuid::now_v7(),
            aggregate_type: aggregate_type.into(),
            aggregate_id: aggregate_id.to_string(),
            event_type: event_type.into(),
            payload: Payload::Null,
            trace_context: None,
        }
    }

    /// With a JSON payload: a [`serde_json::Value`] or anything that is `Serialize`.
    ///
    /// # Errors
    /// [`Error::Json`] when it has no form in JSON.
    pub fn json(mut self, payload: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        self.payload = Payload::Json(serde_json::to_value(payload).map_err(Error::Json)?);
        Ok(self)
    }

    /// With bytes as its payload; the table's column must be `bytea`.
    #[must_use]
    pub fn bytes(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Payload::Bytes(payload.into());
        self
    }

    /// With an id of the caller's. Never one that was used before: consumers take it for an event they know.
    #[must_use]
    pub fn id(mut self, id: Uuid) -> Self {
        self.id = id;
        self
    }

    /// With the span of `context` instead of the one that is current when the event is inserted.
    #[must_use]
    pub fn traced_by(mut self, context: &Context) -> Self {
        self.trace_context = Some(tracing_span_context(context).unwrap_or_default());
        self
    }

    /// With a text of the caller's for `tracingspancontext`: a W3C `traceparent` alone, or lines of Java `Properties`.
    #[must_use]
    pub fn trace_context(mut self, text: impl Into<String>) -> Self {
        self.trace_context = Some(text.into());
        self
    }

    /// What goes into `tracingspancontext`: `None`, thus NULL, outside of any span.
    pub(crate) fn tracing_span_context(&self) -> Option<String> {
        match &self.trace_context {
            Some(text) => (!text.is_empty()).then(|| text.clone()),
            None => tracing_span_context(&Context::current()),
        }
    }
}
