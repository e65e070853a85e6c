//! What a group leaves in `__consumer_offsets`, freed of its byte form (`record_codec` has that).
//!
//! Invariant: committed offsets in memory are exactly the durable records applied in order, whether they were
//! applied as they became durable or replayed at start.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

/// One record of `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupRecord {
    /// The group as of its last settled generation; `None` deletes it.
    Metadata {
        /// The group's name.
        group_id: Arc<str>,
        /// Its members and their assignments.
        metadata: Option<GroupMetadata>,
    },
    /// A committed offset; `None` deletes it.
    Offset {
        /// The group's name.
        group_id: Arc<str>,
        /// The topic's name.
        topic: Arc<str>,
        /// The partition's index.
        partition: i32,
        /// Where the group goes on.
        committed: Option<CommittedOffset>,
    },
}

/// A group as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupMetadata {
    /// Empty for a group that never had members.
    pub(crate) protocol_type: Arc<str>,
    /// Counts completed joins.
    pub(crate) generation: i32,
    /// The chosen strategy; `None` without members.
    pub(crate) protocol_name: Option<Arc<str>>,
    /// The leader's member id; `None` without members.
    pub(crate) leader: Option<Arc<str>>,
    /// When the state last changed, milliseconds since the Unix epoch; `None` in records older than value version 2.
    pub(crate) state_since_ms: Option<i64>,
    /// Empty when the group is.
    pub(crate) members: Vec<MemberMetadata>,
}

/// A member as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberMetadata {
    /// Its id.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// From its join.
    pub(crate) client_id: Arc<str>,
    /// From its join.
    pub(crate) client_host: Arc<str>,
    /// How long a rebalance waits for it.
    pub(crate) rebalance_timeout: Duration,
    /// How long it may be silent.
    pub(crate) session_timeout: Duration,
    /// Its metadata under the chosen strategy.
    pub(crate) subscription: Bytes,
    /// What the leader gave it.
    pub(crate) assignment: Bytes,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedOffset {
    /// The next offset the group wants to read.
    pub(crate) offset: i64,
    /// Epoch of the last record read, or −1 where the client does not say.
    pub(crate) leader_epoch: i32,
    /// The client's own words.
    pub(crate) metadata: Arc<str>,
    /// When it was committed, milliseconds since the Unix epoch.
    pub(crate) commit_timestamp_ms: i64,
    /// When it expires, if the client chose a retention of its own (OffsetCommit 2–4).
    pub(crate) expire_timestamp_ms: Option<i64>,
    /// The topic's id where the client committed by id (OffsetCommit 10), else the nil UUID.
    pub(crate) topic_id: uuid::Uuid,
}

impl GroupRecord {
    /// About how many bytes it takes in the log.
    pub(super) fn approximate_bytes(&self) -> usize {
        const FIELDS: usize = 64;
        match self {
            Self::Metadata { metadata, .. } => {
                let members = metadata.iter().flat_map(|metadata| &metadata.members);
                members.map(|member| FIELDS + member.subscription.len() + member.assignment.len()).sum::<usize>()
                    + FIELDS
            }
            Self::Offset { committed, .. } => {
                committed.as_ref().map_or(0, |committed| committed.metadata.len()) + FIELDS
            }
        }
    }
}
