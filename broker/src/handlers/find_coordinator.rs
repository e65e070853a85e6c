//! FindCoordinator (10), versions 0 to 6: which node coordinates a group, or a transactional id.
//!
//! It is this one. The first question makes the topic it is about, compacted: `__consumer_offsets` with
//! `offsets.topic.num.partitions` partitions, `__transaction_state` with `transaction.state.log.num.partitions`. Left
//! out: share groups, which are answered with INVALID_REQUEST.

use pillion_wire::ErrorCode;
use pillion_wire::messages::find_coordinator::Coordinator;
use pillion_wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use super::blocking;
use crate::dispatch::{Call, Flow};
use crate::network::listener::Listener;

const KEY_TYPE_GROUP: i8 = 0;
const KEY_TYPE_TRANSACTION: i8 = 1;

/// Answers at once, unless the topic is still to be made or taken over.
pub(crate) fn handle(call: Call, request: FindCoordinatorRequest) -> Flow {
    let is_ready = match request.key_type {
        KEY_TYPE_GROUP => call.broker.groups.is_leading(),
        KEY_TYPE_TRANSACTION => call.broker.transactions.is_leading(),
        _ => true,
    };
    if is_ready {
        let response = respond(&call, &request, Ok(()));
        return call.answer(&response);
    }
    blocking(move || {
        let led = match request.key_type {
            KEY_TYPE_TRANSACTION => call.broker.lead_transactions(),
            _ => call.broker.lead_groups(),
        };
        let response = respond(&call, &request, led);
        call.answer(&response);
    })
}

fn respond(call: &Call, request: &FindCoordinatorRequest, led: Result<(), ErrorCode>) -> FindCoordinatorResponse {
    let outcome = match request.key_type {
        KEY_TYPE_GROUP | KEY_TYPE_TRANSACTION => {
            led.map_err(|error| (error, "the coordinator's topic cannot be made; see the broker's log"))
        }
        _ => Err((ErrorCode::InvalidRequest, "this broker coordinates consumer groups and transactions only")),
    };
    let coordinator = |key: &String| coordinator(key, outcome, call.broker.config.node_id, &call.session.listener);
    if call.version() >= 4 {
        let coordinators = request.coordinator_keys.iter().map(coordinator).collect();
        return FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    }
    let Coordinator { node_id, host, port, error_code, error_message, .. } = coordinator(&request.key);
    FindCoordinatorResponse { error_code, error_message, node_id, host, port, ..FindCoordinatorResponse::default() }
}

fn coordinator(key: &str, outcome: Result<(), (ErrorCode, &str)>, node_id: i32, listener: &Listener) -> Coordinator {
    let key = key.to_owned();
    match outcome {
        Ok(()) => Coordinator {
            key,
            node_id,
            host: listener.advertised_host.clone(),
            port: i32::from(listener.advertised_port),
            error_code: ErrorCode::None.code(),
            error_message: None,
        },
        Err((error, message)) => Coordinator {
            key,
            node_id: -1,
            host: String::new(),
            port: -1,
            error_code: error.code(),
            error_message: Some(message.to_owned()),
        },
    }
}
