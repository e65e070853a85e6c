//! The broker's own topics: made with the first request that needs them, and taken over by their coordinators.

use pillion_wire::ErrorCode;

use crate::broker::{BrokerState, TopicChangeError, TopicSpec};
use crate::catalogue::Topic;
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::topic_config::TopicConfig;
use crate::transactions::coordinator::TRANSACTIONS_TOPIC;

/// Kafka's segment size for these topics: small ones, so that compaction can begin early.
const SEGMENT_BYTES: &str = "104857600";

impl BrokerState {
    /// Becomes the coordinator of consumer groups. Blocks; must be called within the runtime.
    ///
    /// # Errors
    /// COORDINATOR_NOT_AVAILABLE when the topic cannot be made; the log says why.
    pub(crate) fn lead_groups(&self) -> Result<(), ErrorCode> {
        let topic = self.internal_topic(OFFSETS_TOPIC, self.config.offsets_partitions)?;
        self.groups.lead(&topic.partitions);
        Ok(())
    }

    /// Becomes the coordinator of transactions; as [`BrokerState::lead_groups`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn lead_transactions(&self) -> Result<(), ErrorCode> {
        let topic = self.internal_topic(TRANSACTIONS_TOPIC, self.config.transactions_partitions)?;
        self.transactions.lead(&topic.partitions);
        Ok(())
    }

    fn internal_topic(&self, name: &str, partitions: i32) -> Result<std::sync::Arc<Topic>, ErrorCode> {
        if let Some(topic) = self.topics.by_name(name) {
            return Ok(topic);
        }
        let entries = [("cleanup.policy", "compact"), ("segment.bytes", SEGMENT_BYTES)];
        let config = TopicConfig::new(entries, &self.topic_defaults()).map_err(|error| {
            tracing::error!(%error, "a setting of {name} is not taken");
            ErrorCode::CoordinatorNotAvailable
        })?;
        match self.create_topics(vec![TopicSpec { name: name.to_owned(), partitions, config }]).pop() {
            Some(Ok(topic)) => Ok(topic),
            // Another connection was quicker.
            Some(Err(TopicChangeError::Exists(_))) => {
                self.topics.by_name(name).ok_or(ErrorCode::CoordinatorNotAvailable)
            }
            Some(Err(error)) => {
                tracing::error!(%error, "cannot make {name}: there are no coordinators until it can be made");
                Err(ErrorCode::CoordinatorNotAvailable)
            }
            None => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }
}
