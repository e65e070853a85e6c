//! Every key with the value in force, for `pillion config`.

use pillion_cdc::ConnectorConfig;
use pillion_client::SecurityConfig;
use pillion_console::ConsoleConfig;

use super::connectors::{DEFAULT_BOOTSTRAP, NO_DATABASE, NamedConnector};
use super::keys::{self, Part};
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
    for &(key, part) in keys::all() {
        let setting = plain.get(key);
        let from_broker = broker_values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        let shown = from_broker.or_else(|| shown(key, setting?, configuration.connector.as_ref()));
        let value = shown.or_else(|| default_of(key, part, &configuration));
        effective.push(EffectiveSetting { key: key.to_owned(), value, origin: origin_of(setting) });
    }
    let listed = |key: &&str| keys::all().iter().any(|(known, _)| known == key);
    for (key, setting) in plain.iter().filter(|(key, _)| !listed(key)) {
        let (key, value, origin) = ((*key).to_owned(), Some(setting.value.clone()), setting.origin.clone());
        effective.push(EffectiveSetting { key, value, origin });
    }
    for NamedConnector { name, config, .. } in &configuration.named_connectors {
        let own = named.get(name).cloned().unwrap_or_default();
        let all = named::inherited(&plain, name, &own);
        let unlisted = own.keys().copied().filter(|key| !listed(key));
        let all_keys = keys::all().iter().map(|(key, _)| *key).chain(unlisted);
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

/// Defaults of the keys that are not in the broker's own table.
fn default_of(key: &str, part: Part, configuration: &Configuration) -> Option<String> {
    match part {
        Part::Broker => {
            let broker = configuration.broker.as_ref()?;
            match key {
                keys::LOG_DIRS => Some(broker.data_directory.display().to_string()),
                keys::LISTENERS => {
                    let listeners = broker.listeners.iter().map(|one| format!("{}://{}", one.name, one.bind));
                    Some(listeners.collect::<Vec<_>>().join(","))
                }
                _ => None,
            }
        }
        Part::Process => match key {
            ConsoleConfig::LISTEN => {
                Some(configuration.console.listen.clone().unwrap_or_else(|| "none".to_owned()))
            }
            ConsoleConfig::ALLOW_WRITES => Some(configuration.console.allow_writes.to_string()),
            ConsoleConfig::TRACE_URL => configuration.console.trace_url.clone(),
            _ => None,
        },
        Part::Connector => {
            let standard;
            let connector = match &configuration.connector {
                Some(connector) => connector,
                None => {
                    standard = ConnectorConfig::new(NO_DATABASE.parse().ok()?, vec![DEFAULT_BOOTSTRAP.to_owned()]);
                    &standard
                }
            };
            match key {
                keys::SLOT_NAME => Some(connector.slot.clone()),
                keys::PUBLICATION_NAME => Some(connector.publication.clone()),
                keys::TABLE_INCLUDE_LIST => {
                    Some(connector.tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
                }
                keys::BOOTSTRAP_SERVERS => Some(connector.bootstrap_servers.join(",")),
                keys::AUTO_INIT => Some(connector.auto_init.to_string()),
                "message.prefix" => Some(connector.message_prefix.clone()),
                "client.id" => Some(connector.client_id.clone()),
                "max.bytes.in.flight" => Some(connector.bytes_in_flight_max.to_string()),
                "max.row.bytes" => Some(connector.row_bytes_max.to_string()),
                "topic.creation.default.partitions" | "topic.creation.default.replication.factor" => {
                    Some("-1".to_owned())
                }
                "on.partitions.changed" => Some("stop".to_owned()),
                "security.protocol" => Some(connector.security.protocol().name().to_owned()),
                "source.mode" => Some("replication".to_owned()),
                "snapshot" => Some("never".to_owned()),
                "poll.interval.ms" => Some(connector.source_options.poll_interval.as_millis().to_string()),
                "delivery" => Some("exactly-once".to_owned()),
                "on.error" => Some("stop".to_owned()),
                "dead.letter.topic" => Some(connector.dead_letter_topic.clone()),
                "adopt.slot" | "accept.timeline" => Some("false".to_owned()),
                "route.by.field" => Some(connector.router.route_by.clone()),
                "route.topic.regex" => Some(connector.router.topic_regex.clone()),
                "route.topic.replacement" => Some(connector.router.topic_replacement.clone()),
                "table.field.event.id" => Some(connector.router.event_id.clone()),
                "table.field.event.key" => Some(connector.router.event_key.clone()),
                "table.field.event.type" => Some(connector.router.event_type.clone()),
                "table.field.event.payload" => Some(connector.router.event_payload.clone()),
                "tracing.span.context.field" => Some(connector.router.span_context.clone()),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
