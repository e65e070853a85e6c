//! AddOffsetsToTxn (25), versions 0 to 4: takes a group's offsets into a transaction.
//!
//! What is taken in is the partition of `__consumer_offsets` the group lives in. Before version 2, PRODUCER_FENCED is
//! called INVALID_PRODUCER_EPOCH.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use super::fenced_since;
use crate::dispatch::{Call, Flow};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::transactions::action::Answer;
use crate::transactions::event::{AddPartitions, ProducerIdentity, Protocol};

/// The version from which on there is PRODUCER_FENCED.
const FENCED_SINCE: i16 = 2;

/// Takes it in.
pub(crate) fn handle(call: Call, request: AddOffsetsToTxnRequest) -> Flow {
    let version = call.version();
    let refusal = |error: ErrorCode| AddOffsetsToTxnResponse { error_code: error.code(), ..Default::default() };
    let transactional_id: Arc<str> = request.transactional_id.into();
    let partition = call.broker.groups.partition_of(&request.group_id);
    let asked = partition.and_then(|partition| Ok((partition, call.broker.transactions.shard(&transactional_id)?)));
    let (partition, shard) = match asked {
        Ok(asked) => asked,
        Err(error) => return call.answer(&refusal(error)),
    };
    let responder = call.responder;
    let add = |waiter| AddPartitions {
        waiter,
        producer: ProducerIdentity { id: request.producer_id, epoch: request.producer_epoch },
        protocol: Protocol::Classic,
        partitions: vec![(Arc::from(OFFSETS_TOPIC), partition)],
    };
    let reply = move |outcome: Result<Answer, ErrorCode>| match outcome {
        Ok(Answer::Added) => responder.answer(&AddOffsetsToTxnResponse::default()),
        Ok(Answer::Refused(error)) | Err(error) => {
            responder.answer(&refusal(fenced_since(FENCED_SINCE, version, error)));
        }
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("AddOffsetsToTxn was answered as another request"),
    };
    shard.add_partitions(&transactional_id, add, Box::new(reply));
    Flow::Done
}
