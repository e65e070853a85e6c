//! DescribeCluster (60), versions 0 to 2: the cluster is this node.
//!
//! Asked for controllers (endpoint type 2) it answers MISMATCHED_ENDPOINT_TYPE, as any broker listener does.

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_cluster::DescribeClusterBroker;
use pillion_wire::messages::{DescribeClusterRequest, DescribeClusterResponse};

use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeClusterRequest) -> Flow {
    let broker = &call.broker;
    if request.endpoint_type != 1 {
        let response = DescribeClusterResponse {
            error_code: ErrorCode::MismatchedEndpointType.code(),
            error_message: Some("this listener is a broker's".to_owned()),
            ..DescribeClusterResponse::default()
        };
        return call.answer(&response);
    }
    let listener = &call.session.listener;
    let response = DescribeClusterResponse {
        cluster_id: broker.cluster_id.clone(),
        controller_id: broker.config.node_id,
        brokers: vec![DescribeClusterBroker {
            broker_id: broker.config.node_id,
            host: listener.advertised_host.clone(),
            port: i32::from(listener.advertised_port),
            ..DescribeClusterBroker::default()
        }],
        ..DescribeClusterResponse::default()
    };
    call.answer(&response)
}
