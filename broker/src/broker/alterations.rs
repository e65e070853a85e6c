//! Changes to topics in service: other settings, of theirs or the broker's, and more partitions.
//!
//! As with making a topic: durable in the catalogue first, then seen by everyone. The topic's partitions stay the same
//! objects; only the topic around them is replaced.

use std::sync::Arc;

use super::{BrokerState, SettingsChangeError, TopicChangeError, config_entries};
use crate::catalogue::{Topic, TopicRecord};
use crate::config::{BrokerConfig, DynamicConfigError, Scope, SettingsInForce};
use crate::log::LogConfig;
use crate::partition::Partition;
use crate::topic_config::{TopicConfig, TopicConfigError};

impl BrokerState {
    /// Keeps topics from being made, changed or deleted until it is dropped.
    pub(crate) fn hold_changes(&self) -> impl Sized + use<'_> {
        self.topic_changes.lock()
    }

    /// Gives a topic the settings that `change` makes of those in force, and tells its partitions. With
    /// `validate_only` nothing is changed. Blocks.
    pub(crate) fn alter_topic(
        &self,
        name: &str,
        validate_only: bool,
        change: impl FnOnce(&TopicConfig) -> Result<TopicConfig, TopicConfigError>,
    ) -> Result<(), TopicChangeError> {
        let _one_at_a_time = self.topic_changes.lock();
        let topic = self.topics.by_name(name).ok_or(TopicChangeError::Unknown)?;
        let config = change(&topic.config)?.over(&self.topic_defaults());
        if validate_only || config == topic.config {
            return Ok(());
        }
        self.replace_topic(&topic, topic.partitions.clone(), config)
    }

    /// Adds partitions to a topic until it has `count`, which must be more than it has: the caller checked, but
    /// another request may have been quicker. Blocks.
    pub(crate) fn add_partitions(&self, name: &str, count: i32) -> Result<(), TopicChangeError> {
        let _one_at_a_time = self.topic_changes.lock();
        let topic = self.topics.by_name(name).ok_or(TopicChangeError::Unknown)?;
        let mut partitions = topic.partitions.clone();
        let first = partitions.len() as i32;
        if count <= first {
            return Err(TopicChangeError::Exists(format!("{name}-{}", count - 1)));
        }
        partitions.extend(self.new_partitions(&topic.name, topic.id, first..count, &topic.config));
        self.replace_topic(&topic, partitions, topic.config.clone())
    }

    fn replace_topic(
        &self,
        topic: &Topic,
        partitions: Vec<Arc<Partition>>,
        config: TopicConfig,
    ) -> Result<(), TopicChangeError> {
        let record =
            TopicRecord { topic_id: topic.id, partitions: partitions.len() as i32, configs: config_entries(&config) };
        self.catalogue.put_topics([(topic.name.to_string(), Some(record))])?;
        let changed = Arc::new(Topic { name: Arc::clone(&topic.name), id: topic.id, partitions, config });
        self.put_in_service([changed]);
        Ok(())
    }

    /// Gives the broker, or every broker, the settings that `change` makes of those in force; topics that say nothing
    /// themselves have them at once. With `validate_only` nothing is changed. Blocks.
    pub(crate) fn alter_settings(
        &self,
        scope: Scope,
        validate_only: bool,
        change: impl FnOnce(&SettingsInForce) -> Result<SettingsInForce, DynamicConfigError>,
    ) -> Result<(), SettingsChangeError> {
        let _one_at_a_time = self.topic_changes.lock();
        let held = self.settings.in_force();
        let settings = change(&held)?;
        if validate_only || settings.entries(scope) == held.entries(scope) {
            return Ok(());
        }
        let node_id = (scope == Scope::ThisBroker).then_some(self.config.node_id);
        let entries = settings.entries(scope).iter().map(|(key, value)| (*key, value.as_str()));
        self.catalogue.put_broker_config(node_id, entries)?;
        self.put_in_force(settings);
        Ok(())
    }

    /// Takes what can be changed at run time from another configuration; answers the keys that differ and wait for the
    /// next start. Blocks.
    pub(crate) fn reload_settings(&self, start: &BrokerConfig) -> Vec<&'static str> {
        let _one_at_a_time = self.topic_changes.lock();
        let (settings, held_back) = self.settings.in_force().restarted(start);
        self.put_in_force(settings);
        held_back
    }

    /// Puts settings in force, also for the topics that say nothing themselves.
    fn put_in_force(&self, settings: SettingsInForce) {
        self.spans.apply(settings.config());
        self.settings.put(settings);
        let defaults = self.topic_defaults();
        let changed = |topic: &Arc<Topic>| {
            let config = topic.config.over(&defaults);
            let partitions = topic.partitions.clone();
            (config != topic.config)
                .then(|| Arc::new(Topic { name: Arc::clone(&topic.name), id: topic.id, partitions, config }))
        };
        let changed: Vec<_> = self.topics.snapshot().all().filter_map(changed).collect();
        self.put_in_service(changed);
    }

    /// Puts topics in the place of those of the same name, and tells their partitions.
    fn put_in_service(&self, topics: impl IntoIterator<Item = Arc<Topic>>) {
        let topics: Vec<_> = topics.into_iter().collect();
        self.topics.add(topics.iter().cloned());
        for topic in &topics {
            let log_config = Arc::new(LogConfig::from(&topic.config));
            topic.partitions.iter().for_each(|partition| partition.configure(Arc::clone(&log_config)));
        }
    }
}
