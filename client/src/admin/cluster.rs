//! DescribeCluster and DescribeLogDirs.

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_cluster::DescribeClusterBroker;
use pillion_wire::messages::describe_log_dirs::DescribeLogDirsResult;
use pillion_wire::messages::{DescribeClusterRequest, DescribeLogDirsRequest};

use super::{Admin, AdminError, BrokerDescription, ClusterDescription, LogDirectory, Route, refused};

impl Admin {
    /// The cluster's id, controller and brokers.
    ///
    /// # Errors
    /// [`AdminError::Refused`], and [`AdminError::Client`] when no answer was had.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, AdminError> {
        let request = DescribeClusterRequest::default();
        let response = self.ask(Route::Any, &request, |response| ErrorCode::from_code(response.error_code)).await?;
        refused("DescribeCluster", "the cluster", response.error_code, response.error_message)?;
        let mut brokers: Vec<_> = response.brokers.into_iter().map(read_broker).collect();
        brokers.sort_unstable_by_key(|broker| broker.id);
        let controller = (response.controller_id >= 0).then_some(response.controller_id);
        Ok(ClusterDescription { cluster_id: response.cluster_id, controller, brokers })
    }

    /// The directories in which a broker keeps its logs, with what each partition takes.
    ///
    /// # Errors
    /// [`AdminError::Refused`] also for a directory that cannot be read; [`AdminError::Client`] when no answer was had.
    pub async fn describe_log_directories(&self, broker: i32) -> Result<Vec<LogDirectory>, AdminError> {
        const API: &str = "DescribeLogDirs";
        let request = DescribeLogDirsRequest { topics: None };
        let response =
            self.ask(Route::Broker(broker), &request, |response| ErrorCode::from_code(response.error_code)).await?;
        refused(API, &format!("broker {broker}"), response.error_code, None)?;
        response.results.into_iter().map(|result| read_directory(API, result)).collect()
    }
}

fn read_directory(api: &'static str, result: DescribeLogDirsResult) -> Result<LogDirectory, AdminError> {
    refused(api, &result.log_dir, result.error_code, None)?;
    let bytes = |number: i64| u64::try_from(number).ok();
    let partitions = result.topics.into_iter().flat_map(|topic| {
        let name = topic.name;
        topic
            .partitions
            .into_iter()
            .map(move |one| (name.clone(), one.partition_index, bytes(one.partition_size).unwrap_or(0)))
    });
    Ok(LogDirectory {
        path: result.log_dir,
        partitions: partitions.collect(),
        total_bytes: bytes(result.total_bytes),
        usable_bytes: bytes(result.usable_bytes),
    })
}

fn read_broker(broker: DescribeClusterBroker) -> BrokerDescription {
    BrokerDescription { id: broker.broker_id, host: broker.host, port: broker.port, rack: broker.rack }
}
