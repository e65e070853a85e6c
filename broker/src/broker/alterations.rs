//! Changes to topics in service: other settings, more partitions.
//!
//! As with making a topic: durable in the catalogue first, then seen by everyone. The topic's partitions stay the same
//! objects; only the topic around them is replaced.

use std::sync::Arc;

use super::{BrokerState, TopicChangeError, config_entries};
use crate::catalogue::{Topic, TopicRecord};
use crate::log::LogConfig;
use crate::partition::Partition;
use crate::topic_config::{TopicConfig, TopicConfigError};

impl BrokerState {
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
        let config = change(&topic.config)?;
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
        self.topics.add([Arc::clone(&changed)]);
        let log_config = Arc::new(LogConfig::from(&changed.config));
        changed.partitions.iter().for_each(|partition| partition.configure(Arc::clone(&log_config)));
        Ok(())
    }
}
