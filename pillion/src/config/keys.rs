//! Every key there is: whom it is for, what it takes, and what it is for.
//!
//! ```text
//! broker: its own table ─┐
//! connector              ├─ one table ─ layers, `pillion config`, docs/configuration.md
//! the process itself    ─┘
//! ```
//! The broker's keys come from its own table; the connector's and pillion's own are listed here, and tests hold them
//! against what the connector takes and falls back to. Kafka's and Debezium's names where they exist.

mod connector;
mod environment;
mod process;
mod security;

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use pillion_broker::{BrokerConfig, SettingDescription};
use pillion_cdc::TopicCreation;

pub(super) use environment::environment_names;
pub(crate) use environment::{Variable, environment_name, variable, variable_suggestion};

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

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// With the next start.
    AtStart,
    /// At once: by Kafka's tools or `pillion topic`, and by SIGHUP.
    AtRunTime,
    /// By SIGHUP.
    OnReload,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whom it is for.
    pub(crate) part: Part,
    /// The type of its values, as Kafka names them: text, list, int, long, double, boolean, password.
    pub(crate) kind: &'static str,
    /// What values it takes, for a person.
    pub(crate) expected: &'static str,
    /// What it falls back to; `None` for nothing, or for what is told with [`Key::purpose`].
    pub(crate) default: Option<&'static str>,
    /// When a change takes effect.
    pub(crate) change: Change,
    /// What it is for.
    pub(crate) purpose: &'static str,
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

/// Which log lines are written.
pub(crate) const LOG_LEVEL: &str = "log.level";

/// Where the broker keeps its data unless told otherwise.
pub(super) const DEFAULT_DATA_DIR: &str = "pillion-data";
/// Kafka's port, on this machine only: nobody else gets in until asked.
pub(super) const DEFAULT_LISTENER: &str = "PLAINTEXT://127.0.0.1:9092";
/// Where the connector publishes to, unless a broker of our own or a setting says otherwise.
pub(super) const DEFAULT_BOOTSTRAP: &str = "127.0.0.1:9092";

/// The broker's keys that its own table does not have: they are read before it.
const BROKER_KEYS: [Key; 3] = [
    Key {
        name: LOG_DIRS,
        part: Part::Broker,
        kind: "text",
        expected: "one directory",
        default: Some(DEFAULT_DATA_DIR),
        change: Change::AtStart,
        purpose: "where logs and topics are kept; a data directory of Apache Kafka's is taken over",
    },
    Key {
        name: LISTENERS,
        part: Part::Broker,
        kind: "list",
        expected: "NAME://HOST:PORT[=ADVERTISED], several with commas; port 0 picks a free one",
        default: Some(DEFAULT_LISTENER),
        change: Change::AtStart,
        purpose: "where the broker listens: this machine only, until told otherwise",
    },
    Key {
        name: ADVERTISED_LISTENERS,
        part: Part::Broker,
        kind: "list",
        expected: "NAME://HOST[:PORT], several with commas",
        default: None,
        change: Change::AtStart,
        purpose: "what the clients of each listener are told to connect to; by default what it is bound to",
    },
];

/// How like a known key an unknown one must be (Jaro-Winkler, 0 to 1) for the known one to be suggested.
const SIMILARITY_MIN: f64 = 0.8;

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let broker = BrokerConfig::described().into_iter().map(broker_key);
    let own = BROKER_KEYS.into_iter().chain(broker);
    let others = connector::KEYS.iter().chain(security::KEYS).chain(process::KEYS);
    own.chain(others.copied()).collect()
});

/// Every key, the broker's first.
pub(crate) fn all() -> &'static [Key] {
    &KEYS
}

/// The key as it is spelt in the table, and whom it is for.
pub(crate) fn find(key: &str) -> Option<(&'static str, Part)> {
    let listed = KEYS.iter().find(|known| known.name == key).map(|known| (known.name, known.part));
    listed.or_else(|| TopicCreation::is_key(key).then(|| (kept(key), Part::Connector)))
}

fn broker_key(setting: SettingDescription) -> Key {
    let default = if setting.default.is_empty() { None } else { Some(kept(&setting.default)) };
    let SettingDescription { key: name, kind, expected, documentation: purpose, is_dynamic, .. } = setting;
    let change = if is_dynamic { Change::AtRunTime } else { Change::AtStart };
    Key { name, part: Part::Broker, kind, expected, default, change, purpose }
}

/// A text kept for as long as the process runs, as the table is: a default, or one of the keys without number,
/// `topic.creation.<group>.<setting>`. A configuration is read once and has a handful of them.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(Box::from(text));
    all.insert(kept);
    kept
}

/// Words for an unknown key: the known one most like it, if any is.
pub(crate) fn suggestion(key: &str) -> String {
    nearest(key, KEYS.iter().map(|known| known.name.to_owned()))
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
