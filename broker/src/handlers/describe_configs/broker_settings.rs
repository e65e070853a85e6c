//! The broker's own settings as DescribeConfigs tells them, and where a topic's come from when it says nothing.

use std::sync::Arc;

use pillion_wire::messages::describe_configs::{DescribeConfigsResourceResult, DescribeConfigsSynonym};

use super::{source, synonym};
use crate::broker::BrokerState;
use crate::config::{
    BrokerConfig, FIXED_KEYS, Layer, ListenerConfig, Scope, Setting, SettingsInForce, kept, setting, table,
};
use crate::topic_config::{ConfigKind, TopicConfigKey};

/// Settings that hold where another one is unset.
const FALLBACKS: &[(&str, &[&str])] = &[
    ("log.retention.minutes", &["log.retention.hours"]),
    ("log.retention.ms", &["log.retention.minutes", "log.retention.hours"]),
    ("log.roll.jitter.ms", &["log.roll.jitter.hours"]),
    ("log.roll.ms", &["log.roll.hours"]),
];

/// Every setting of a broker.
pub(crate) struct BrokerSettings(Arc<SettingsInForce>);

impl BrokerSettings {
    /// The settings in force.
    pub(crate) fn of(broker: &BrokerState) -> Self {
        Self(broker.settings.in_force())
    }

    /// All of them; those that have no effect only where somebody set them.
    pub(super) fn describe(&self) -> Vec<DescribeConfigsResourceResult> {
        let is_set = |setting: &&Setting| {
            [Scope::ThisBroker, Scope::EveryBroker].iter().any(|scope| self.0.entries(*scope).contains_key(setting.key))
        };
        let fixed = FIXED_KEYS.iter().map(|key| self.fixed(key));
        fixed.chain(table().chain(kept().filter(is_set)).map(|setting| self.one(setting))).collect()
    }

    /// What was set for every broker while they run.
    pub(super) fn describe_for_every_broker(&self) -> Vec<DescribeConfigsResourceResult> {
        let source = source(Layer::EveryBroker);
        let entries = self.0.entries(Scope::EveryBroker).iter();
        let describe = |(key, value): (&&str, &String)| {
            Some(DescribeConfigsResourceResult {
                value: Some(value.clone()),
                config_source: source,
                synonyms: vec![synonym(key, value.clone(), source)],
                ..described(setting(key)?)
            })
        };
        entries.filter_map(describe).collect()
    }

    /// What a topic's setting falls back to, nearest first. What is built in under another unit's name is told only
    /// beside something that was set, as Kafka does.
    pub(super) fn synonyms_of(&self, key: &TopicConfigKey) -> Vec<DescribeConfigsSynonym> {
        let said = self.said(key.broker_keys);
        let own = key.broker_keys.first();
        let is_only_built_in =
            |one: &DescribeConfigsSynonym| one.source == source(Layer::BuiltIn) && Some(&one.name.as_str()) != own;
        if said.iter().all(is_only_built_in) { Vec::new() } else { said }
    }

    /// What each layer says of keys that fall back to one another. Of several keys with built-in values the last one's
    /// holds.
    fn said(&self, keys: &[&str]) -> Vec<DescribeConfigsSynonym> {
        let of_layer = |layer| {
            let said = keys.iter().filter_map(move |key| Some((*key, self.0.said(layer, setting(key)?)?)));
            said.map(move |(key, value)| synonym(key, value, source(layer)))
        };
        let set = Layer::ALL.into_iter().filter(|layer| *layer != Layer::BuiltIn).flat_map(of_layer);
        set.chain(of_layer(Layer::BuiltIn).next_back()).collect()
    }

    fn one(&self, setting: &Setting) -> DescribeConfigsResourceResult {
        let fallbacks = FALLBACKS.iter().find(|(key, _)| *key == setting.key).map_or(&[][..], |(_, keys)| keys);
        let keys: Vec<_> = std::iter::once(setting.key).chain(fallbacks.iter().copied()).collect();
        let said = self.said(&keys);
        // What stands before the setting's own name does not hold for it.
        let synonyms: Vec<_> = said.into_iter().skip_while(|synonym| synonym.name != setting.key).collect();
        let first = synonyms.first();
        DescribeConfigsResourceResult {
            value: first.and_then(|first| first.value.clone()),
            config_source: first.map_or(source(Layer::BuiltIn), |first| first.source),
            synonyms,
            ..described(setting)
        }
    }

    /// A setting that has no row in the table.
    fn fixed(&self, key: &str) -> DescribeConfigsResourceResult {
        let config = self.0.config();
        let listeners = |address: fn(&ListenerConfig) -> &String| {
            let places = config.listeners.iter().map(|listener| format!("{}://{}", listener.name, address(listener)));
            places.collect::<Vec<_>>().join(",")
        };
        let (kind, value, layer, documentation) = match key {
            "advertised.listeners" => {
                let told = listeners(|listener| listener.advertised.as_ref().unwrap_or(&listener.bind));
                (ConfigKind::List, told, Layer::Start, "what clients are told to connect to")
            }
            "listeners" => {
                (ConfigKind::List, listeners(|listener| &listener.bind), Layer::Start, "where the broker listens")
            }
            "log.dirs" => {
                let path = config.data_directory.display().to_string();
                (ConfigKind::List, path, Layer::Start, "where everything is kept")
            }
            "broker.id" => (ConfigKind::Int, config.node_id.to_string(), node_id_layer(config), "the same as node.id"),
            "delete.topic.enable" => (ConfigKind::Boolean, "true".to_owned(), Layer::BuiltIn, "topics can be deleted"),
            "offsets.topic.replication.factor" => {
                (ConfigKind::Short, "1".to_owned(), Layer::BuiltIn, "there is one node")
            }
            // default.replication.factor
            _ => (ConfigKind::Int, "1".to_owned(), Layer::BuiltIn, "there is one node"),
        };
        DescribeConfigsResourceResult {
            name: key.to_owned(),
            value: Some(value.clone()),
            read_only: true,
            config_source: source(layer),
            synonyms: vec![synonym(key, value, source(layer))],
            config_type: kind as i8,
            documentation: Some(documentation.to_owned()),
            ..DescribeConfigsResourceResult::default()
        }
    }
}

fn node_id_layer(config: &BrokerConfig) -> Layer {
    if config.given.contains("node.id") { Layer::Start } else { Layer::BuiltIn }
}

/// What does not depend on who said what.
fn described(setting: &Setting) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult {
        name: setting.key.to_owned(),
        read_only: !setting.is_dynamic(),
        config_type: setting.kind as i8,
        documentation: Some(setting.documentation.to_owned()),
        ..DescribeConfigsResourceResult::default()
    }
}
