//! SyncGroup (14), versions 0 to 5: the leader brings the generation's assignment, every member fetches its share.
//!
//! Answered once the assignment is durable.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::{SyncGroupRequest, SyncGroupResponse};

use crate::dispatch::{Call, Flow};
use crate::groups::action::{Answer, SyncAnswer};
use crate::groups::event::{Sync, WaiterId};
use crate::network::Responder;

/// Parks the request with its group.
pub(crate) fn handle(call: Call, request: SyncGroupRequest) -> Flow {
    let group_id: Arc<str> = Arc::from(request.group_id);
    let responder = call.responder;
    let shard = match call.broker.groups.shard(&group_id) {
        Ok(shard) => shard,
        Err(error) => {
            refuse(responder, error);
            return Flow::Done;
        }
    };
    let sync = move |waiter: WaiterId| Sync {
        waiter,
        member_id: Arc::from(request.member_id),
        group_instance_id: request.group_instance_id.map(Arc::from),
        generation: request.generation_id,
        protocol_type: request.protocol_type.map(Arc::from),
        protocol_name: request.protocol_name.map(Arc::from),
        assignments: request
            .assignments
            .into_iter()
            .map(|assignment| (assignment.member_id, assignment.assignment))
            .collect(),
    };
    let reply = move |outcome: Result<Answer, _>| match outcome {
        Ok(Answer::Sync(synced)) => answer(responder, synced),
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("SyncGroup was answered as another request"),
        Err(error) => refuse(responder, error),
    };
    shard.sync(&group_id, sync, Box::new(reply));
    Flow::Done
}

fn answer(responder: Responder, synced: SyncAnswer) {
    responder.answer(&SyncGroupResponse {
        throttle_time_ms: 0,
        error_code: synced.error.code(),
        protocol_type: synced.protocol_type.as_deref().map(str::to_owned),
        protocol_name: synced.protocol_name.as_deref().map(str::to_owned),
        assignment: synced.assignment,
    });
}

fn refuse(responder: Responder, error: ErrorCode) {
    responder.answer(&SyncGroupResponse { error_code: error.code(), ..SyncGroupResponse::default() });
}
