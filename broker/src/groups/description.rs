//! What a group looks like from outside: for ListGroups and DescribeGroups.

use std::sync::Arc;

use bytes::Bytes;

use super::group::GroupState;

/// A group as DescribeGroups tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupDescription {
    /// Where it stands.
    pub(crate) state: GroupState,
    /// Empty for a group that never had members.
    pub(crate) protocol_type: Arc<str>,
    /// The strategy in use; empty unless stable.
    pub(crate) protocol_name: Arc<str>,
    /// In order of member id.
    pub(crate) members: Vec<MemberDescription>,
}

/// A member as DescribeGroups tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberDescription {
    /// Its id.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// From its join.
    pub(crate) client_id: Arc<str>,
    /// From its join.
    pub(crate) client_host: Arc<str>,
    /// Its subscription under the chosen strategy; empty unless the group is stable.
    pub(crate) metadata: Bytes,
    /// Its assignment; empty unless the group is stable.
    pub(crate) assignment: Bytes,
}

/// A group as ListGroups tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedGroup {
    /// The group's name.
    pub(crate) group_id: Arc<str>,
    /// Empty for a group that never had members.
    pub(crate) protocol_type: Arc<str>,
    /// Where it stands.
    pub(crate) state: GroupState,
}
