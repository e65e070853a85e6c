//! InitProducerId (22), versions 0 to 5: an id and epoch for an idempotent or transactional producer.
//!
//! With a transactional id the answer waits for what its last producer left open to be aborted. A merely idempotent
//! producer that comes with its own id and epoch, to recover from an error (KIP-360), gets a new id: the epoch bump it
//! asks for is a new id's effect as well. Before version 4, PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::{InitProducerIdRequest, InitProducerIdResponse};

use super::{blocking, fenced_since};
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::network::Responder;
use crate::transactions::action::Answer;
use crate::transactions::event::{Init, ProducerIdentity};

/// The version from which on there is PRODUCER_FENCED.
const FENCED_SINCE: i16 = 4;

/// Gives out an id, which may wait for a block of them to become durable.
pub(crate) fn handle(call: Call, request: InitProducerIdRequest) -> Flow {
    let current = match (request.producer_id, request.producer_epoch) {
        (-1, -1) => None,
        // An epoch without an id, or the other way round: Kafka's word for it, too.
        (-1, _) | (_, -1) => return call.answer(&refusal(ErrorCode::InvalidRequest)),
        (id, epoch) => Some(ProducerIdentity { id, epoch }),
    };
    let version = call.version();
    if let Some(transactional_id) = request.transactional_id {
        let transactional_id: Arc<str> = transactional_id.into();
        let timeout_ms = request.transaction_timeout_ms;
        let asked = Asked { broker: call.broker, transactional_id, timeout_ms, current, version };
        asked.ask(None, call.responder);
        return Flow::Done;
    }
    blocking(move || {
        let response = match fresh_producer_id(&call.broker) {
            Ok(producer_id) => InitProducerIdResponse { producer_id, producer_epoch: 0, ..Default::default() },
            Err(error) => refusal(error),
        };
        call.answer(&response);
    })
}

/// A transactional request.
struct Asked {
    broker: Arc<BrokerState>,
    transactional_id: Arc<str>,
    timeout_ms: i32,
    current: Option<ProducerIdentity>,
    version: i16,
}

impl Asked {
    /// Asks the coordinator, and once more with an id if it needs one.
    fn ask(self, fresh_producer_id: Option<i64>, responder: Responder) {
        let broker = Arc::clone(&self.broker);
        let shard = match broker.transactions.shard(&self.transactional_id) {
            Ok(shard) => shard,
            Err(error) => return responder.answer(&refusal(error)),
        };
        let (transactional_id, timeout_ms, current) =
            (Arc::clone(&self.transactional_id), self.timeout_ms, self.current);
        let init = |waiter| Init { waiter, timeout_ms, current, fresh_producer_id };
        let threads = Arc::clone(shard);
        let reply = move |outcome: Result<Answer, ErrorCode>| match outcome {
            Ok(Answer::NeedsProducerId) => {
                threads.spawn_blocking(move || match self::fresh_producer_id(&self.broker) {
                    Ok(id) => self.ask(Some(id), responder),
                    Err(error) => responder.answer(&refusal(error)),
                });
            }
            Ok(Answer::Producer(ProducerIdentity { id, epoch })) => {
                let response = InitProducerIdResponse { producer_id: id, producer_epoch: epoch, ..Default::default() };
                responder.answer(&response);
            }
            Ok(Answer::Refused(error)) | Err(error) => {
                responder.answer(&refusal(fenced_since(FENCED_SINCE, self.version, error)));
            }
            // The responder closes the connection: there is nothing true to say.
            Ok(Answer::Added) => tracing::error!("InitProducerId was answered as another request"),
        };
        shard.init(&transactional_id, init, Box::new(reply));
    }
}

/// A producer id that was never given out. Blocks.
///
/// # Errors
/// COORDINATOR_NOT_AVAILABLE when ids cannot be made durable.
pub(super) fn fresh_producer_id(broker: &BrokerState) -> Result<i64, ErrorCode> {
    broker.catalogue.next_producer_id().map_err(|error| {
        tracing::error!(%error, "cannot make producer ids durable");
        ErrorCode::CoordinatorNotAvailable
    })
}

fn refusal(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: error.code(), producer_epoch: -1, ..Default::default() }
}
