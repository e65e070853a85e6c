//! DescribeCluster (60), versions 0 to 2: the cluster is this node.
//!
//! Asked for controllers (endpoint type 2) it answers MISMATCHED_ENDPOINT_TYPE, as any broker listener does. No node is
//! ever fenced: whoever answers serves.

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_cluster::DescribeClusterBroker;
use pillion_wire::messages::{DescribeClusterRequest, DescribeClusterResponse};

use super::permitted_operations::{NOT_ASKED, ON_CLUSTER};
use crate::dispatch::{Call, Flow};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeClusterRequest) -> Flow {
    let broker = &call.broker;
    let error = match request.endpoint_type {
        BROKERS => None,
        CONTROLLERS => Some((ErrorCode::MismatchedEndpointType, "this listener is a broker's".to_owned())),
        other => Some((ErrorCode::UnsupportedEndpointType, format!("endpoint type {other} is not known"))),
    };
    if let Some((code, message)) = error {
        let (error_code, error_message) = (code.code(), Some(message));
        return call.answer(&DescribeClusterResponse {
            error_code,
            error_message,
            ..DescribeClusterResponse::default()
        });
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
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            ON_CLUSTER
        } else {
            NOT_ASKED
        },
        ..DescribeClusterResponse::default()
    };
    call.answer(&response)
}
