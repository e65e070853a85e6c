//! What can happen to a group: the requests of the classic protocol, freed of their wire form.
//!
//! Handlers build these from decoded requests; the state machine takes them with a group id and a `Moment`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::record::CommittedOffset;
pub(crate) use crate::hosting::WaiterId;
use crate::partition::MarkerGuard;

/// One assignment strategy a member offers, with the subscription it would use under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberProtocol {
    /// The strategy's name, such as `range`.
    pub(crate) name: Arc<str>,
    /// Opaque to the broker, apart from the topic names in a consumer's subscription.
    pub(crate) metadata: Bytes,
}

/// JoinGroup (key 11).
#[derive(Clone, Debug)]
pub(crate) struct Join {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Empty in a member's first request.
    pub(crate) member_id: Arc<str>,
    /// `group.instance.id` of a static member (KIP-345), from version 5.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// From the request header; begins a generated member id.
    pub(crate) client_id: Arc<str>,
    /// The peer's address, written as Kafka does: `/127.0.0.1`.
    pub(crate) client_host: Arc<str>,
    /// As sent, in milliseconds; checked against the limits.
    pub(crate) session_timeout_ms: i32,
    /// As sent, in milliseconds; negative (version 0 has no such field) means the session timeout.
    pub(crate) rebalance_timeout_ms: i32,
    /// `consumer` for consumers, `connect` for Connect workers.
    pub(crate) protocol_type: Arc<str>,
    /// In the member's order of preference.
    pub(crate) protocols: Vec<MemberProtocol>,
    /// From version 4 (KIP-394) a dynamic member must first learn its id, so that a retried first request leaves no ghost.
    pub(crate) requires_known_member_id: bool,
    /// From version 9 a returning static leader may be told to keep the assignment.
    pub(crate) supports_skip_assignment: bool,
    /// Why the client joins (KIP-800), for the log.
    pub(crate) reason: Option<String>,
    /// Fresh for every request: the random part of the member id, should one be made.
    pub(crate) fresh_id: Uuid,
}

/// SyncGroup (key 14).
#[derive(Clone, Debug)]
pub(crate) struct Sync {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// The member that asks.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// The generation its JoinGroup was answered with.
    pub(crate) generation: i32,
    /// From version 5; must then be the group's.
    pub(crate) protocol_type: Option<Arc<str>>,
    /// From version 5; must then be the group's.
    pub(crate) protocol_name: Option<Arc<str>>,
    /// Member id and assignment; only the leader's are read.
    pub(crate) assignments: Vec<(String, Bytes)>,
}

/// Heartbeat (key 12).
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    /// The member that lives.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// The generation it believes in.
    pub(crate) generation: i32,
}

/// LeaveGroup (key 13): one member before version 3, several from then on.
#[derive(Clone, Debug)]
pub(crate) struct Leave {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Answered in this order.
    pub(crate) members: Vec<LeavingMember>,
}

/// One member of a [`Leave`].
#[derive(Clone, Debug)]
pub(crate) struct LeavingMember {
    /// Empty when an administrator removes a static member by its instance id.
    pub(crate) member_id: Arc<str>,
    /// `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// Why it leaves (KIP-800), for the log.
    pub(crate) reason: Option<String>,
}

/// The producer of a transaction, as it names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Producer {
    /// Producer id.
    pub(crate) id: i64,
    /// Its epoch.
    pub(crate) epoch: i16,
    /// What the transaction coordinator was asked under, for the partition to see whether the answer still holds.
    pub(crate) guard: Option<MarkerGuard>,
}

/// A marker that the transaction coordinator had written into a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionEnd {
    /// Where it is in the log: everything of the producer before it belongs to the transaction.
    pub(crate) marker_offset: i64,
    /// Whether the transaction is committed; else it is aborted.
    pub(crate) is_committed: bool,
}

/// OffsetCommit (key 8), or TxnOffsetCommit (key 28).
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Empty for a consumer without group membership.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// −1 for a consumer without group membership.
    pub(crate) generation: i32,
    /// Whose transaction the offsets wait for; `None` for OffsetCommit.
    pub(crate) producer: Option<Producer>,
    /// From OffsetCommit 9 and TxnOffsetCommit 6 on an unknown group is GROUP_ID_NOT_FOUND; before, ILLEGAL_GENERATION.
    pub(crate) knows_group_id_not_found: bool,
    /// Answered in this order.
    pub(crate) offsets: Vec<PartitionOffset>,
}

/// One partition of a [`Commit`].
#[derive(Clone, Debug)]
pub(crate) struct PartitionOffset {
    /// The topic's name.
    pub(crate) topic: Arc<str>,
    /// The partition's index.
    pub(crate) partition: i32,
    /// What is to be remembered; its commit timestamp is set when the commit is accepted.
    pub(crate) committed: CommittedOffset,
}

/// OffsetDelete (key 47).
#[derive(Clone, Debug)]
pub(crate) struct DeleteOffsets {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Topic and partition; answered in this order.
    pub(crate) partitions: Vec<(Arc<str>, i32)>,
}

impl Join {
    /// How long a rebalance waits for this member, once it has heard of it.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        let timeout_ms =
            if self.rebalance_timeout_ms < 0 { self.session_timeout_ms } else { self.rebalance_timeout_ms };
        duration_of_ms(timeout_ms)
    }

    /// How long this member may be silent.
    pub(super) fn session_timeout(&self) -> Duration {
        duration_of_ms(self.session_timeout_ms)
    }
}

/// A timeout as the protocol sends it; negative counts as zero.
pub(super) fn duration_of_ms(timeout_ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}
