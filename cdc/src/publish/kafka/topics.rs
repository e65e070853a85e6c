//! Topics the connector needs, made when they are missing: also where the cluster makes none by itself.

use pillion_client::{Admin, ErrorCode, NewTopic};

use super::CREATE_TIMEOUT;
use super::errors::of_admin;
use crate::config::ConnectorConfig;
use crate::publish::PublishError;
use crate::topic_creation::{TopicCreation, TopicSettings};

/// How the progress topic is kept: compacted to the last record of the slot, in small segments, so that it stays a few
/// megabytes however many transactions a day there are. Markers of transactions go after a minute.
const PROGRESS_CONFIGS: [(&str, &str); 4] = [
    ("cleanup.policy", "compact"),
    ("segment.bytes", "8388608"),
    ("min.cleanable.dirty.ratio", "0.1"),
    ("delete.retention.ms", "60000"),
];

/// Makes topics.
pub(super) struct Topics {
    admin: Admin,
    creation: TopicCreation,
}

impl Topics {
    pub(super) fn new(admin: Admin, config: &ConnectorConfig) -> Topics {
        Topics { admin, creation: config.topic_creation.clone() }
    }

    /// Makes a topic for records if it is missing.
    ///
    /// # Errors
    /// [`PublishError`].
    pub(super) async fn ensure(&self, topic: &str) -> Result<(), PublishError> {
        let TopicSettings { partitions, replication_factor, configs } = self.creation.of(topic);
        self.make(NewTopic { partitions, replication_factor, configs, ..NewTopic::new(topic) }).await
    }

    /// Makes a topic for progress records if it is missing.
    ///
    /// # Errors
    /// [`PublishError`].
    pub(super) async fn ensure_progress(&self, topic: &str) -> Result<(), PublishError> {
        let configs = PROGRESS_CONFIGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.make(NewTopic {
            partitions: 1,
            replication_factor: self.creation.of(topic).replication_factor,
            configs: configs.to_vec(),
            ..NewTopic::new(topic)
        })
        .await
    }

    async fn make(&self, wanted: NewTopic) -> Result<(), PublishError> {
        let topic = wanted.name.clone();
        let mut outcomes = self.admin.create_topics(vec![wanted], CREATE_TIMEOUT).await.map_err(of_admin)?;
        let Some(Err(error)) = outcomes.pop().map(|outcome| outcome.result) else { return Ok(()) };
        match error.error_code() {
            Some(ErrorCode::TopicAlreadyExists) => Ok(()),
            // Producing may be allowed where making topics is not.
            Some(ErrorCode::TopicAuthorizationFailed | ErrorCode::ClusterAuthorizationFailed)
                if self
                    .admin
                    .describe_topics(std::slice::from_ref(&topic))
                    .await
                    .is_ok_and(|found| !found.is_empty()) =>
            {
                Ok(())
            }
            _ => Err(of_admin(error)),
        }
    }
}
