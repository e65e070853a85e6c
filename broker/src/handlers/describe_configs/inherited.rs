//! What a topic's settings come to where the topic says nothing: the same for all topics of a request.

use pillion_wire::messages::describe_configs::DescribeConfigsSynonym;

use super::broker_settings::BrokerSettings;
use super::source;
use crate::broker::BrokerState;
use crate::config::Layer;
use crate::topic_config::{ConfigKind, TOPIC_CONFIG_KEYS, TopicConfigKey};

/// A setting as a topic inherits it.
pub(crate) struct Inherited {
    pub(crate) key: &'static TopicConfigKey,
    pub(crate) value: String,
    /// What it falls back to, nearest first.
    pub(super) synonyms: Vec<DescribeConfigsSynonym>,
}

impl Inherited {
    /// Every setting of a topic, in the table's order.
    pub(crate) fn all(broker: &BrokerState) -> Vec<Self> {
        let (defaults, settings) = (broker.topic_defaults(), BrokerSettings::of(broker));
        let inherited = |key: &'static TopicConfigKey| {
            let synonyms = settings.synonyms_of(key);
            // A list is told in the order it was given in.
            let given = synonyms.first().filter(|_| key.kind == ConfigKind::List).and_then(|first| first.value.clone());
            Self { key, value: given.unwrap_or_else(|| (key.show)(&defaults)), synonyms }
        };
        TOPIC_CONFIG_KEYS.iter().map(inherited).collect()
    }

    /// Who said the value. kafka-topics shows everything that is not a default as the topic's own.
    pub(crate) fn source(&self) -> i8 {
        self.synonyms.first().map_or(source(Layer::BuiltIn), |first| first.source)
    }
}
