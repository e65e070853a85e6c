//! DeleteGroups (42), versions 0 to 3: empty groups go, with all they have committed.
//!
//! Each group has a result of its own, given once its deletion is durable: NON_EMPTY_GROUP while it has members,
//! GROUP_ID_NOT_FOUND for one that does not exist. A group named twice is deleted and answered once, as in Kafka; messages
//! (version 3) are left out, as there.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_groups::DeletableGroupResult;
use pillion_wire::messages::{DeleteGroupsRequest, DeleteGroupsResponse};

use super::gathering::Gathering;
use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;

/// Asks each group's shard, and answers when all have.
pub(crate) fn handle(call: Call, request: DeleteGroupsRequest) -> Flow {
    let mut seen = std::collections::HashSet::new();
    let group_ids: Vec<Arc<str>> = request.groups_names.into_iter().map(Arc::from).collect();
    let group_ids: Vec<Arc<str>> = group_ids.into_iter().filter(|group_id| seen.insert(Arc::clone(group_id))).collect();
    let responder = call.responder;
    let gathering = Arc::new(Gathering::new(group_ids.len(), move |results| {
        responder.answer(&DeleteGroupsResponse { throttle_time_ms: 0, results });
    }));
    for (position, group_id) in group_ids.into_iter().enumerate() {
        let (gathering, named) = (Arc::clone(&gathering), Arc::clone(&group_id));
        let put = move |error: ErrorCode| {
            let (group_id, error_code) = (named.to_string(), error.code());
            gathering.put(position, DeletableGroupResult { group_id, error_code, error_message: None });
        };
        match call.broker.groups.shard(&group_id) {
            Ok(shard) => {
                let reply = move |outcome: Result<Answer, _>| match outcome {
                    Ok(Answer::DeleteGroup(error)) | Err(error) => put(error),
                    // Without its part the request has no answer: there is nothing true to say.
                    Ok(_) => tracing::error!("DeleteGroups was answered as another request"),
                };
                shard.delete_group(&group_id, Box::new(reply));
            }
            Err(error) => put(error),
        }
    }
    Flow::Done
}
