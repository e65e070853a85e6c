//! Every key with the value in force, for `pillion config`.

use pillion_client::SecurityConfig;

use super::keys::{self, Part};
use super::layers::{Layers, Origin};
use super::problem::ConfigurationError;
use super::typed::{Configuration, Parts};

/// Shown in place of a secret.
const HIDDEN: &str = "********";

/// A key, its value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EffectiveSetting {
    /// The key.
    pub(crate) key: &'static str,
    /// Its value as text; `None` when it has none, or one that only the connector's defaults know.
    pub(crate) value: Option<String>,
    /// Who gave it.
    pub(crate) origin: Origin,
}

/// Checks the layers as `pillion run` would, and lists every key. A missing database is no problem here.
///
/// # Errors
/// Every problem at once.
pub(crate) fn effective(layers: Layers) -> Result<Vec<EffectiveSetting>, ConfigurationError> {
    let said = layers.said();
    let mut layers = layers;
    layers.add_default(keys::POSTGRES_URL, "postgresql://nobody@localhost/nowhere");
    let configuration = Configuration::read(layers, Parts { broker: true, connector: true })?;
    let broker_values = configuration.broker.as_ref().map(pillion_broker::BrokerConfig::settings).unwrap_or_default();
    let effective = keys::all().iter().map(|&(key, part)| {
        let setting = said.get(key);
        let origin = setting.map_or(Origin::Default, |setting| setting.origin.clone());
        let from_broker = broker_values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        let shown = match key {
            keys::POSTGRES_URL => {
                setting.and(configuration.connector.as_ref()).map(|connector| connector.postgres.to_string())
            }
            key if key == "database.password" || SecurityConfig::is_secret(key) => setting.map(|_| HIDDEN.to_owned()),
            _ => from_broker.or_else(|| setting.map(|setting| setting.value.clone())),
        };
        EffectiveSetting { key, value: shown.or_else(|| default_of(key, part, &configuration)), origin }
    });
    Ok(effective.collect())
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
        Part::Connector => {
            let connector = configuration.connector.as_ref()?;
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
                "topic.creation.default.partitions" => Some(connector.topic_partitions.to_string()),
                "topic.creation.default.replication.factor" => Some(connector.topic_replication_factor.to_string()),
                "security.protocol" => Some(connector.security.protocol().name().to_owned()),
                "delivery" => Some("at-least-once".to_owned()),
                "on.error" => Some("stop".to_owned()),
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
