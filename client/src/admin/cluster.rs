//! DescribeCluster.

use pillion_wire::ErrorCode;
use pillion_wire::messages::DescribeClusterRequest;
use pillion_wire::messages::describe_cluster::DescribeClusterBroker;

use super::{Admin, AdminError, BrokerDescription, ClusterDescription, Route, refused};

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
}

fn read_broker(broker: DescribeClusterBroker) -> BrokerDescription {
    BrokerDescription { id: broker.broker_id, host: broker.host, port: broker.port, rack: broker.rack }
}
