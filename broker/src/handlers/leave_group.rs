//! LeaveGroup (13), versions 0 to 5: members go. One before version 3, whose result is the response's error; several
//! from then on, each with a result of its own.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::leave_group::{MemberIdentity, MemberResponse};
use pillion_wire::messages::{LeaveGroupRequest, LeaveGroupResponse};

use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;
use crate::groups::event::{Leave, LeavingMember, WaiterId};
use crate::network::Responder;

/// Takes the members out; answered once an emptied group is durable.
pub(crate) fn handle(call: Call, request: LeaveGroupRequest) -> Flow {
    let version = call.version();
    let group_id: Arc<str> = Arc::from(request.group_id);
    let responder = call.responder;
    let identities = match version {
        ..3 => vec![MemberIdentity { member_id: request.member_id, ..MemberIdentity::default() }],
        _ => request.members,
    };
    let shard = match call.broker.groups.shard(&group_id) {
        Ok(_) if group_id.is_empty() => Err(ErrorCode::InvalidGroupId),
        found => found,
    };
    let shard = match shard {
        Ok(shard) => shard,
        Err(error) => {
            refuse(responder, error);
            return Flow::Done;
        }
    };
    let members = identities
        .iter()
        .map(|identity| LeavingMember {
            member_id: Arc::from(identity.member_id.as_str()),
            group_instance_id: identity.group_instance_id.as_deref().map(Arc::from),
            reason: identity.reason.clone(),
        })
        .collect();
    let reply = move |outcome: Result<Answer, _>| match outcome {
        Ok(Answer::Leave(results)) => answer(responder, version, identities, &results),
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("LeaveGroup was answered as another request"),
        Err(error) => refuse(responder, error),
    };
    shard.leave(&group_id, move |waiter: WaiterId| Leave { waiter, members }, Box::new(reply));
    Flow::Done
}

fn answer(responder: Responder, version: i16, identities: Vec<MemberIdentity>, results: &[ErrorCode]) {
    if version < 3 {
        refuse(responder, results.first().copied().unwrap_or(ErrorCode::None));
        return;
    }
    let member = |(identity, result): (MemberIdentity, &ErrorCode)| MemberResponse {
        member_id: identity.member_id,
        group_instance_id: identity.group_instance_id,
        error_code: result.code(),
    };
    let members = identities.into_iter().zip(results).map(member).collect();
    responder.answer(&LeaveGroupResponse { members, ..LeaveGroupResponse::default() });
}

/// An outcome for all members together.
fn refuse(responder: Responder, error: ErrorCode) {
    responder.answer(&LeaveGroupResponse { error_code: error.code(), ..LeaveGroupResponse::default() });
}
