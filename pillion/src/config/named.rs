//! Further connectors: `connector.<name>.<key>` says `<key>` for the connector called `<name>` only.
//!
//! In a TOML file that is a table `[connector.orders]`, in the environment `PILLION_CONNECTOR_ORDERS_SLOT_NAME`, on
//! the command line `--set connector.orders.slot.name=…`. Whatever a connector does not say itself it inherits from
//! the plain keys, whichever layer those come from. Invariant: slot, publication and client id are never inherited,
//! for two connectors cannot share them.

use std::collections::BTreeMap;

use super::keys::{self, Part};
use super::layers::{Origin, Setting, Settings};

/// Bounds the names made of it: a slot's has at most 63 bytes.
const NAME_LENGTH_MAX: usize = 40;

/// What the names of variables begin with.
const VARIABLE_PREFIX: &str = "PILLION_CONNECTOR_";

/// What each connector of a configuration says itself, by its name.
pub(super) type Named = BTreeMap<String, Settings>;

/// `orders` and `slot.name` of `connector.orders.slot.name`; `None` for a key that is no connector's own.
pub(super) fn split(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("connector.")?.split_once('.')
}

/// Looks the key of a connector's own up.
///
/// # Errors
/// What is wrong with the name or the key, in words that follow "connector.<name>.<key>: ".
pub(super) fn find(name: &str, key: &str) -> Result<&'static str, String> {
    if !is_name(name) {
        return Err(format!("`{name}` cannot name a connector; expected 1 to {NAME_LENGTH_MAX} of a-z 0-9 _"));
    }
    match keys::find(key) {
        Some((key, Part::Connector)) => Ok(key),
        Some((_, Part::Broker)) => {
            Err(format!("this is for the broker, of which there is one; write {key} outside of the connector"))
        }
        Some((_, Part::Process)) => Err(format!("this is for the whole process; write {key} outside of the connector")),
        None => Err(format!("unknown key; {}", keys::suggestion(key))),
    }
}

/// Whether `name` may name a connector.
pub(super) fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=NAME_LENGTH_MAX).contains(&name.len()) && name.bytes().all(legal)
}

/// The connector's name and the key that a variable of the environment stands for. Where two keys fit, the longer one
/// counts: `PILLION_CONNECTOR_ORDERS_TABLE_INCLUDE_LIST` is not about a connector `orders_table`.
pub(super) fn variable(name: &str) -> Option<(String, &'static str)> {
    let rest = name.strip_prefix(VARIABLE_PREFIX)?;
    let fitting = keys::environment_names().filter_map(|(variable, key)| {
        let suffix = variable.strip_prefix("PILLION")?;
        let connector = rest.strip_suffix(suffix)?.to_lowercase();
        let is_ours = keys::find(key).is_some_and(|(_, part)| part == Part::Connector);
        (is_ours && is_name(&connector)).then_some((connector, key))
    });
    fitting.min_by_key(|(connector, _)| connector.len())
}

/// Everything that holds for the connector called `name`: the plain keys, and over them what it says itself.
pub(super) fn inherited(plain: &Settings, name: &str, own: &Settings) -> Settings {
    let mut settings = plain.clone();
    let default = |value: String| Setting { value, origin: Origin::Default };
    settings.extend([
        (keys::SLOT_NAME, default(format!("pillion_{name}"))),
        (keys::PUBLICATION_NAME, default(format!("pillion_outbox_{name}"))),
        (keys::CLIENT_ID, default(format!("pillion-cdc-{name}"))),
    ]);
    // An address given in one way replaces one given in the other.
    let parts = keys::DATABASE_KEYS.map(|(key, _)| key);
    if own.contains_key(keys::POSTGRES_URL) {
        settings.retain(|key, _| !parts.contains(key));
    } else if parts.iter().any(|key| own.contains_key(key)) {
        settings.remove(keys::POSTGRES_URL);
    }
    settings.extend(own.clone());
    settings
}

#[cfg(test)]
mod tests;
