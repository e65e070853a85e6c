//! What a row has that no record can be made of: the reason a poison row is reported with.

use thiserror::Error;

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
    /// A payload to expand that begins like JSON and is none.
    #[error("the payload begins like JSON, which table.expand.json.payload is to expand, and is none: {reason}")]
    Json {
        /// The parser's reason.
        reason: String,
    },
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
