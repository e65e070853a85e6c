//! FindCoordinator (10), versions 0 to 6: which node coordinates a group.
//!
//! It is this one. The first question about a group makes `__consumer_offsets`, compacted, with
//! `offsets.topic.num.partitions` partitions. Left out: transactions, which are refused so that clients give up at once,
//! and share groups, which are answered with INVALID_REQUEST.

use pillion_wire::ErrorCode;
use pillion_wire::messages::find_coordinator::Coordinator;
use pillion_wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use super::blocking;
use crate::broker::{BrokerState, TopicChangeError, TopicSpec};
use crate::dispatch::{Call, Flow};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::network::listener::Listener;
use crate::topic_config::TopicConfig;

const KEY_TYPE_GROUP: i8 = 0;
const KEY_TYPE_TRANSACTION: i8 = 1;
/// Kafka's segment size for this topic: small ones, so that compaction can begin early.
const OFFSETS_SEGMENT_BYTES: &str = "104857600";

/// Answers at once, unless the offsets topic is still to be made or taken over.
pub(crate) fn handle(call: Call, request: FindCoordinatorRequest) -> Flow {
    if request.key_type != KEY_TYPE_GROUP || call.broker.groups.is_leading() {
        let response = respond(&call, &request, Ok(()));
        return call.answer(&response);
    }
    blocking(move || {
        let led = lead(&call.broker);
        let response = respond(&call, &request, led);
        call.answer(&response);
    })
}

/// Makes the offsets topic if it is missing, and becomes its groups' coordinator.
fn lead(broker: &BrokerState) -> Result<(), ErrorCode> {
    let topic = match broker.topics.by_name(OFFSETS_TOPIC) {
        Some(topic) => topic,
        None => match broker.create_topics(vec![offsets_topic(broker)?]).pop() {
            Some(Ok(topic)) => topic,
            // Another connection was quicker.
            Some(Err(TopicChangeError::Exists(_))) => {
                broker.topics.by_name(OFFSETS_TOPIC).ok_or(ErrorCode::CoordinatorNotAvailable)?
            }
            Some(Err(error)) => {
                tracing::error!(%error, "cannot make {OFFSETS_TOPIC}: there are no consumer groups until it can be made");
                return Err(ErrorCode::CoordinatorNotAvailable);
            }
            None => return Err(ErrorCode::CoordinatorNotAvailable),
        },
    };
    broker.groups.lead(&topic.partitions);
    Ok(())
}

fn offsets_topic(broker: &BrokerState) -> Result<TopicSpec, ErrorCode> {
    let entries = [("cleanup.policy", "compact"), ("segment.bytes", OFFSETS_SEGMENT_BYTES)];
    let config = TopicConfig::new(entries, &broker.topic_defaults());
    let config = config.map_err(|error| {
        tracing::error!(%error, "a setting of {OFFSETS_TOPIC} is not taken");
        ErrorCode::CoordinatorNotAvailable
    })?;
    Ok(TopicSpec { name: OFFSETS_TOPIC.to_owned(), partitions: broker.config.offsets_partitions, config })
}

fn respond(call: &Call, request: &FindCoordinatorRequest, led: Result<(), ErrorCode>) -> FindCoordinatorResponse {
    let outcome = match request.key_type {
        KEY_TYPE_GROUP => led.map_err(|error| (error, "the offsets topic cannot be made; see the broker's log")),
        // The one code that clients give up on at once; at others they ask again until their own timeout.
        KEY_TYPE_TRANSACTION => {
            Err((ErrorCode::TransactionalIdAuthorizationFailed, "this broker has no transactions yet"))
        }
        _ => Err((ErrorCode::InvalidRequest, "this broker coordinates consumer groups only")),
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
