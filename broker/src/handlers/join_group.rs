//! JoinGroup (11), versions 0 to 9: a member asks to be in its group's next generation.
//!
//! Answered when the generation begins, which may be a rebalance timeout away; the connection's later requests are
//! handled meanwhile, their answers wait. Versions 0 and 1 are kept for old clients (KAFKA-19444); 0 has no rebalance
//! timeout and takes the session timeout. From 4 on a dynamic member first learns its id (KIP-394), from 5 on it may be
//! static (KIP-345), from 9 on a returning static leader is told to skip the assignment (KIP-814).

use std::sync::Arc;

use pillion_wire::messages::join_group::JoinGroupResponseMember;
use pillion_wire::messages::{JoinGroupRequest, JoinGroupResponse};
use uuid::Uuid;

use crate::dispatch::{Call, Flow};
use crate::groups::action::{Answer, JoinAnswer};
use crate::groups::event::{Join, MemberProtocol, WaiterId};
use crate::network::Responder;

/// Parks the request with its group.
pub(crate) fn handle(call: Call, request: JoinGroupRequest) -> Flow {
    let version = call.version();
    let client_id: Arc<str> = Arc::from(call.header.client_id.as_deref().unwrap_or_default());
    let client_host: Arc<str> = Arc::from(format!("/{}", call.session.peer.ip()));
    let group_id: Arc<str> = Arc::from(request.group_id.as_str());
    let member_id: Arc<str> = Arc::from(request.member_id.as_str());
    let responder = call.responder;
    let shard = match call.broker.groups.shard(&group_id) {
        Ok(shard) => shard,
        Err(error) => {
            answer(responder, version, JoinAnswer::refusal(&member_id, error));
            return Flow::Done;
        }
    };
    let event_member_id = Arc::clone(&member_id);
    let join = move |waiter: WaiterId| Join {
        waiter,
        member_id: event_member_id,
        group_instance_id: request.group_instance_id.map(Arc::from),
        client_id,
        client_host,
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: request.rebalance_timeout_ms,
        protocol_type: Arc::from(request.protocol_type),
        protocols: request
            .protocols
            .into_iter()
            .map(|protocol| MemberProtocol { name: Arc::from(protocol.name), metadata: protocol.metadata })
            .collect(),
        requires_known_member_id: version >= 4,
        supports_skip_assignment: version >= 9,
        reason: request.reason,
        fresh_id: Uuid::new_v4(),
    };
    let reply = move |outcome: Result<Answer, _>| match outcome {
        Ok(Answer::Join(joined)) => answer(responder, version, joined),
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("JoinGroup was answered as another request"),
        Err(error) => answer(responder, version, JoinAnswer::refusal(&member_id, error)),
    };
    shard.join(&group_id, join, Box::new(reply));
    Flow::Done
}

fn answer(responder: Responder, version: i16, joined: JoinAnswer) {
    let member = |member: crate::groups::action::JoinedMember| JoinGroupResponseMember {
        member_id: member.member_id.to_string(),
        group_instance_id: member.group_instance_id.as_deref().map(str::to_owned),
        metadata: member.metadata,
    };
    let protocol_name = joined.protocol_name.as_deref().map(str::to_owned);
    responder.answer(&JoinGroupResponse {
        throttle_time_ms: 0,
        error_code: joined.error.code(),
        generation_id: joined.generation,
        protocol_type: joined.protocol_type.as_deref().map(str::to_owned),
        // Before version 7 there is no null.
        protocol_name: if version >= 7 { protocol_name } else { Some(protocol_name.unwrap_or_default()) },
        leader: joined.leader.to_string(),
        skip_assignment: joined.skip_assignment,
        member_id: joined.member_id.to_string(),
        members: joined.members.into_iter().map(member).collect(),
    });
}
