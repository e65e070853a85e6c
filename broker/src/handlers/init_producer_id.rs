//! InitProducerId (22), versions 0 to 5: an id for an idempotent producer.
//!
//! A producer that comes with its own id and epoch, to recover from an error (KIP-360), gets a new id too: the epoch
//! bump it asks for is a new id's effect as well. Transactional ids are refused with INVALID_REQUEST until there is a
//! transaction coordinator.

use pillion_wire::ErrorCode;
use pillion_wire::messages::{InitProducerIdRequest, InitProducerIdResponse};

use super::blocking;
use crate::dispatch::{Call, Flow};

/// Gives out an id, which may wait for a block of them to become durable.
pub(crate) fn handle(call: Call, request: InitProducerIdRequest) -> Flow {
    if request.transactional_id.is_some() {
        let error_code = ErrorCode::InvalidRequest.code();
        return call.answer(&InitProducerIdResponse { error_code, producer_epoch: -1, ..Default::default() });
    }
    blocking(move || {
        let response = match call.broker.catalogue.next_producer_id() {
            Ok(producer_id) => InitProducerIdResponse { producer_id, producer_epoch: 0, ..Default::default() },
            Err(error) => {
                tracing::error!(%error, "cannot make producer ids durable");
                let error_code = ErrorCode::CoordinatorNotAvailable.code();
                InitProducerIdResponse { error_code, producer_epoch: -1, ..Default::default() }
            }
        };
        call.answer(&response);
    })
}
