//! The record made of one outbox row.

use bytes::Bytes;
use pillion_trace_context::{TraceContext, TracingSpanContext};
use thiserror::Error;

use super::fields::{Fields, PlacedValue, Value, ValueKind};
use super::options::RouterOptions;
use super::placement::Target;
use super::timestamp;
use super::topic::{self, TopicRoute};

/// A record header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub key: String,
    /// Its value; `None` is Kafka's null.
    pub value: Option<Bytes>,
}

/// A record to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEvent {
    /// The topic, a name Kafka accepts.
    pub topic: String,
    /// The partition, 0 or higher, if a column decides it; otherwise the key does.
    pub partition: Option<i32>,
    /// The key: the aggregate's id as text.
    pub key: Option<Bytes>,
    /// The value: the payload as Postgres prints it; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// `id`, then the additional fields in their order. [`record_headers`](Self::record_headers) adds the trace.
    pub headers: Vec<Header>,
    /// The trace the row was written in.
    pub trace: Option<TraceContext>,
    /// Milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
}

/// What a row has that no record can be made of.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// The routing column is NULL.
    #[error("the column that route.by.field names (aggregatetype by default) is null")]
    NoRoute,
    /// The id is NULL.
    #[error("the column that table.field.event.id names (id by default) is null")]
    NoId,
    /// Kafka would refuse the topic.
    #[error("`{topic}` is not a topic name Kafka accepts: 1 to 249 of a-z A-Z 0-9 . _ -, and not . or ..")]
    IllegalTopic {
        /// The routed name, cut to 300 characters.
        topic: String,
    },
    /// A partition that is not a number of 0 to 2147483647.
    #[error("`{value}` in the column placed as partition is not a partition number")]
    Partition {
        /// The column's text, cut to 100 characters.
        value: String,
    },
    /// A timestamp that is not one.
    #[error("`{value}` in the column that table.field.event.timestamp names is not a timestamp")]
    Timestamp {
        /// The column's text, cut to 100 characters.
        value: String,
    },
    /// Text that is not UTF-8 where a name is needed, or in an envelope.
    #[error("the {field} is not UTF-8")]
    NotUtf8 {
        /// Which.
        field: &'static str,
    },
    /// A bytea that is not `\x` and hexadecimal digits.
    #[error("a bytea column is not printed in hexadecimal; set bytea_output = 'hex' for the connector's role")]
    Bytea,
    /// A value was not sent, or not as text.
    #[error("column number {column} was not sent as text")]
    NotText {
        /// Its index in the row.
        column: usize,
    },
    /// The row does not fit the table's description.
    #[error("the row has {found} columns, its table {expected}")]
    ColumnCount {
        /// As described.
        expected: usize,
        /// As received.
        found: usize,
    },
    /// An emitted message that is not a JSON object.
    #[error("the emitted message is not a JSON object of outbox columns: {reason}")]
    Message {
        /// The parser's reason.
        reason: String,
    },
    /// An emitted message outside of a transaction.
    #[error(
        "the message was emitted outside of its transaction, which may have been rolled back; pass true as first argument of pg_logical_emit_message"
    )]
    NotTransactional,
    /// An emitted message without an additional field.
    #[error("the emitted message has no member `{name}`, which table.fields.additional.placement names")]
    MissingMember {
        /// The member.
        name: String,
    },
}

impl OutboxEvent {
    /// The event's id, as the header `id` carries it.
    pub fn id(&self) -> Option<&Bytes> {
        self.headers.iter().find(|header| header.key == "id").and_then(|header| header.value.as_ref())
    }

    /// All headers in the order in which they are sent: `traceparent`, `tracestate` and `baggage` as far as there are
    /// any, then [`headers`](Self::headers).
    pub fn record_headers(&self) -> Vec<Header> {
        let mut headers = Vec::with_capacity(self.headers.len() + 3);
        if let Some(trace) = &self.trace {
            trace.inject(|name, value| {
                headers.push(Header { key: name.to_owned(), value: Some(Bytes::copy_from_slice(value)) });
            });
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// Bytes this event keeps in memory, to within a constant per part.
    pub fn size(&self) -> usize {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers: usize = self.headers.iter().map(|header| 64 + header.key.len() + length(&header.value)).sum();
        256 + self.topic.len() + length(&self.key) + length(&self.value) + headers
    }
}

pub(super) fn build(
    options: &RouterOptions,
    topic: &TopicRoute,
    fields: Fields,
    commit_time_ms: i64,
) -> Result<OutboxEvent, RouteError> {
    let route_by = fields.route_by.ok_or(RouteError::NoRoute)?;
    let topic = topic.topic(utf8(&route_by.text, "routing column")?);
    if !topic::is_legal(&topic) {
        return Err(RouteError::IllegalTopic { topic: topic.chars().take(300).collect() });
    }
    let id = fields.id.ok_or(RouteError::NoId)?;
    let mut headers = vec![Header { key: "id".to_owned(), value: Some(printed(&id)?) }];
    let mut partition = None;
    let mut envelope = Vec::new();
    for placed in fields.additional {
        match placed.target {
            Target::Header => {
                let value = placed.value.as_ref().map(printed).transpose()?;
                headers.push(Header { key: placed.name, value });
            }
            Target::Partition => partition = placed.value.as_ref().map(partition_number).transpose()?,
            Target::Envelope => envelope.push(placed),
        }
    }
    let payload = fields.payload.as_ref().map(printed).transpose()?;
    let is_empty_tombstone = options.tombstone_on_empty_payload && payload.as_ref().is_some_and(Bytes::is_empty);
    Ok(OutboxEvent {
        topic,
        partition,
        key: fields.key.as_ref().map(printed).transpose()?,
        value: match (is_empty_tombstone, envelope.is_empty()) {
            (true, _) => None,
            (false, true) => payload,
            (false, false) => Some(enveloped(payload, &envelope)?),
        },
        headers,
        // A context that is not text is no context, as one that cannot be read.
        trace: fields
            .span_context
            .and_then(|context| TracingSpanContext::parse(std::str::from_utf8(&context.text).ok()?)),
        timestamp_ms: match &fields.timestamp {
            Some(value) => timestamp_ms(value)?,
            None => commit_time_ms,
        },
    })
}

/// A value as it stands in a key, a value or a header: Postgres' text, but bytea as its bytes, and booleans and
/// timestamps as Debezium's converters print them.
fn printed(value: &Value) -> Result<Bytes, RouteError> {
    let micros = || std::str::from_utf8(&value.text).ok().and_then(timestamp::unix_micros);
    Ok(match value.kind {
        ValueKind::Text | ValueKind::Number => value.text.clone(),
        ValueKind::Boolean => Bytes::from_static(if value.text.as_ref() == b"t" { b"true" } else { b"false" }),
        ValueKind::Bytea => bytea(&value.text).ok_or(RouteError::Bytea)?,
        // A timestamp beyond what the number can say (infinity, BC) stays Postgres' text.
        ValueKind::Timestamp => micros().map_or_else(|| value.text.clone(), |micros| micros.to_string().into()),
        ValueKind::TimestampWithZone => {
            micros().map_or_else(|| value.text.clone(), |micros| timestamp::iso_text(micros).into())
        }
    })
}

fn bytea(text: &[u8]) -> Option<Bytes> {
    let digits = text.strip_prefix(b"\\x")?;
    if digits.len() % 2 == 1 {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    digits.chunks_exact(2).map(|pair| u8::try_from(nibble(pair[0])? << 4 | nibble(pair[1])?).ok()).collect()
}

/// `{"payload":"…","name":…}` as Debezium's struct looks through JsonConverter: the payload stays a string in it.
fn enveloped(payload: Option<Bytes>, placed: &[PlacedValue]) -> Result<Bytes, RouteError> {
    let mut json = String::from(r#"{"payload":"#);
    push_string(&mut json, payload.as_deref())?;
    for PlacedValue { name, value, .. } in placed {
        json.push(',');
        push_string(&mut json, Some(name.as_bytes()))?;
        json.push(':');
        let is_plain = match value {
            Some(Value { kind: ValueKind::Boolean | ValueKind::Timestamp, .. }) => true,
            // NaN and Infinity are numbers to Postgres only.
            Some(Value { kind: ValueKind::Number, text }) => serde_json::from_slice::<f64>(text).is_ok(),
            _ => false,
        };
        let text = value.as_ref().map(printed).transpose()?;
        match &text {
            Some(text) if is_plain => json.push_str(utf8(text, "enveloped column")?),
            text => push_string(&mut json, text.as_deref())?,
        }
    }
    json.push('}');
    Ok(json.into())
}

fn push_string(json: &mut String, text: Option<&[u8]>) -> Result<(), RouteError> {
    let Some(text) = text else {
        json.push_str("null");
        return Ok(());
    };
    let text = utf8(text, "enveloped column")?;
    json.push_str(&serde_json::Value::from(text).to_string());
    Ok(())
}

fn partition_number(value: &Value) -> Result<i32, RouteError> {
    let text = std::str::from_utf8(&value.text).ok();
    text.and_then(|text| text.parse().ok())
        .filter(|number| *number >= 0)
        .ok_or_else(|| RouteError::Partition { value: shown(&value.text) })
}

/// Milliseconds since the Unix epoch of a timestamp column, or of an integer column that holds them.
fn timestamp_ms(value: &Value) -> Result<i64, RouteError> {
    let text = std::str::from_utf8(&value.text).ok();
    let ms = match value.kind {
        ValueKind::Number => text.and_then(|text| text.parse().ok()),
        _ => text.and_then(timestamp::unix_micros).map(|micros| micros.div_euclid(1000)),
    };
    ms.ok_or_else(|| RouteError::Timestamp { value: shown(&value.text) })
}

fn utf8<'b>(bytes: &'b [u8], field: &'static str) -> Result<&'b str, RouteError> {
    std::str::from_utf8(bytes).map_err(|_| RouteError::NotUtf8 { field })
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(100).collect()
}
