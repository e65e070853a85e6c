//! Every key with the value in force, for `pillion config`.

use pillion_cdc::ConnectorConfig;
use pillion_client::SecurityConfig;

use super::connectors::{NO_DATABASE, NamedConnector};
use super::keys::{self, Key};
use super::layers::{Layers, Origin, Said, Setting};
use super::named;
use super::problem::ConfigurationError;
use super::typed::{Configuration, Parts};

/// Shown in place of a secret.
const HIDDEN: &str = "********";

/// What is listed of a connector with a name though it does not say it: nothing else it inherits is its own.
const LISTED: [&str; 4] = [keys::POSTGRES_URL, keys::SLOT_NAME, keys::PUBLICATION_NAME, keys::CLIENT_ID];

/// A key, its value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EffectiveSetting {
    /// The key; of a connector with a name, `connector.<name>.<key>`.
    pub(crate) key: String,
    /// Its value as text; `None` when it has none, or one that only the connector's defaults know.
    pub(crate) value: Option<String>,
    /// Who gave it.
    pub(crate) origin: Origin,
}

/// Checks the layers as `pillion run` would, and lists every key; of each connector with a name, what it says itself
/// and what only it has. A missing database is no problem here.
///
/// # Errors
/// Every problem at once.
pub(crate) fn effective(layers: Layers) -> Result<Vec<EffectiveSetting>, ConfigurationError> {
    let Said { plain, named } = layers.said();
    let mut layers = layers;
    layers.add_default(keys::POSTGRES_URL, NO_DATABASE);
    let configuration = Configuration::read(layers, Parts { broker: true, connector: true })?;
    let broker_values = configuration.broker.as_ref().map(pillion_broker::BrokerConfig::settings).unwrap_or_default();
    let mut effective = Vec::with_capacity(keys::all().len());
    for &Key { name: key, default, .. } in keys::all() {
        let setting = plain.get(key);
        let from_broker = broker_values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        let shown = from_broker.or_else(|| shown(key, setting?, configuration.connector.as_ref()));
        let value = shown.or_else(|| default.map(str::to_owned));
        effective.push(EffectiveSetting { key: key.to_owned(), value, origin: origin_of(setting) });
    }
    let listed = |key: &&str| keys::all().iter().any(|known| known.name == *key);
    for (key, setting) in plain.iter().filter(|(key, _)| !listed(key)) {
        let (key, value, origin) = ((*key).to_owned(), Some(setting.value.clone()), setting.origin.clone());
        effective.push(EffectiveSetting { key, value, origin });
    }
    for NamedConnector { name, config, .. } in &configuration.named_connectors {
        let own = named.get(name).cloned().unwrap_or_default();
        let all = named::inherited(&plain, name, &own);
        let unlisted = own.keys().copied().filter(|key| !listed(key));
        let all_keys = keys::all().iter().map(|key| key.name).chain(unlisted);
        for key in all_keys.filter(|key| own.contains_key(key) || LISTED.contains(key)) {
            let setting = all.get(key);
            let value = setting.and_then(|setting| shown(key, setting, Some(config)));
            effective.push(EffectiveSetting {
                key: format!("connector.{name}.{key}"),
                value,
                origin: origin_of(setting),
            });
        }
    }
    Ok(effective)
}

fn origin_of(setting: Option<&Setting>) -> Origin {
    setting.map_or(Origin::Default, |setting| setting.origin.clone())
}

/// What was said, without secrets.
fn shown(key: &str, setting: &Setting, connector: Option<&ConnectorConfig>) -> Option<String> {
    match key {
        keys::POSTGRES_URL => connector.map(|connector| connector.postgres.to_string()),
        "database.password" => Some(HIDDEN.to_owned()),
        key if SecurityConfig::is_secret(key) => Some(HIDDEN.to_owned()),
        _ => Some(setting.value.clone()),
    }
}

#[cfg(test)]
mod tests;
