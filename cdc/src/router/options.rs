//! The router's options under Debezium's names, typed.

use std::str::FromStr;

use thiserror::Error;

use super::placement::{Placement, PlacementError, Target};

#[cfg(test)]
mod tests;

/// What to do with an UPDATE or TRUNCATE of an outbox table (`table.op.invalid.behavior`). A DELETE is the normal
/// way of emptying an outbox and is always ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InvalidOperation {
    /// Log a warning and go on.
    #[default]
    Warn,
    /// Log an error and go on.
    Error,
    /// Stop the connector.
    Fatal,
}

/// Which columns mean what, and how topics are named. The defaults are Debezium's but for `additional`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterOptions {
    /// `table.field.event.id`: the event's unique id, sent as header `id`. Default `id`.
    pub event_id: String,
    /// `table.field.event.key`: the record's key, NULL for none. Default `aggregateid`.
    pub event_key: String,
    /// `table.field.event.type`: the kind of event, which the default placement sends as header `type`. Default `type`.
    pub event_type: String,
    /// `table.field.event.payload`: the record's value. Default `payload`.
    pub event_payload: String,
    /// `table.field.event.timestamp`: a timestamp or bigint (milliseconds) column for the record's timestamp, in
    /// place of the commit time. Default none.
    pub event_timestamp: Option<String>,
    /// `table.field.event.schema.version`: must exist if named; with a schemaless value it changes nothing. Default none.
    pub schema_version: Option<String>,
    /// `table.fields.additional.placement`. `None` is the default placement: the event type as header `type`.
    pub additional: Option<Vec<Placement>>,
    /// `table.fields.additional.error.on.missing`: a placed column the table lacks stops the connector (default),
    /// otherwise it is left out.
    pub additional_error_on_missing: bool,
    /// `route.by.field`: the column the topic is named by. Default `aggregatetype`.
    pub route_by: String,
    /// `route.topic.regex`: must match the whole of that column's value, or the value itself is the topic.
    pub topic_regex: String,
    /// `route.topic.replacement`: the topic; `$1` and `${name}` are the regex's groups.
    /// Default `outbox.event.${routedByValue}`.
    pub topic_replacement: String,
    /// `route.tombstone.on.empty.payload`: an empty text or bytea payload becomes a null value. A NULL one always does.
    pub tombstone_on_empty_payload: bool,
    /// `table.op.invalid.behavior`.
    pub invalid_operation: InvalidOperation,
    /// `tracing.span.context.field`: the column with the trace context; may be missing. Default `tracingspancontext`.
    pub span_context: String,
}

/// An option that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionError {
    /// Not one of the router's options.
    #[error("`{0}` is not an option of the outbox router")]
    Unknown(String),
    /// Its value is not one it can have.
    #[error("{name} = `{value}`: expected {expected}")]
    Value {
        /// The option.
        name: String,
        /// What was given.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A part of `table.fields.additional.placement`.
    #[error("table.fields.additional.placement")]
    Placement(#[from] PlacementError),
    /// Known to Debezium, not built here yet; ignoring it would change what consumers receive.
    #[error("{name} = `{value}` is not supported yet; leave it out")]
    Unsupported {
        /// The option.
        name: String,
        /// What was given.
        value: String,
    },
}

impl Default for RouterOptions {
    fn default() -> RouterOptions {
        RouterOptions {
            event_id: "id".to_owned(),
            event_key: "aggregateid".to_owned(),
            event_type: "type".to_owned(),
            event_payload: "payload".to_owned(),
            event_timestamp: None,
            schema_version: None,
            additional: None,
            additional_error_on_missing: true,
            route_by: "aggregatetype".to_owned(),
            topic_regex: DEFAULT_TOPIC_REGEX.to_owned(),
            topic_replacement: "outbox.event.${routedByValue}".to_owned(),
            tombstone_on_empty_payload: false,
            invalid_operation: InvalidOperation::Warn,
            span_context: "tracingspancontext".to_owned(),
        }
    }
}

/// Debezium's default `route.topic.regex`.
pub(super) const DEFAULT_TOPIC_REGEX: &str = "(?<routedByValue>.*)";

impl RouterOptions {
    /// Sets one option by Debezium's name.
    ///
    /// # Errors
    /// [`OptionError`] when the name is unknown, the value impossible, or the option not supported.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "table.field.event.id" => self.event_id = column(name, value)?,
            "table.field.event.key" => self.event_key = column(name, value)?,
            "table.field.event.type" => self.event_type = column(name, value)?,
            "table.field.event.payload" => self.event_payload = column(name, value)?,
            "table.field.event.timestamp" => self.event_timestamp = Some(column(name, value)?),
            "table.field.event.schema.version" => self.schema_version = Some(column(name, value)?),
            "table.fields.additional.placement" => self.additional = Some(Placement::parse_list(value)?),
            "table.fields.additional.error.on.missing" => self.additional_error_on_missing = switch(name, value)?,
            "route.by.field" => self.route_by = column(name, value)?,
            "route.topic.regex" => self.topic_regex = value.to_owned(),
            "route.topic.replacement" => self.topic_replacement = value.to_owned(),
            "route.tombstone.on.empty.payload" => self.tombstone_on_empty_payload = switch(name, value)?,
            "table.op.invalid.behavior" => self.invalid_operation = value.parse()?,
            "tracing.span.context.field" => self.span_context = column(name, value)?,
            "table.expand.json.payload" => {
                if switch(name, value)? {
                    return Err(unsupported(name, value));
                }
            }
            "table.json.payload.null.behavior" => {
                if value != "ignore" {
                    return Err(unsupported(name, value));
                }
            }
            _ => return Err(OptionError::Unknown(name.to_owned())),
        }
        Ok(())
    }

    /// The placements in force: those asked for, or the event type as header `type`.
    pub fn placements(&self) -> Vec<Placement> {
        self.additional.clone().unwrap_or_else(|| {
            vec![Placement { column: self.event_type.clone(), target: Target::Header, alias: Some("type".to_owned()) }]
        })
    }
}

impl FromStr for InvalidOperation {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<InvalidOperation, OptionError> {
        match text {
            "warn" => Ok(InvalidOperation::Warn),
            "error" => Ok(InvalidOperation::Error),
            "fatal" => Ok(InvalidOperation::Fatal),
            _ => Err(OptionError::Value {
                name: "table.op.invalid.behavior".to_owned(),
                value: text.to_owned(),
                expected: "warn, error or fatal",
            }),
        }
    }
}

fn column(name: &str, value: &str) -> Result<String, OptionError> {
    match value {
        "" => Err(OptionError::Value { name: name.to_owned(), value: String::new(), expected: "a column's name" }),
        column => Ok(column.to_owned()),
    }
}

fn switch(name: &str, value: &str) -> Result<bool, OptionError> {
    value.parse().map_err(|_| OptionError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
        expected: "true or false",
    })
}

fn unsupported(name: &str, value: &str) -> OptionError {
    OptionError::Unsupported { name: name.to_owned(), value: value.to_owned() }
}
