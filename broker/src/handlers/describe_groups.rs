//! DescribeGroups (15), versions 0 to 6: groups with their members; what these read and were given, while the group is
//! stable.
//!
//! A group that does not exist is `Dead`; from version 6 on it is GROUP_ID_NOT_FOUND as well (KIP-1043). Whoever asks for
//! the operations permitted is told of all that Kafka has for groups, for there is no authorizer.

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_groups::{DescribedGroup, DescribedGroupMember};
use pillion_wire::messages::{DescribeGroupsRequest, DescribeGroupsResponse};

use crate::dispatch::{Call, Flow};
use crate::groups::description::{GroupDescription, MemberDescription};

/// The first version that knows GROUP_ID_NOT_FOUND.
const KNOWS_NOT_FOUND: i16 = 6;
/// Bits of Kafka's `AclOperation` that apply to groups: READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10,
/// ALTER_CONFIGS 11.
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

/// Answers at once.
pub(crate) fn handle(call: Call, request: DescribeGroupsRequest) -> Flow {
    let authorized_operations = if request.include_authorized_operations { ALL_OPERATIONS } else { i32::MIN };
    let describe = |group_id: String| match describe(&call, group_id) {
        group if group.error_code == ErrorCode::None.code() => DescribedGroup { authorized_operations, ..group },
        failed => failed,
    };
    // A group named again is not told again: its members would make an answer a thousand times its question.
    let mut seen = HashSet::new();
    let groups = request.groups.into_iter().filter(|group_id| seen.insert(group_id.clone())).map(describe).collect();
    call.answer(&DescribeGroupsResponse { throttle_time_ms: 0, groups })
}

fn describe(call: &Call, group_id: String) -> DescribedGroup {
    let found = call.broker.groups.shard(&group_id).and_then(|shard| shard.ask(|core, _| core.describe(&group_id)));
    match found {
        Ok(Some(group)) => described(group_id, group),
        Ok(None) => not_found(group_id, call.version()),
        Err(error) => DescribedGroup { error_code: error.code(), group_id, ..DescribedGroup::default() },
    }
}

fn described(group_id: String, group: GroupDescription) -> DescribedGroup {
    let member = |member: MemberDescription| DescribedGroupMember {
        member_id: member.member_id.to_string(),
        group_instance_id: member.group_instance_id.as_deref().map(str::to_owned),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        member_metadata: member.metadata,
        member_assignment: member.assignment,
    };
    DescribedGroup {
        group_id,
        group_state: group.state.name().to_owned(),
        protocol_type: group.protocol_type.to_string(),
        protocol_data: group.protocol_name.to_string(),
        members: group.members.into_iter().map(member).collect(),
        ..DescribedGroup::default()
    }
}

fn not_found(group_id: String, version: i16) -> DescribedGroup {
    let dead = DescribedGroup { group_state: "Dead".to_owned(), ..DescribedGroup::default() };
    if version < KNOWS_NOT_FOUND {
        return DescribedGroup { group_id, ..dead };
    }
    let error_message = Some(format!("Group {group_id} not found."));
    DescribedGroup { error_code: ErrorCode::GroupIdNotFound.code(), error_message, group_id, ..dead }
}
