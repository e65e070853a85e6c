//! CreateTopics, DeleteTopics, and topics as Metadata shows them.

use std::collections::HashMap;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use pillion_wire::messages::delete_topics::DeleteTopicState;
use pillion_wire::messages::metadata::{MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic};
use pillion_wire::messages::{CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, MetadataResponse};
use uuid::Uuid;

use super::{
    Admin, AdminError, NewTopic, PartitionDescription, Route, TopicDescription, TopicListing, TopicOutcome,
    milliseconds, refused,
};

impl Admin {
    /// Creates topics; the broker may take up to `timeout` for it. The outcomes come in the order of `topics`.
    ///
    /// # Errors
    /// [`AdminError::Client`] when no answer was had; what is wrong with a single topic, such as
    /// TOPIC_ALREADY_EXISTS, stands in its outcome.
    pub async fn create_topics(
        &self,
        topics: Vec<NewTopic>,
        timeout: Duration,
    ) -> Result<Vec<TopicOutcome>, AdminError> {
        self.create(topics, timeout, false).await
    }

    /// Asks whether [`Admin::create_topics`] would create them, and creates none.
    ///
    /// # Errors
    /// As [`Admin::create_topics`].
    pub async fn validate_topics(
        &self,
        topics: Vec<NewTopic>,
        timeout: Duration,
    ) -> Result<Vec<TopicOutcome>, AdminError> {
        self.create(topics, timeout, true).await
    }

    async fn create(
        &self,
        topics: Vec<NewTopic>,
        timeout: Duration,
        validate_only: bool,
    ) -> Result<Vec<TopicOutcome>, AdminError> {
        let names: Vec<String> = topics.iter().map(|topic| topic.name.clone()).collect();
        let topics = topics.into_iter().map(creatable).collect();
        let request = CreateTopicsRequest { topics, timeout_ms: milliseconds(timeout), validate_only };
        let verdict = |code: i16| ErrorCode::from_code(code) == ErrorCode::NotController;
        let response = self
            .ask(Route::Controller, &request, |response| {
                let moved = response.topics.iter().any(|topic| verdict(topic.error_code));
                if moved { ErrorCode::NotController } else { ErrorCode::None }
            })
            .await?;
        let results = response.topics.into_iter().map(|topic| (topic.name, (topic.error_code, topic.error_message)));
        Ok(outcomes("CreateTopics", names, results.collect()))
    }

    /// Deletes topics with their records; the broker may take up to `timeout` for it. The outcomes come in the order
    /// of `topics`.
    ///
    /// # Errors
    /// As [`Admin::create_topics`].
    pub async fn delete_topics(&self, topics: Vec<String>, timeout: Duration) -> Result<Vec<TopicOutcome>, AdminError> {
        let state = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: Uuid::nil() };
        let request = DeleteTopicsRequest {
            topics: topics.iter().map(state).collect(),
            topic_names: topics.clone(),
            timeout_ms: milliseconds(timeout),
        };
        let response = self
            .ask(Route::Controller, &request, |response| {
                let not_controller = ErrorCode::NotController.code();
                let moved = response.responses.iter().any(|topic| topic.error_code == not_controller);
                if moved { ErrorCode::NotController } else { ErrorCode::None }
            })
            .await?;
        let results = response.responses.into_iter().filter_map(|topic| {
            let result = (topic.error_code, topic.error_message);
            topic.name.map(|name| (name, result))
        });
        Ok(outcomes("DeleteTopics", topics, results.collect()))
    }

    /// All topics the client may see, by name.
    ///
    /// # Errors
    /// [`AdminError::Client`] when no answer was had.
    pub async fn list_topics(&self) -> Result<Vec<TopicListing>, AdminError> {
        let response = self.metadata(None).await?;
        let listing = |topic: MetadataResponseTopic| {
            let partitions = topic.partitions.len() as i32;
            let (topic_id, is_internal) = (topic.topic_id, topic.is_internal);
            topic.name.map(|name| TopicListing { name, topic_id, is_internal, partitions })
        };
        let mut topics: Vec<_> = response.topics.into_iter().filter_map(listing).collect();
        topics.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(topics)
    }

    /// Topics with their partitions, in the order of `topics`.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for the first that cannot be described, as UNKNOWN_TOPIC_OR_PARTITION;
    /// [`AdminError::Client`] when no answer was had.
    pub async fn describe_topics(&self, topics: &[String]) -> Result<Vec<TopicDescription>, AdminError> {
        if topics.is_empty() {
            return Ok(Vec::new());
        }
        let response = self.metadata(Some(topics)).await?;
        let mut answered: HashMap<String, MetadataResponseTopic> =
            response.topics.into_iter().filter_map(|topic| Some((topic.name.clone()?, topic))).collect();
        topics.iter().map(|name| describe(name, answered.remove(name))).collect()
    }

    async fn metadata(&self, topics: Option<&[String]>) -> Result<MetadataResponse, AdminError> {
        let named = |name: &String| MetadataRequestTopic { topic_id: Uuid::nil(), name: Some(name.clone()) };
        let request = MetadataRequest {
            topics: topics.map(|topics| topics.iter().map(named).collect()),
            allow_auto_topic_creation: false,
            ..MetadataRequest::default()
        };
        self.ask(Route::Any, &request, |response| {
            let unelected = ErrorCode::LeaderNotAvailable.code();
            let waiting = response.topics.iter().any(|topic| topic.error_code == unelected);
            if waiting { ErrorCode::LeaderNotAvailable } else { ErrorCode::None }
        })
        .await
    }
}

fn creatable(topic: NewTopic) -> CreatableTopic {
    let config = |(name, value)| CreatableTopicConfig { name, value: Some(value) };
    CreatableTopic {
        name: topic.name,
        num_partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        assignments: Vec::new(),
        configs: topic.configs.into_iter().map(config).collect(),
    }
}

fn outcomes(
    api: &'static str,
    names: Vec<String>,
    mut results: HashMap<String, (i16, Option<String>)>,
) -> Vec<TopicOutcome> {
    let outcome = |name: String| {
        let result = match results.remove(&name) {
            Some((code, message)) => refused(api, &name, code, message),
            None => Err(AdminError::NotAnswered { api, resource: name.clone() }),
        };
        TopicOutcome { name, result }
    };
    names.into_iter().map(outcome).collect()
}

fn describe(name: &str, answered: Option<MetadataResponseTopic>) -> Result<TopicDescription, AdminError> {
    let Some(topic) = answered else {
        return Err(AdminError::NotAnswered { api: "Metadata", resource: name.to_owned() });
    };
    refused("Metadata", name, topic.error_code, None)?;
    let mut partitions: Vec<_> = topic.partitions.into_iter().map(describe_partition).collect();
    partitions.sort_unstable_by_key(|partition| partition.partition);
    let (topic_id, is_internal) = (topic.topic_id, topic.is_internal);
    Ok(TopicDescription { name: name.to_owned(), topic_id, is_internal, partitions })
}

fn describe_partition(partition: MetadataResponsePartition) -> PartitionDescription {
    PartitionDescription {
        partition: partition.partition_index,
        leader: (partition.leader_id >= 0).then_some(partition.leader_id),
        leader_epoch: partition.leader_epoch,
        replicas: partition.replica_nodes,
        in_sync_replicas: partition.isr_nodes,
    }
}
