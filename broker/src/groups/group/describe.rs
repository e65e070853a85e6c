//! A group as others see it. While it rebalances, what its members bring and get is nobody's business yet.

use std::sync::Arc;

use bytes::Bytes;

use super::super::description::{GroupDescription, ListedGroup, MemberDescription};
use super::super::member::Member;
use super::{Group, GroupState};

impl Group {
    pub(in super::super) fn list(&self) -> ListedGroup {
        ListedGroup { group_id: Arc::clone(&self.id), protocol_type: self.protocol_type_or_empty(), state: self.state }
    }

    pub(in super::super) fn describe(&self) -> GroupDescription {
        let is_stable = self.state == GroupState::Stable;
        let protocol_name = self.protocol_name.clone().filter(|_| is_stable).unwrap_or_else(|| Arc::from(""));
        let member = |member: &Member| MemberDescription {
            member_id: Arc::clone(&member.id),
            group_instance_id: member.group_instance_id.clone(),
            client_id: Arc::clone(&member.client_id),
            client_host: Arc::clone(&member.client_host),
            metadata: if is_stable { member.metadata_for(&protocol_name) } else { Bytes::new() },
            assignment: if is_stable { member.assignment.clone() } else { Bytes::new() },
        };
        let members = self.members.iter().map(member).collect();
        let protocol_type = self.protocol_type_or_empty();
        GroupDescription { state: self.state, protocol_type, protocol_name, members }
    }

    fn protocol_type_or_empty(&self) -> Arc<str> {
        self.protocol_type.clone().unwrap_or_else(|| Arc::from(""))
    }
}
