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
//! - `table.expand.json.payload` is refused for now rather than ignored.
//!
//! Invariant: the same row gives the same event, whatever was routed before it.

mod event;
mod fields;
mod layout;
mod options;
mod placement;
mod timestamp;
mod topic;

#[cfg(test)]
mod tests;

pub use event::{Header, OutboxEvent, RouteError};
pub use layout::{LayoutError, TableLayout};
pub use options::{InvalidOperation, OptionError, RouterOptions};
pub use placement::{Placement, PlacementError, Target};
pub use topic::TopicRouteError;
pub(crate) use topic::is_legal as is_topic_name;

use bytes::Bytes;

use crate::pgoutput::{Cell, Relation};
use fields::Fields;
use topic::TopicRoute;

/// Routes rows by one set of options.
#[derive(Debug)]
pub struct Router {
    options: RouterOptions,
    topic: TopicRoute,
}

impl Router {
    /// Checks the options against each other.
    ///
    /// # Errors
    /// [`TopicRouteError`] when `route.topic.regex` or `route.topic.replacement` cannot be used.
    pub fn new(options: RouterOptions) -> Result<Router, TopicRouteError> {
        let topic = TopicRoute::new(&options.topic_regex, &options.topic_replacement)?;
        Ok(Router { options, topic })
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
        TableLayout::new(&self.options, relation)
    }

    /// Routes one row of a table. `commit_time_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`RouteError`] says what this row has that no record can be made of.
    pub fn route(&self, layout: &TableLayout, row: &[Cell], commit_time_ms: i64) -> Result<OutboxEvent, RouteError> {
        event::build(&self.options, &self.topic, Fields::of_row(layout, row)?, commit_time_ms)
    }

    /// Routes the content of `pg_logical_emit_message(true, 'outbox', …)`: a JSON object whose members are the
    /// outbox table's columns. A member that is not a string counts as the text it has in the content, so
    /// `payload` may be an object.
    ///
    /// # Errors
    /// As [`route`](Self::route), and when the content is not such an object.
    pub fn route_emitted(&self, content: &Bytes, commit_time_ms: i64) -> Result<OutboxEvent, RouteError> {
        event::build(&self.options, &self.topic, Fields::of_message(&self.options, content)?, commit_time_ms)
    }
}
