//! IncrementalAlterConfigs, CreatePartitions and DeleteRecords.

use std::collections::BTreeMap;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::messages::create_partitions::CreatePartitionsTopic;
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{CreatePartitionsRequest, DeleteRecordsRequest, IncrementalAlterConfigsRequest};

use super::configs::wire_resource;
use super::{
    Admin, AdminError, ConfigChange, ConfigOperation, ConfigResource, DeletedRecords, Route, milliseconds, refused,
};

impl Admin {
    /// Changes single settings of a topic or broker and leaves the others alone. All of them are changed, or none.
    ///
    /// # Errors
    /// [`AdminError::Refused`], as INVALID_CONFIG; [`AdminError::Client`] when no answer was had.
    pub async fn alter_configs_incremental(
        &self,
        resource: ConfigResource,
        changes: Vec<ConfigChange>,
    ) -> Result<(), AdminError> {
        const API: &str = "IncrementalAlterConfigs";
        let (resource_type, resource_name, route) = wire_resource(&resource);
        let configs = changes.into_iter().map(alterable).collect();
        let asked = AlterConfigsResource { resource_type, resource_name: resource_name.clone(), configs };
        let request = IncrementalAlterConfigsRequest { resources: vec![asked], validate_only: false };
        let response = self
            .ask(route, &request, |response| {
                let code = response.responses.first().map_or(0, |result| result.error_code);
                not_controller(ErrorCode::from_code(code))
            })
            .await?;
        let result = response.responses.into_iter().next();
        let result = result.ok_or(AdminError::NotAnswered { api: API, resource: resource_name })?;
        refused(API, &result.resource_name, result.error_code, result.error_message)
    }

    /// Gives a topic more partitions, `count` in all; the broker may take up to `timeout` for it. Keys go to other
    /// partitions afterwards.
    ///
    /// # Errors
    /// [`AdminError::Refused`], as INVALID_PARTITIONS; [`AdminError::Client`] when no answer was had.
    pub async fn create_partitions(&self, topic: &str, count: i32, timeout: Duration) -> Result<(), AdminError> {
        const API: &str = "CreatePartitions";
        let asked = CreatePartitionsTopic { name: topic.to_owned(), count, assignments: None };
        let timeout_ms = milliseconds(timeout);
        let request = CreatePartitionsRequest { topics: vec![asked], timeout_ms, validate_only: false };
        let response = self
            .ask(Route::Controller, &request, |response| {
                let code = response.results.first().map_or(0, |result| result.error_code);
                not_controller(ErrorCode::from_code(code))
            })
            .await?;
        let result = response.results.into_iter().next();
        let result = result.ok_or(AdminError::NotAnswered { api: API, resource: topic.to_owned() })?;
        refused(API, &result.name, result.error_code, result.error_message)
    }

    /// Deletes the records of a topic's partitions below an offset each, given as (partition, offset); offset −1 stands
    /// for all records that consumers can see. Brokers may take up to `timeout` for it. The outcomes come in the order
    /// of their partitions.
    ///
    /// # Errors
    /// [`AdminError::Refused`] when the topic or a leader is unknown; [`AdminError::Client`] when no answer was had.
    /// What is wrong with a single partition stands in its outcome.
    pub async fn delete_records(
        &self,
        topic: &str,
        offsets: Vec<(i32, i64)>,
        timeout: Duration,
    ) -> Result<Vec<DeletedRecords>, AdminError> {
        const API: &str = "DeleteRecords";
        let described = self.describe_topics(&[topic.to_owned()]).await?;
        let partitions = described.iter().flat_map(|topic| &topic.partitions);
        let leaders: BTreeMap<i32, Option<i32>> = partitions.map(|one| (one.partition, one.leader)).collect();
        let mut by_leader: BTreeMap<i32, Vec<DeleteRecordsPartition>> = BTreeMap::new();
        for (partition_index, offset) in offsets {
            let unled = |code: ErrorCode| refused(API, &format!("{topic}-{partition_index}"), code.code(), None);
            let Some(leader) = leaders.get(&partition_index).copied() else {
                unled(ErrorCode::UnknownTopicOrPartition)?;
                continue;
            };
            let Some(leader) = leader else {
                unled(ErrorCode::LeaderNotAvailable)?;
                continue;
            };
            by_leader.entry(leader).or_default().push(DeleteRecordsPartition { partition_index, offset });
        }
        let mut outcomes = Vec::new();
        for (leader, partitions) in by_leader {
            let topics = vec![DeleteRecordsTopic { name: topic.to_owned(), partitions }];
            let request = DeleteRecordsRequest { topics, timeout_ms: milliseconds(timeout) };
            let response = self.ask(Route::Broker(leader), &request, |_| ErrorCode::None).await?;
            for answer in response.topics.into_iter().flat_map(|topic| topic.partitions) {
                let (partition, low_watermark) = (answer.partition_index, answer.low_watermark);
                let refusal = refused(API, &format!("{topic}-{partition}"), answer.error_code, None);
                outcomes.push(DeletedRecords { partition, result: refusal.map(|()| low_watermark) });
            }
        }
        outcomes.sort_unstable_by_key(|outcome| outcome.partition);
        Ok(outcomes)
    }
}

fn alterable(change: ConfigChange) -> AlterableConfig {
    let (config_operation, value) = match change.operation {
        ConfigOperation::Set(value) => (0, Some(value)),
        ConfigOperation::Delete => (1, None),
        ConfigOperation::Append(value) => (2, Some(value)),
        ConfigOperation::Subtract(value) => (3, Some(value)),
    };
    AlterableConfig { name: change.name, config_operation, value }
}

/// Only a controller that moved is worth another try; an unknown topic, say, counts as retriable elsewhere.
fn not_controller(code: ErrorCode) -> ErrorCode {
    if code == ErrorCode::NotController { code } else { ErrorCode::None }
}
