//! Outbox row → Kafka record, as Debezium's outbox event router makes it. Pure: a row, the options and the commit
//! time in, one [`OutboxEvent`] out.
//!
//! Between `pgoutput` (which decodes rows) and publishing. The options have Debezium's names and, unless said
//! otherwise here, its results. Differences, with their reasons:
//!
//! - A header `type` is added by default (`type:header`): a consumer of a topic with several event types needs it.
//! - A record's timestamp is the commit time, not the time at which the row was read: it says when it happened.
//! - A bare `traceparent` in the tracing column is understood, and `baggage` is passed on.
//! - A topic name that Kafka would refuse is an error of that row, found before anything is sent.
//! - A payload to expand that is half JSON is an error of its row.
//!
//! `docs/debezium.md` has all of them, option by option.
//!
//! Invariant: the same row gives the same event, whatever was routed before it.

mod dead_letter;
mod error;
mod event;
mod expand;
mod fields;
mod json;
mod layout;
mod options;
mod placement;
mod record;
mod timestamp;
mod topic;
mod value;

#[cfg(test)]
mod tests;

pub use dead_letter::{DEAD_LETTER_VALUE_BYTES_MAX, Poison, PoisonContent};
pub use error::RouteError;
pub use event::{Header, OutboxEvent};
pub use layout::{LayoutError, TableLayout};
pub use options::{InvalidOperation, JsonNull, OptionError, RouterOptions};
pub use placement::{Placement, PlacementError, Target};
pub use topic::TopicRouteError;
pub(crate) use topic::is_legal as is_topic_name;

use std::sync::Arc;

use bytes::Bytes;

use crate::pgoutput::{Cell, Relation};
use dead_letter::Readable;
use fields::{Fields, Members};
use placement::NamedPlacement;
use topic::TopicRoute;
use value::Value;

/// Routes rows by one set of options.
#[derive(Debug)]
pub struct Router {
    options: RouterOptions,
    topic: TopicRoute,
    placements: Vec<NamedPlacement>,
    /// `id`, the header every record has.
    id_header: Arc<str>,
}

impl Router {
    /// Checks the options against each other.
    ///
    /// # Errors
    /// [`TopicRouteError`] when `route.topic.regex` or `route.topic.replacement` cannot be used.
    pub fn new(options: RouterOptions) -> Result<Router, TopicRouteError> {
        let topic = TopicRoute::new(&options.topic_regex, &options.topic_replacement)?;
        let placements = options.placements().iter().map(Placement::named).collect();
        Ok(Router { options, topic, placements, id_header: "id".into() })
    }

    /// The options it was made with.
    pub fn options(&self) -> &RouterOptions {
        &self.options
    }

    /// Finds the columns the options name in a table. Done once for each description of a table.
    ///
    /// # Errors
    /// [`LayoutError`] names the column that is missing and the option that asks for it.
    pub fn layout(&self, relation: &Relation) -> Result<TableLayout, LayoutError> {
        TableLayout::new(&self.options, &self.placements, relation)
    }

    /// Routes one row of a table. `commit_time_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`RouteError`] says what this row has that no record can be made of.
    pub fn route(&self, layout: &TableLayout, row: &[Cell], commit_time_ms: i64) -> Result<OutboxEvent, RouteError> {
        self.record(Fields::of_row(layout, row)?, commit_time_ms)
    }

    /// Routes the content of `pg_logical_emit_message(true, 'outbox', …)`: a JSON object whose members are the
    /// outbox table's columns. A member that is not a string counts as the text it has in the content, so
    /// `payload` may be an object.
    ///
    /// # Errors
    /// As [`route`](Self::route), and when the content is not such an object.
    pub fn route_emitted(&self, content: &Bytes, commit_time_ms: i64) -> Result<OutboxEvent, RouteError> {
        let members = Members::parse(content)?;
        self.record(Fields::of_message(&self.options, &self.placements, &members)?, commit_time_ms)
    }

    /// The record that takes a poison row's place on `topic`, with `on.error=dead-letter`. It can always be made, is
    /// never larger than half of what a broker takes by default, and says what it leaves out:
    ///
    /// - key: the key the row's record would have had, null if it cannot be read or is longer than 16 KiB,
    /// - value: `{"reason":"…","table":"public.outbox","commitLsn":"0/1A2B3C8","ordinal":3,"row":{"id":"…","note":null,…}}`,
    ///   with `message` in place of `row` for an emitted message, and `"truncated":["payload"]` after it where values
    ///   were cut,
    /// - headers: the row's trace and `id` if they can be read, then `pillion.dead-letter.reason`, `.table`, `.lsn` and
    ///   `.ordinal`.
    pub fn dead_letter(&self, topic: &str, poison: &Poison<'_>) -> OutboxEvent {
        let readable = match poison.content {
            PoisonContent::Row { layout, row } => {
                let value = |position| fields::cell(row, position).ok().flatten();
                readable(value(layout.id), value(layout.key), layout.span_context.and_then(value))
            }
            PoisonContent::Message(content) => match Members::parse(content) {
                Ok(members) => readable(
                    members.get(&self.options.event_id),
                    members.get(&self.options.event_key),
                    members.get(&self.options.span_context),
                ),
                Err(_) => Readable::default(),
            },
        };
        dead_letter::build(topic, poison, readable)
    }
}

fn readable(id: Option<Value<'_>>, key: Option<Value<'_>>, context: Option<Value<'_>>) -> Readable {
    Readable {
        id: id.and_then(|id| id.header().ok()),
        key: key.and_then(|key| key.bytes().ok()),
        trace: context.and_then(record::trace),
    }
}
