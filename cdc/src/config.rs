//! The connector's configuration, typed; option names are Debezium's and Kafka's where they have one.

use std::num::ParseIntError;

use pillion_client::{SecurityConfig, SecurityError};
use thiserror::Error;

use crate::lsn::Lsn;
use crate::outbox::Source;
use crate::postgres_url::PostgresUrl;
use crate::quoting::{IDENTIFIER_LENGTH_MAX, TableName, TableNameError, is_slot_name};
use crate::router::{OptionError, Router, RouterOptions, TopicRouteError, is_topic_name};
use crate::status::Status;
use crate::topic_creation::{TopicCreation, TopicCreationError};

mod source;
#[cfg(test)]
mod tests;

pub use source::{SnapshotMode, SourceMode, SourceOptions};

/// Least bytes in flight that let one usual record through at a time.
const BYTES_IN_FLIGHT_MIN: usize = 64 * 1024;

/// What is promised about a row that was sent when something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// Readers of committed records see it once: records are sent in transactions, with the position they reach.
    #[default]
    ExactlyOnce,
    /// It arrives, perhaps twice.
    AtLeastOnce,
}

/// What happens to a row no record can be made of, or that the broker refuses for good (`on.error`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The connector stops with reason, position and id. Rows before it are published, none after.
    #[default]
    Stop,
    /// It is left out, with one warning for each.
    Skip,
    /// It goes to a topic of its own, with the reason and where it stood.
    DeadLetter,
}

/// What happens when a topic has another number of partitions than when the connector began to publish to it, which
/// moves keys to other partitions (`on.partitions.changed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPartitionsChanged {
    /// The connector stops before the first record that would go by the new number: who reads must be through with the
    /// old partitions first, or it sees a key's events out of order.
    #[default]
    Stop,
    /// Keys go where the new number puts them.
    Allow,
}

/// Everything a connector needs to know. Fields say the option's name, its unit and its default.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// The database.
    pub postgres: PostgresUrl,
    /// `slot.name`: the replication slot. Default `pillion`.
    pub slot: String,
    /// `publication.name`. Default `pillion_outbox`.
    pub publication: String,
    /// How rows are got out of the database.
    pub source_options: SourceOptions,
    /// `table.include.list`: the outbox tables. Rows of others in the publication are ignored, with a warning.
    /// Default `public.outbox`.
    pub tables: Vec<TableName>,
    /// `message.prefix`: the prefix under which `pg_logical_emit_message` stands for a row. Default `outbox`.
    pub message_prefix: String,
    /// `bootstrap.servers`: `host:port` of one broker or more.
    pub bootstrap_servers: Vec<String>,
    /// TLS and SASL towards them: `security.protocol` and the other keys of [`SecurityConfig::KEYS`]. Default none.
    pub security: SecurityConfig,
    /// `client.id`, by which the broker's logs and spans know the connector. Default `pillion-cdc`.
    pub client_id: String,
    /// The router's options.
    pub router: RouterOptions,
    /// `topic.creation.*`: how topics are made that are missing. Default: as the broker makes them.
    pub topic_creation: TopicCreation,
    /// `on.partitions.changed`: `stop` (default) or `allow`.
    pub on_partitions_changed: OnPartitionsChanged,
    /// `delivery`: `exactly-once` (default) or `at-least-once`.
    pub delivery: Delivery,
    /// `on.error`: `stop` (default), `skip` or `dead-letter`.
    pub on_error: OnError,
    /// `dead.letter.topic`: where `on.error=dead-letter` sends rows to. Default `outbox.dead-letter`.
    pub dead_letter_topic: String,
    /// `adopt.slot`: take the slot's position for the truth where no progress record says what was published before
    /// it, or where the slot was made anew. Default no.
    pub adopt_slot: bool,
    /// `slot.start.lsn`: rows whose own position in the log is this one or before it count as published, where no
    /// progress record says what is; the rest as with `adopt.slot`. It is the `lsn` of Debezium's last offset, as a
    /// number or as `0/DA6B708`. Exactly once only. Default none.
    pub slot_start_lsn: Option<Lsn>,
    /// `accept.timeline`: go on although the server is on another timeline, behind what was published from it, or
    /// another one. Default no.
    pub accept_timeline: bool,
    /// Makes tables, publication and slot if they are missing, before each session. Default no: in production they
    /// are made on purpose.
    pub auto_init: bool,
    /// `max.bytes.in.flight`: records sent and not yet acknowledged, in bytes. Default 8 MiB: a few round trips'
    /// worth at full speed, within a sidecar's memory.
    pub bytes_in_flight_max: usize,
    /// `max.row.bytes`: largest row taken from Postgres, in bytes. Default 16 MiB; brokers refuse much smaller ones
    /// unless told otherwise.
    pub row_bytes_max: usize,
    /// Where the connector shows how it is doing; keep a clone.
    pub status: Status,
}

/// Something about the configuration that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not an option of the connector.
    #[error("`{0}` is not an option of the outbox connector")]
    Unknown(String),
    /// One of the router's.
    #[error(transparent)]
    Router(OptionError),
    /// The topic rule.
    #[error(transparent)]
    TopicRoute(#[from] TopicRouteError),
    /// TLS or SASL.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// How topics are made.
    #[error(transparent)]
    TopicCreation(#[from] TopicCreationError),
    /// A table's name.
    #[error("table.include.list: {0}")]
    Table(#[from] TableNameError),
    /// A number.
    #[error("{name} = `{value}`: {reason}")]
    Value {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        reason: String,
    },
}

impl ConnectorConfig {
    /// Defaults, for this database and these brokers.
    pub fn new(postgres: PostgresUrl, bootstrap_servers: Vec<String>) -> ConnectorConfig {
        ConnectorConfig {
            postgres,
            slot: "pillion".to_owned(),
            publication: "pillion_outbox".to_owned(),
            source_options: SourceOptions::default(),
            tables: vec![TableName { schema: "public".to_owned(), name: "outbox".to_owned() }],
            message_prefix: "outbox".to_owned(),
            bootstrap_servers,
            security: SecurityConfig::default(),
            client_id: "pillion-cdc".to_owned(),
            router: RouterOptions::default(),
            topic_creation: TopicCreation::default(),
            on_partitions_changed: OnPartitionsChanged::Stop,
            delivery: Delivery::ExactlyOnce,
            on_error: OnError::Stop,
            dead_letter_topic: "outbox.dead-letter".to_owned(),
            adopt_slot: false,
            slot_start_lsn: None,
            accept_timeline: false,
            auto_init: false,
            bytes_in_flight_max: 8 * 1024 * 1024,
            row_bytes_max: 16 * 1024 * 1024,
            status: Status::default(),
        }
    }

    /// Sets one option by its dotted name; the router's are those of [`RouterOptions::set`].
    ///
    /// # Errors
    /// [`ConfigError`] when the name is unknown or the value impossible.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        match name {
            "slot.name" => self.slot = value.to_owned(),
            "publication.name" => self.publication = value.to_owned(),
            "table.include.list" => {
                self.tables = value.split(',').map(str::parse).collect::<Result<_, TableNameError>>()?;
            }
            "message.prefix" => self.message_prefix = value.to_owned(),
            "bootstrap.servers" => self.bootstrap_servers = value.split(',').map(|one| one.trim().to_owned()).collect(),
            "client.id" => self.client_id = value.to_owned(),
            "on.partitions.changed" => self.on_partitions_changed = on_partitions_changed(value)?,
            "delivery" => self.delivery = delivery(value)?,
            "on.error" => self.on_error = on_error(value)?,
            "dead.letter.topic" => self.dead_letter_topic = value.to_owned(),
            "adopt.slot" => self.adopt_slot = switch("adopt.slot", value)?,
            "slot.start.lsn" => self.slot_start_lsn = Some(position("slot.start.lsn", value)?),
            "accept.timeline" => self.accept_timeline = switch("accept.timeline", value)?,
            "max.bytes.in.flight" => self.bytes_in_flight_max = number("max.bytes.in.flight", value)?,
            "max.row.bytes" => self.row_bytes_max = number("max.row.bytes", value)?,
            _ if TopicCreation::is_key(name) => self.topic_creation.set(name, value)?,
            _ if SecurityConfig::KEYS.contains(&name) => self.security.set(name, value)?,
            _ => {
                if let Some(outcome) = self.source_options.set(name, value) {
                    return outcome;
                }
                return self.router.set(name, value).map_err(|error| match error {
                    OptionError::Unknown(name) => ConfigError::Unknown(name),
                    other => ConfigError::Router(other),
                });
            }
        }
        Ok(())
    }

    /// What [`crate::outbox`] and [`crate::checks`] need to know.
    pub fn source(&self) -> Source {
        Source { tables: self.tables.clone(), publication: self.publication.clone(), slot: self.slot.clone() }
    }

    /// Checks everything that can be checked without a connection.
    ///
    /// # Errors
    /// Every problem there is, not only the first.
    pub fn validate(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = Vec::new();
        let mut require = |holds: bool, name, value: &dyn ToString, reason: &str| {
            if !holds {
                errors.push(ConfigError::Value { name, value: value.to_string(), reason: reason.to_owned() });
            }
        };
        require(is_slot_name(&self.slot), "slot.name", &self.slot, "expected 1 to 63 of a-z 0-9 _");
        let publication = &self.publication;
        let is_name = (1..=IDENTIFIER_LENGTH_MAX).contains(&publication.len()) && !publication.contains('\0');
        require(is_name, "publication.name", publication, "expected 1 to 63 bytes");
        require(!self.tables.is_empty(), "table.include.list", &"", "name one outbox table or more");
        let servers = &self.bootstrap_servers;
        let are_named = !servers.is_empty() && servers.iter().all(|server| !server.is_empty());
        require(are_named, "bootstrap.servers", &servers.join(","), "expected host:port, or several with commas");
        require(
            is_topic_name(&self.dead_letter_topic),
            "dead.letter.topic",
            &self.dead_letter_topic,
            "expected 1 to 249 of a-z A-Z 0-9 . _ -",
        );
        if let Some(start) = self.slot_start_lsn {
            // Without a progress record nothing would say that it was needed once only.
            let is_exact = self.delivery == Delivery::ExactlyOnce;
            require(is_exact, "slot.start.lsn", &start, "needs delivery=exactly-once");
        }
        let in_flight = self.bytes_in_flight_max;
        require(in_flight >= BYTES_IN_FLIGHT_MIN, "max.bytes.in.flight", &in_flight, "expected 65536 or more");
        let row = self.row_bytes_max;
        require((1024..=1 << 30).contains(&row), "max.row.bytes", &row, "expected 1024 to 1073741824");
        errors.extend(self.topic_creation.validate().err().into_iter().flatten().map(ConfigError::from));
        errors.extend(self.security.validate().err().into_iter().flatten().map(ConfigError::from));
        errors.extend(self.source_options.problems(self.delivery));
        if let Err(error) = Router::new(self.router.clone()) {
            errors.push(error.into());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

fn number<N: std::str::FromStr<Err = ParseIntError>>(name: &'static str, value: &str) -> Result<N, ConfigError> {
    value.trim().parse().map_err(|error: ParseIntError| ConfigError::Value {
        name,
        value: value.to_owned(),
        reason: error.to_string(),
    })
}

fn switch(name: &'static str, value: &str) -> Result<bool, ConfigError> {
    value.trim().parse().map_err(|_| ConfigError::Value {
        name,
        value: value.to_owned(),
        reason: "expected true or false".to_owned(),
    })
}

/// As Postgres prints it, or as the number of bytes that Debezium writes.
fn position(name: &'static str, value: &str) -> Result<Lsn, ConfigError> {
    let value = value.trim();
    let parsed = value.parse().map(Lsn::new).ok().or_else(|| value.parse().ok());
    parsed.ok_or_else(|| ConfigError::Value {
        name,
        value: value.to_owned(),
        reason: "expected a position in the log, like 0/DA6B708 or 229029640".to_owned(),
    })
}

fn delivery(value: &str) -> Result<Delivery, ConfigError> {
    match value {
        "at-least-once" => Ok(Delivery::AtLeastOnce),
        "exactly-once" => Ok(Delivery::ExactlyOnce),
        _ => Err(ConfigError::Value {
            name: "delivery",
            value: value.to_owned(),
            reason: "expected exactly-once or at-least-once".to_owned(),
        }),
    }
}

fn on_partitions_changed(value: &str) -> Result<OnPartitionsChanged, ConfigError> {
    match value {
        "stop" => Ok(OnPartitionsChanged::Stop),
        "allow" => Ok(OnPartitionsChanged::Allow),
        _ => Err(ConfigError::Value {
            name: "on.partitions.changed",
            value: value.to_owned(),
            reason: "expected stop or allow".to_owned(),
        }),
    }
}

fn on_error(value: &str) -> Result<OnError, ConfigError> {
    match value {
        "stop" => Ok(OnError::Stop),
        "skip" => Ok(OnError::Skip),
        "dead-letter" => Ok(OnError::DeadLetter),
        _ => Err(ConfigError::Value {
            name: "on.error",
            value: value.to_owned(),
            reason: "expected stop, skip or dead-letter".to_owned(),
        }),
    }
}
