//! EndTxn (26), versions 0 to 5: commits or aborts a producer's transaction.
//!
//! Answered once all markers are durable, so that whoever reads then sees it. From version 5 on the answer brings the
//! next transaction's epoch (KIP-890). Before version 2, PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::{EndTxnRequest, EndTxnResponse};

use super::fenced_since;
use super::init_producer_id::fresh_producer_id;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::network::Responder;
use crate::transactions::action::Answer;
use crate::transactions::event::{End, ProducerIdentity, Protocol};

/// The version from which on there is PRODUCER_FENCED.
const FENCED_SINCE: i16 = 2;
/// The version with which a client says that its transactions have an epoch each.
const EPOCH_BUMP_SINCE: i16 = 5;

/// Decides it.
pub(crate) fn handle(call: Call, request: EndTxnRequest) -> Flow {
    let version = call.version();
    ask(call.broker, request, version, None, call.responder);
    Flow::Done
}

/// Asks the coordinator, and once more with an id if it needs one.
fn ask(
    broker: Arc<BrokerState>,
    request: EndTxnRequest,
    version: i16,
    fresh_producer_id: Option<i64>,
    responder: Responder,
) {
    let transactional_id: Arc<str> = Arc::from(&*request.transactional_id);
    let EndTxnRequest { producer_id: id, producer_epoch: epoch, committed: commit, .. } = request;
    let protocol = if version >= EPOCH_BUMP_SINCE { Protocol::EpochBump } else { Protocol::Classic };
    let of_broker = Arc::clone(&broker);
    let shard = match of_broker.transactions.shard(&transactional_id) {
        Ok(shard) => shard,
        Err(error) => return responder.answer(&refusal(error)),
    };
    let producer = ProducerIdentity { id, epoch };
    let end = |waiter| End { waiter, producer, protocol, commit, fresh_producer_id };
    let threads = Arc::clone(shard);
    let reply = move |outcome: Result<Answer, ErrorCode>| match outcome {
        Ok(Answer::NeedsProducerId) => {
            threads.spawn_blocking(move || match self::fresh_producer_id(&broker) {
                Ok(id) => ask(broker, request, version, Some(id), responder),
                Err(error) => responder.answer(&refusal(error)),
            });
        }
        Ok(Answer::Producer(ProducerIdentity { id, epoch })) => {
            responder.answer(&EndTxnResponse { producer_id: id, producer_epoch: epoch, ..Default::default() });
        }
        Ok(Answer::Refused(error)) | Err(error) => {
            responder.answer(&refusal(fenced_since(FENCED_SINCE, version, error)));
        }
        // The responder closes the connection: there is nothing true to say.
        Ok(Answer::Added) => tracing::error!("EndTxn was answered as another request"),
    };
    shard.end(&transactional_id, end, Box::new(reply));
}

fn refusal(error: ErrorCode) -> EndTxnResponse {
    EndTxnResponse { error_code: error.code(), ..EndTxnResponse::default() }
}
