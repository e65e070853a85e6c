//! The broker's own settings as DescribeConfigs tells them, and where a topic's come from when it says nothing.

use pillion_wire::messages::describe_configs::{DescribeConfigsResourceResult, DescribeConfigsSynonym};

use super::{SOURCE_DEFAULT, SOURCE_STATIC_BROKER, synonym};
use crate::config::{BrokerConfig, ListenerConfig};
use crate::topic_config::{ConfigKind, TopicConfigKey};

/// A setting beside its built-in value. Where a value came from is not kept: one that differs was set.
struct BrokerSetting {
    name: &'static str,
    kind: ConfigKind,
    value: Option<String>,
    built_in: Option<String>,
}

/// Every setting of a broker.
pub(crate) struct BrokerSettings(Vec<BrokerSetting>);

impl BrokerSetting {
    fn source(&self) -> i8 {
        if self.value == self.built_in { SOURCE_DEFAULT } else { SOURCE_STATIC_BROKER }
    }

    /// The value if it was set.
    fn set(&self) -> Option<DescribeConfigsSynonym> {
        let value = self.value.clone().filter(|_| self.value != self.built_in)?;
        Some(synonym(self.name, value, SOURCE_STATIC_BROKER))
    }

    /// The built-in value.
    fn built_in(&self) -> Option<DescribeConfigsSynonym> {
        Some(synonym(self.name, self.built_in.clone()?, SOURCE_DEFAULT))
    }
}

impl BrokerSettings {
    /// The settings in force.
    pub(crate) fn of(config: &BrokerConfig) -> Self {
        let place = |listener: &ListenerConfig, address: &str| format!("{}://{address}", listener.name);
        let listeners = config.listeners.iter().map(|listener| place(listener, &listener.bind));
        let advertised = config
            .listeners
            .iter()
            .map(|listener| place(listener, listener.advertised.as_ref().unwrap_or(&listener.bind)));
        let list = |name, value| BrokerSetting { name, kind: ConfigKind::List, value: Some(value), built_in: None };
        let mut settings = vec![
            list("log.dirs", config.data_directory.display().to_string()),
            list("listeners", listeners.collect::<Vec<_>>().join(",")),
            list("advertised.listeners", advertised.collect::<Vec<_>>().join(",")),
        ];
        // All three come out of one table, in its order.
        let built_in = BrokerConfig::new("", "").settings();
        for ((name, kind), ((_, value), (_, built_in))) in
            BrokerConfig::kinds().zip(config.settings().into_iter().zip(built_in))
        {
            // A number that is empty is one that nobody set.
            let known = |text: String| {
                let may_be_empty = matches!(kind, ConfigKind::List | ConfigKind::Text);
                Some(text).filter(|text| may_be_empty || !text.is_empty())
            };
            settings.push(BrokerSetting { name, kind, value: known(value), built_in: known(built_in) });
        }
        Self(settings)
    }

    /// All of them, for a client.
    pub(super) fn describe(self, include_synonyms: bool) -> Vec<DescribeConfigsResourceResult> {
        let describe = |setting: BrokerSetting| DescribeConfigsResourceResult {
            name: setting.name.to_owned(),
            config_source: setting.source(),
            synonyms: if include_synonyms {
                setting.set().into_iter().chain(setting.built_in()).collect()
            } else {
                Vec::new()
            },
            config_type: setting.kind as i8,
            value: setting.value,
            read_only: true,
            ..DescribeConfigsResourceResult::default()
        };
        self.0.into_iter().map(describe).collect()
    }

    /// Where a topic's value comes from when the topic does not say. kafka-topics shows everything that is not a
    /// default as the topic's own.
    pub(crate) fn source_of(&self, key: &TopicConfigKey) -> i8 {
        if self.behind(key).any(|setting| setting.set().is_some()) { SOURCE_STATIC_BROKER } else { SOURCE_DEFAULT }
    }

    /// What a topic's setting falls back to, nearest first. Of several keys with built-in values the last one's holds.
    pub(super) fn synonyms_of(&self, key: &TopicConfigKey) -> Vec<DescribeConfigsSynonym> {
        let set = self.behind(key).filter_map(BrokerSetting::set);
        set.chain(self.behind(key).filter_map(BrokerSetting::built_in).last()).collect()
    }

    fn behind(&self, key: &TopicConfigKey) -> impl Iterator<Item = &BrokerSetting> {
        key.broker_keys.iter().filter_map(|name| self.0.iter().find(|setting| setting.name == *name))
    }
}
