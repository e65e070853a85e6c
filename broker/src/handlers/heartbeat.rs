//! Heartbeat (12), versions 0 to 4: a member lives, and learns whether it must rejoin. Answered at once.

use std::sync::Arc;

use pillion_wire::messages::{HeartbeatRequest, HeartbeatResponse};

use crate::dispatch::{Call, Flow};
use crate::groups::event::Heartbeat;

/// Answers with where the member stands.
pub(crate) fn handle(call: Call, request: HeartbeatRequest) -> Flow {
    let heartbeat = Heartbeat {
        member_id: Arc::from(request.member_id),
        group_instance_id: request.group_instance_id.map(Arc::from),
        generation: request.generation_id,
    };
    let error = match call.broker.groups.shard(&request.group_id) {
        Ok(shard) => shard.heartbeat(&request.group_id, &heartbeat),
        Err(error) => error,
    };
    call.answer(&HeartbeatResponse { throttle_time_ms: 0, error_code: error.code() })
}
