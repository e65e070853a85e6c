//! What a consumer group commits, and on whose behalf.

/// A member of a consumer group, on whose behalf offsets are committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupMetadata {
    /// The group's name.
    pub group_id: String,
    /// The generation the member is in; −1 commits from outside the group.
    pub generation_id: i32,
    /// The member's id; empty from outside the group.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    pub group_instance_id: Option<String>,
}

impl GroupMetadata {
    /// Commits from outside a group: nothing keeps another from committing, too.
    #[must_use]
    pub fn outside(group_id: impl Into<String>) -> Self {
        Self { group_id: group_id.into(), generation_id: -1, member_id: String::new(), group_instance_id: None }
    }
}

/// How far a partition has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// The leader epoch of the last record read; −1 when unknown.
    pub leader_epoch: i32,
    /// Text to be kept with it.
    pub metadata: Option<String>,
}
