//! What a group wants done: answers to send and records to make durable.
//!
//! Invariant: an answer that depends on a record is inside the record's `Then`, so that it cannot leave before the
//! record is durable.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::ErrorCode;

use super::event::{Producer, WaiterId};
use super::record::GroupRecord;

/// One thing to do, in the order given.
pub(crate) type Action = crate::hosting::Action<Answer, Persist, Infallible>;

/// Records that belong together, and what they wait for.
#[derive(Debug)]
pub(crate) struct Persist {
    /// The group they belong to.
    pub(crate) group_id: Arc<str>,
    /// To be appended in this order, in one batch.
    pub(crate) records: Vec<GroupRecord>,
    /// The producer whose transaction they are part of: the batch is then its own, transactional, without a sequence,
    /// and may be refused alone ([`super::shard::GroupShard::persist_refused`]).
    pub(crate) producer: Option<Producer>,
    /// What happens when they are durable.
    pub(super) then: Then,
}

impl Persist {
    /// Records outside any transaction.
    pub(super) fn new(group_id: &Arc<str>, records: Vec<GroupRecord>, then: Then) -> Self {
        Self { group_id: Arc::clone(group_id), records, producer: None, then }
    }

    /// About how many bytes its records take.
    pub(super) fn approximate_bytes(&self) -> usize {
        self.records.iter().map(GroupRecord::approximate_bytes).sum()
    }
}

/// What follows once a [`Persist`] is durable.
#[derive(Debug)]
pub(super) enum Then {
    /// Nothing: the record is for the next start only.
    Nothing,
    /// Send an answer that was worked out before.
    Answer(WaiterId, Answer),
    /// The leader's assignment of this generation is in the log: hand it out.
    Assign { generation: i32, assignments: Vec<(Arc<str>, Bytes)> },
    /// A static member's new id is in the log: let it go on in the generation it came back to.
    AdmitStatic { member_id: Arc<str>, waiter: WaiterId, generation: i32, answer: JoinAnswer },
    /// The records' offsets may be fetched now, or wait for their transaction's end, and their commit be answered.
    Commit { waiter: WaiterId, results: Vec<ErrorCode> },
    /// The group and all its offsets are gone.
    DeleteGroup(WaiterId),
    /// Some of its offsets are gone.
    DeleteOffsets { waiter: WaiterId, results: Vec<ErrorCode> },
    /// Expired offsets (and, with the last of them, an empty group) are gone.
    Forget,
}

impl Then {
    /// Whether the records change offsets, and were counted as under way since they were given out.
    pub(super) fn is_about_offsets(&self) -> bool {
        match self {
            Self::Commit { .. } | Self::DeleteGroup(_) | Self::DeleteOffsets { .. } | Self::Forget => true,
            Self::Nothing | Self::Answer(..) | Self::Assign { .. } | Self::AdmitStatic { .. } => false,
        }
    }
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To JoinGroup.
    Join(JoinAnswer),
    /// To SyncGroup.
    Sync(SyncAnswer),
    /// To LeaveGroup: one result for each member named, in the request's order.
    Leave(Vec<ErrorCode>),
    /// To OffsetCommit and TxnOffsetCommit: one result for each partition named, in the request's order.
    Commit(Vec<ErrorCode>),
    /// To DeleteGroups, for one group.
    DeleteGroup(ErrorCode),
    /// To OffsetDelete: one result for each partition named, in the request's order, or one error for all.
    DeleteOffsets(Result<Vec<ErrorCode>, ErrorCode>),
}

/// JoinGroup's answer; the fields are the response's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinAnswer {
    /// NONE, or why the member is not in the generation.
    pub(crate) error: ErrorCode,
    /// −1 with an error.
    pub(crate) generation: i32,
    /// The group's protocol type.
    pub(crate) protocol_type: Option<Arc<str>>,
    /// The strategy all members use in this generation.
    pub(crate) protocol_name: Option<Arc<str>>,
    /// The leader's member id; empty with an error.
    pub(crate) leader: Arc<str>,
    /// True when a returning static leader must not compute assignments anew.
    pub(crate) skip_assignment: bool,
    /// The asking member's id.
    pub(crate) member_id: Arc<str>,
    /// All members, for the leader; empty for the others.
    pub(crate) members: Vec<JoinedMember>,
}

/// A member as the leader is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedMember {
    /// Its id.
    pub(crate) member_id: Arc<str>,
    /// Its `group.instance.id`, if static.
    pub(crate) group_instance_id: Option<Arc<str>>,
    /// Its subscription under the chosen strategy.
    pub(crate) metadata: Bytes,
}

/// SyncGroup's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyncAnswer {
    /// NONE, or why there is no assignment.
    pub(crate) error: ErrorCode,
    /// The group's protocol type.
    pub(crate) protocol_type: Option<Arc<str>>,
    /// The strategy in use.
    pub(crate) protocol_name: Option<Arc<str>>,
    /// The member's assignment; empty with an error.
    pub(crate) assignment: Bytes,
}

impl JoinAnswer {
    /// A refusal that tells the member which id it has, or that it has none.
    pub(crate) fn refusal(member_id: &Arc<str>, error: ErrorCode) -> Self {
        Self {
            error,
            generation: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Arc::from(""),
            skip_assignment: false,
            member_id: Arc::clone(member_id),
            members: Vec::new(),
        }
    }

    /// A refusal, as an answer.
    pub(super) fn refused(member_id: &Arc<str>, error: ErrorCode) -> Answer {
        Answer::Join(Self::refusal(member_id, error))
    }
}

impl SyncAnswer {
    /// A refusal.
    pub(super) fn refused(error: ErrorCode) -> Answer {
        Answer::Sync(Self { error, protocol_type: None, protocol_name: None, assignment: Bytes::new() })
    }
}
