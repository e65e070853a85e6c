//! The keys' names in the environment: `PILLION_NUM_PARTITIONS` for `num.partitions`.

use super::{BOOTSTRAP_SERVERS, KEYS, LISTENERS, LOG_DIRS, POSTGRES_URL, TABLE_INCLUDE_LIST, find, nearest};
use crate::config::named;

/// Flags whose names people will look for in the environment, and the keys they stand for.
const ALIASES: [(&str, &str); 5] = [
    ("PILLION_DATA_DIR", LOG_DIRS),
    ("PILLION_LISTEN", LISTENERS),
    ("PILLION_POSTGRES", POSTGRES_URL),
    ("PILLION_BOOTSTRAP", BOOTSTRAP_SERVERS),
    ("PILLION_TABLE", TABLE_INCLUDE_LIST),
];

/// Variables that something else than the configuration reads.
const OTHER_VARIABLES: [&str; 5] =
    ["PILLION_COMMAND_CONFIG", "PILLION_CONFIG", "PILLION_LOG", "PILLION_LOG_FORMAT", "PILLION_POSTGRES_BINARIES"];

/// `PILLION_NUM_PARTITIONS` for `num.partitions`.
pub(crate) fn environment_name(key: &str) -> String {
    format!("PILLION_{}", key.to_uppercase().replace(['.', '-'], "_"))
}

/// Every name in the environment with the key it stands for.
pub(in crate::config) fn environment_names() -> impl Iterator<Item = (String, &'static str)> {
    let aliases = ALIASES.iter().map(|(alias, key)| ((*alias).to_owned(), *key));
    aliases.chain(KEYS.iter().map(|key| (environment_name(key.name), key.name)))
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
    if let Some((_, key)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
        return Variable::Key(key);
    }
    if let Some(key) = KEYS.iter().find(|key| environment_name(key.name) == name) {
        return Variable::Key(key.name);
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

/// Words for an unknown variable: the known one most like it, if any is.
pub(crate) fn variable_suggestion(name: &str) -> String {
    let others = OTHER_VARIABLES.iter().map(|name| (*name).to_owned());
    nearest(name, environment_names().map(|(name, _)| name).chain(others))
}
