//! ListGroups (16), versions 0 to 5: every group there is; from version 4 on of some states only (KIP-518), from version
//! 5 on of some types (KIP-848). All groups here are of type `classic`.
//!
//! While a partition of `__consumer_offsets` is being read the answer is COORDINATOR_LOAD_IN_PROGRESS: a list with gaps
//! would pass for a whole one.

use std::collections::HashMap;

use pillion_wire::ErrorCode;
use pillion_wire::messages::list_groups::ListedGroup;
use pillion_wire::messages::{ListGroupsRequest, ListGroupsResponse};

use crate::dispatch::{Call, Flow};

/// The one type of groups.
const CLASSIC: &str = "classic";

/// Answers at once.
pub(crate) fn handle(call: Call, request: ListGroupsRequest) -> Flow {
    let response = match list(&call, &request) {
        Ok(groups) => ListGroupsResponse { groups, ..ListGroupsResponse::default() },
        Err(error) => ListGroupsResponse { error_code: error.code(), ..ListGroupsResponse::default() },
    };
    call.answer(&response)
}

/// Names are compared without regard to case, as in Kafka; those of no state or type match nothing.
fn list(call: &Call, request: &ListGroupsRequest) -> Result<Vec<ListedGroup>, ErrorCode> {
    let is_wanted = |wanted: &[String], name: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted.trim().eq_ignore_ascii_case(name))
    };
    let mut listed = Vec::new();
    // Asked once for each state: filters may be many, and so may groups.
    let mut judged: HashMap<&str, bool> = HashMap::new();
    let mut is_wanted_state =
        |state: &'static str| *judged.entry(state).or_insert_with(|| is_wanted(&request.states_filter, state));
    if !is_wanted(&request.types_filter, CLASSIC) {
        return Ok(listed);
    }
    for shard in call.broker.groups.shards() {
        let groups = shard.ask(|core, _| core.list())?;
        let wanted = groups.into_iter().filter(|group| is_wanted_state(group.state.name()));
        listed.extend(wanted.map(|group| ListedGroup {
            group_id: group.group_id.to_string(),
            protocol_type: group.protocol_type.to_string(),
            group_state: group.state.name().to_owned(),
            group_type: CLASSIC.to_owned(),
        }));
    }
    Ok(listed)
}
