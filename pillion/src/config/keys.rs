//! Every key there is, whom it is for, and its name in the environment.
//!
//! The broker's keys come from its own table; the connector's and pillion's own are listed here, and a test holds them
//! against what the connector takes. Kafka's and Debezium's names where they exist.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use pillion_broker::BrokerConfig;
use pillion_cdc::TopicCreation;
use pillion_client::SecurityConfig;
use pillion_console::ConsoleConfig;

use super::named;

/// Whom a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The broker.
    Broker,
    /// The outbox connector.
    Connector,
    /// The process, whatever runs in it.
    Process,
}

/// Where the broker keeps its data (Kafka's name).
pub(crate) const LOG_DIRS: &str = "log.dirs";
/// Where the broker listens: `NAME://HOST:PORT[=ADVERTISED]`, several with commas (Kafka's name).
pub(crate) const LISTENERS: &str = "listeners";
/// What clients of each listener are told to connect to: `NAME://HOST[:PORT]`, several with commas (Kafka's name).
pub(crate) const ADVERTISED_LISTENERS: &str = "advertised.listeners";
/// The database of the outbox, as `postgresql://user:password@host:port/database`.
pub(crate) const POSTGRES_URL: &str = "postgres.url";
/// Whether the connector makes table, publication and slot when they are missing.
pub(crate) const AUTO_INIT: &str = "auto.init";
/// The brokers that the connector publishes to (Kafka's name).
pub(crate) const BOOTSTRAP_SERVERS: &str = "bootstrap.servers";
/// The connector's replication slot (Debezium's name).
pub(crate) const SLOT_NAME: &str = "slot.name";
/// The connector's publication (Debezium's name).
pub(crate) const PUBLICATION_NAME: &str = "publication.name";
/// The outbox tables, several with commas (Debezium's name).
pub(crate) const TABLE_INCLUDE_LIST: &str = "table.include.list";

/// How the broker's logs and spans know the connector (Kafka's name).
pub(crate) const CLIENT_ID: &str = "client.id";
/// The database's name, where [`DATABASE_KEYS`] name it.
pub(crate) const DATABASE_NAME: &str = "database.dbname";

/// Debezium's keys that together stand for [`POSTGRES_URL`], with libpq's names for them.
pub(crate) const DATABASE_KEYS: [(&str, &str); 5] = [
    ("database.hostname", "host"),
    ("database.port", "port"),
    ("database.user", "user"),
    ("database.password", "password"),
    (DATABASE_NAME, "dbname"),
];

const OWN_BROKER_KEYS: [&str; 3] = [LOG_DIRS, LISTENERS, ADVERTISED_LISTENERS];

const CONNECTOR_KEYS: [&str; 41] = [
    POSTGRES_URL,
    "database.hostname",
    "database.port",
    "database.user",
    "database.password",
    DATABASE_NAME,
    AUTO_INIT,
    BOOTSTRAP_SERVERS,
    SLOT_NAME,
    PUBLICATION_NAME,
    TABLE_INCLUDE_LIST,
    "message.prefix",
    CLIENT_ID,
    "topic.creation.groups",
    "topic.creation.default.partitions",
    "topic.creation.default.replication.factor",
    "on.partitions.changed",
    "delivery",
    "on.error",
    "dead.letter.topic",
    "adopt.slot",
    "slot.start.lsn",
    "accept.timeline",
    "source.mode",
    "snapshot",
    "poll.interval.ms",
    "polling.column",
    "polling.transaction.column",
    "max.bytes.in.flight",
    "max.row.bytes",
    "table.field.event.id",
    "table.field.event.key",
    "table.field.event.type",
    "table.field.event.payload",
    "table.field.event.timestamp",
    "table.field.event.schema.version",
    "table.fields.additional.placement",
    "table.fields.additional.error.on.missing",
    "route.by.field",
    "route.topic.regex",
    "route.topic.replacement",
];

/// The router's remaining options, by their Debezium names.
const ROUTER_KEYS: [&str; 7] = [
    "table.field.additional.missing",
    "route.tombstone.on.empty.payload",
    "table.op.invalid.behavior",
    "tracing.span.context.field",
    "tracing.with.context.field.only",
    "table.expand.json.payload",
    "table.json.payload.null.behavior",
];

/// Flags whose names people will look for in the environment, and the keys they stand for.
const ENVIRONMENT_ALIASES: [(&str, &str); 5] = [
    ("PILLION_DATA_DIR", LOG_DIRS),
    ("PILLION_LISTEN", LISTENERS),
    ("PILLION_POSTGRES", POSTGRES_URL),
    ("PILLION_BOOTSTRAP", BOOTSTRAP_SERVERS),
    ("PILLION_TABLE", TABLE_INCLUDE_LIST),
];

/// Variables that something else than the configuration reads.
const OTHER_VARIABLES: [&str; 5] =
    ["PILLION_COMMAND_CONFIG", "PILLION_CONFIG", "PILLION_LOG", "PILLION_LOG_FORMAT", "PILLION_POSTGRES_BINARIES"];

/// How like a known key an unknown one must be (Jaro-Winkler, 0 to 1) for the known one to be suggested.
const SIMILARITY_MIN: f64 = 0.8;

static KEYS: LazyLock<Vec<(&'static str, Part)>> = LazyLock::new(|| {
    let broker_table = BrokerConfig::new("", "").settings().into_iter().map(|(key, _)| key);
    let broker = OWN_BROKER_KEYS.into_iter().chain(broker_table).map(|key| (key, Part::Broker));
    let connector = CONNECTOR_KEYS.into_iter().chain(ROUTER_KEYS).chain(SecurityConfig::KEYS);
    let process = ConsoleConfig::KEYS.map(|key| (key, Part::Process));
    broker.chain(connector.map(|key| (key, Part::Connector))).chain(process).collect()
});

/// Every key, the broker's first.
pub(crate) fn all() -> &'static [(&'static str, Part)] {
    &KEYS
}

/// The key as it is spelt in the table, and whom it is for.
pub(crate) fn find(key: &str) -> Option<(&'static str, Part)> {
    let listed = KEYS.iter().copied().find(|(known, _)| *known == key);
    listed.or_else(|| TopicCreation::is_key(key).then(|| (kept(key), Part::Connector)))
}

/// A key of those without number, `topic.creation.<group>.<setting>`: kept for as long as the process runs, as the
/// others are. A configuration is read once and has a handful of them.
fn kept(key: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(key) {
        return known;
    }
    let kept: &'static str = Box::leak(Box::from(key));
    all.insert(kept);
    kept
}

/// `PILLION_NUM_PARTITIONS` for `num.partitions`.
pub(crate) fn environment_name(key: &str) -> String {
    format!("PILLION_{}", key.to_uppercase().replace(['.', '-'], "_"))
}

/// Every name in the environment with the key it stands for.
pub(super) fn environment_names() -> impl Iterator<Item = (String, &'static str)> {
    let aliases = ENVIRONMENT_ALIASES.iter().map(|(alias, key)| ((*alias).to_owned(), *key));
    aliases.chain(KEYS.iter().map(|(key, _)| (environment_name(key), *key)))
}

/// What a variable of the environment that begins with `PILLION_` stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// This key.
    Key(&'static str),
    /// This key of the connector with this name.
    Named(String, &'static str),
    /// Nothing of the configuration's: read elsewhere, or put there by an orchestrator.
    Ignored,
    /// Nothing known.
    Unknown,
}

/// Looks a variable up by its name.
pub(crate) fn variable(name: &str) -> Variable {
    if let Some((_, key)) = ENVIRONMENT_ALIASES.iter().find(|(alias, _)| *alias == name) {
        return Variable::Key(key);
    }
    if let Some((key, _)) = KEYS.iter().find(|(key, _)| environment_name(key) == name) {
        return Variable::Key(key);
    }
    // Group names of capital letters or with hyphens cannot be told here.
    let spelt = name.strip_prefix("PILLION_").unwrap_or_default().to_lowercase().replace('_', ".");
    if let Some((key, _)) = find(&spelt) {
        return Variable::Key(key);
    }
    match named::variable(name) {
        Some((connector, key)) => Variable::Named(connector, key),
        None if OTHER_VARIABLES.contains(&name) || is_service_link(name) => Variable::Ignored,
        None => Variable::Unknown,
    }
}

/// Kubernetes and old Docker links put `PILLION_SERVICE_HOST`, `PILLION_PORT_9092_TCP_ADDR` and the like into every pod
/// near a service called `pillion`. They are not meant for us.
fn is_service_link(name: &str) -> bool {
    let rest = name.strip_prefix("PILLION_").unwrap_or_default();
    let after_port = rest.strip_prefix("PORT").and_then(|rest| rest.strip_prefix('_'));
    rest == "PORT"
        || rest == "SERVICE_HOST"
        || rest == "SERVICE_PORT"
        || rest.starts_with("SERVICE_PORT_")
        || after_port.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Words for an unknown key: the known one most like it, if any is.
pub(crate) fn suggestion(key: &str) -> String {
    nearest(key, KEYS.iter().map(|(known, _)| (*known).to_owned()))
}

/// Words for an unknown variable, likewise.
pub(crate) fn variable_suggestion(name: &str) -> String {
    let aliases = ENVIRONMENT_ALIASES.iter().map(|(alias, _)| (*alias).to_owned());
    let others = OTHER_VARIABLES.iter().map(|name| (*name).to_owned());
    nearest(name, KEYS.iter().map(|(key, _)| environment_name(key)).chain(aliases).chain(others))
}

fn nearest(wanted: &str, known: impl Iterator<Item = String>) -> String {
    let scored = known.map(|known| (strsim::jaro_winkler(wanted, &known), known));
    match scored.max_by(|(left, _), (right, _)| left.total_cmp(right)) {
        Some((score, known)) if score >= SIMILARITY_MIN => format!("did you mean {known}?"),
        _ => "`pillion config` lists every key".to_owned(),
    }
}

#[cfg(test)]
mod tests;
