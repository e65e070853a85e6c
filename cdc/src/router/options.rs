//! The router's options under Debezium's names, typed.

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

/// What becomes of a null within a payload that is expanded (`table.json.payload.null.behavior`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonNull {
    /// The member is left out.
    #[default]
    Ignore,
    /// It stays a null.
    OptionalBytes,
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
    /// `table.field.additional.missing`: with `error` (default) a placed column the table lacks stops the connector,
    /// with `ignore` it is left out. Also read under its older name, `table.fields.additional.error.on.missing`.
    pub additional_error_on_missing: bool,
    /// `route.by.field`: the column the topic is named by. Default `aggregatetype`.
    pub route_by: String,
    /// `route.topic.regex`: must match the whole of that column's value, or the value itself is the topic.
    pub topic_regex: String,
    /// `route.topic.replacement`: the topic; `$1` and `${name}` are the regex's groups.
    /// Default `outbox.event.${routedByValue}`.
    pub topic_replacement: String,
    /// `table.expand.json.payload`: the value is the payload's JSON as Debezium's JsonConverter writes it, not its text.
    pub expand_json_payload: bool,
    /// `table.json.payload.null.behavior`, for a payload that is expanded.
    pub json_null: JsonNull,
    /// `route.tombstone.on.empty.payload`: a payload that is NULL or blank text becomes a null value, also where it
    /// would be expanded or enveloped. Without either, a NULL one always does.
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
    /// Known to Debezium and not built here: ignoring it would change what consumers or traces show.
    #[error("{name} = `{value}` is not supported; leave it out")]
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
            expand_json_payload: false,
            json_null: JsonNull::Ignore,
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
            "table.field.additional.missing" => {
                self.additional_error_on_missing = choice(name, value, "error or ignore", |value| match value {
                    "error" => Some(true),
                    "ignore" => Some(false),
                    _ => None,
                })?;
            }
            "table.fields.additional.error.on.missing" => self.additional_error_on_missing = switch(name, value)?,
            "route.by.field" => self.route_by = column(name, value)?,
            "route.topic.regex" => self.topic_regex = value.to_owned(),
            "route.topic.replacement" => self.topic_replacement = value.to_owned(),
            "route.tombstone.on.empty.payload" => self.tombstone_on_empty_payload = switch(name, value)?,
            "table.op.invalid.behavior" => {
                self.invalid_operation = choice(name, value, "warn, error or fatal", |value| match value {
                    "warn" => Some(InvalidOperation::Warn),
                    "error" => Some(InvalidOperation::Error),
                    "fatal" => Some(InvalidOperation::Fatal),
                    _ => None,
                })?;
            }
            "tracing.span.context.field" => self.span_context = column(name, value)?,
            "table.expand.json.payload" => self.expand_json_payload = switch(name, value)?,
            "table.json.payload.null.behavior" => {
                self.json_null = choice(name, value, "ignore or optional_bytes", |value| match value {
                    "ignore" => Some(JsonNull::Ignore),
                    "optional_bytes" => Some(JsonNull::OptionalBytes),
                    _ => None,
                })?;
            }
            // A row without a context never starts a trace here, which is Debezium's default.
            "tracing.with.context.field.only" if !switch(name, value)? => return Err(unsupported(name, value)),
            "tracing.with.context.field.only" => {}
            // Spans are named by OpenTelemetry's conventions.
            "tracing.operation.name" => return Err(unsupported(name, value)),
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

fn column(name: &str, value: &str) -> Result<String, OptionError> {
    match value {
        "" => Err(OptionError::Value { name: name.to_owned(), value: String::new(), expected: "a column's name" }),
        column => Ok(column.to_owned()),
    }
}

fn switch(name: &str, value: &str) -> Result<bool, OptionError> {
    choice(name, value, "true or false", |value| value.parse().ok())
}

fn choice<C>(
    name: &str,
    value: &str,
    expected: &'static str,
    read: impl FnOnce(&str) -> Option<C>,
) -> Result<C, OptionError> {
    let wrong = || OptionError::Value { name: name.to_owned(), value: value.to_owned(), expected };
    read(value).ok_or_else(wrong)
}

fn unsupported(name: &str, value: &str) -> OptionError {
    OptionError::Unsupported { name: name.to_owned(), value: value.to_owned() }
}
