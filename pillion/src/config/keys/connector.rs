//! The outbox connector's keys, but for TLS and SASL.

use super::{
    AUTO_INIT, BOOTSTRAP_SERVERS, CLIENT_ID, Change, DATABASE_NAME, DEFAULT_BOOTSTRAP, Key, POSTGRES_URL,
    PUBLICATION_NAME, Part, SLOT_NAME, TABLE_INCLUDE_LIST,
};

/// One row without a default; all of them take effect with the next start.
const fn key(name: &'static str, kind: &'static str, expected: &'static str, purpose: &'static str) -> Key {
    Key { name, part: Part::Connector, kind, expected, default: None, change: Change::AtStart, purpose }
}

/// One row with a default.
const fn with(key: Key, default: &'static str) -> Key {
    Key { default: Some(default), ..key }
}

const SWITCH: &str = "true or false";
const COLUMN: &str = "a column's name";
const TOPIC: &str = "a topic's name";
const COUNT: &str = "1 or more, or -1 for the broker's default";

/// The rows: where from, where to, what is promised, then the router's under Debezium's names.
pub(super) const KEYS: &[Key] = &[
    key(POSTGRES_URL, "password", "postgresql://user:password@host:port/database", "the database of the outbox"),
    key("database.hostname", "text", "a host", "Debezium's way to name the database, in place of postgres.url"),
    key("database.port", "int", "a port", "likewise"),
    key("database.user", "text", "a role", "likewise"),
    key("database.password", "password", "a password", "likewise"),
    key(DATABASE_NAME, "text", "a database", "likewise"),
    with(
        key(AUTO_INIT, "boolean", SWITCH, "make table, publication and slot when they are missing; off: on purpose"),
        "false",
    ),
    with(
        key(
            BOOTSTRAP_SERVERS,
            "list",
            "host:port, several with commas",
            "the cluster to publish to; in `pillion run` its own broker",
        ),
        DEFAULT_BOOTSTRAP,
    ),
    with(key(SLOT_NAME, "text", "1 to 63 of a-z 0-9 _", "the replication slot"), "pillion"),
    with(
        key(PUBLICATION_NAME, "text", "1 to 63 bytes", "the publication that has the outbox tables"),
        "pillion_outbox",
    ),
    with(key(TABLE_INCLUDE_LIST, "list", "[schema.]table, several with commas", "the outbox tables"), "public.outbox"),
    with(
        key("message.prefix", "text", "text", "the prefix under which pg_logical_emit_message stands for a row"),
        "outbox",
    ),
    with(key(CLIENT_ID, "text", "text", "how the cluster's logs know the connector"), "pillion-cdc"),
    key(
        "topic.creation.groups",
        "list",
        "names",
        "groups of topics with rules of their own, as in Kafka Connect (KIP-158)",
    ),
    with(key("topic.creation.default.partitions", "int", COUNT, "partitions of topics that the connector makes"), "-1"),
    with(
        key("topic.creation.default.replication.factor", "int", COUNT, "replicas of topics that the connector makes"),
        "-1",
    ),
    with(
        key(
            "on.partitions.changed",
            "text",
            "stop or allow",
            "what happens when a topic gets more partitions, which moves keys past what readers have not seen yet",
        ),
        "stop",
    ),
    with(
        key("delivery", "text", "exactly-once or at-least-once", "transactions with a progress record, or without"),
        "exactly-once",
    ),
    with(
        key("on.error", "text", "stop, skip or dead-letter", "what becomes of a row that cannot be published"),
        "stop",
    ),
    with(key("dead.letter.topic", "text", TOPIC, "where on.error=dead-letter sends rows to"), "outbox.dead-letter"),
    with(
        key(
            "adopt.slot",
            "boolean",
            SWITCH,
            "take the slot's position for the truth where no progress says more; for one start",
        ),
        "false",
    ),
    key(
        "slot.start.lsn",
        "text",
        "0/DA6B708 or 229029640",
        "begin behind this row, the lsn of Debezium's last offset; for one start",
    ),
    with(
        key("accept.timeline", "boolean", SWITCH, "go on although the server is another one or behind; for one start"),
        "false",
    ),
    with(
        key(
            "source.mode",
            "text",
            "replication or polling",
            "from the write-ahead log, or by SELECT where there is none",
        ),
        "replication",
    ),
    with(
        key(
            "snapshot",
            "text",
            "never or initial",
            "whether rows that are there at the very first start are published",
        ),
        "never",
    ),
    with(key("poll.interval.ms", "long", "1 to 3600000", "time between two looks with source.mode=polling"), "500"),
    key("polling.column", "text", COLUMN, "orders rows found together by a look; default: the event's time or id"),
    key("polling.transaction.column", "text", COLUMN, "an indexed column xid8 with which a look reads new rows only"),
    with(
        key("max.bytes.in.flight", "long", "65536 or more", "bytes sent and not yet acknowledged: bounds memory"),
        "8388608",
    ),
    with(key("max.row.bytes", "long", "1024 to 1073741824", "the largest row taken from Postgres"), "16777216"),
    with(key("table.field.event.id", "text", COLUMN, "the event's id, sent as header id"), "id"),
    with(key("table.field.event.key", "text", COLUMN, "the record's key"), "aggregateid"),
    with(key("table.field.event.type", "text", COLUMN, "the kind of event, sent as header type"), "type"),
    with(key("table.field.event.payload", "text", COLUMN, "the record's value"), "payload"),
    key("table.field.event.timestamp", "text", COLUMN, "the record's timestamp; default: the time of commit"),
    key("table.field.event.schema.version", "text", COLUMN, "must exist; changes nothing of a value without schema"),
    key(
        "table.fields.additional.placement",
        "list",
        "column:header|envelope|partition[:alias]",
        "columns to send beside the payload; default: the event's type as header type",
    ),
    with(
        key(
            "table.fields.additional.error.on.missing",
            "boolean",
            SWITCH,
            "the older name of table.field.additional.missing",
        ),
        "true",
    ),
    with(key("route.by.field", "text", COLUMN, "the column that the topic is named by"), "aggregatetype"),
    with(
        key(
            "route.topic.regex",
            "text",
            "a regular expression",
            "must match the whole of that column, or it is the topic",
        ),
        "(?<routedByValue>.*)",
    ),
    with(
        key("route.topic.replacement", "text", "text with $1 or ${name}", "the topic's name"),
        "outbox.event.${routedByValue}",
    ),
    with(
        key(
            "table.field.additional.missing",
            "text",
            "error or ignore",
            "what happens when a placed column is missing",
        ),
        "error",
    ),
    with(
        key("route.tombstone.on.empty.payload", "boolean", SWITCH, "whether an empty payload becomes a null value"),
        "false",
    ),
    with(
        key("table.op.invalid.behavior", "text", "warn, error or fatal", "what an UPDATE of an outbox row does"),
        "warn",
    ),
    with(
        key("tracing.span.context.field", "text", COLUMN, "the column with the trace context; it may be missing"),
        "tracingspancontext",
    ),
    with(key("tracing.with.context.field.only", "boolean", "true", "a row without a context starts no trace"), "true"),
    with(
        key(
            "table.expand.json.payload",
            "boolean",
            SWITCH,
            "send JSON as Debezium's JsonConverter writes it, not its text",
        ),
        "false",
    ),
    with(
        key("table.json.payload.null.behavior", "text", "ignore or optional_bytes", "what becomes of a null in it"),
        "ignore",
    ),
];
