//! One member of a group: what it offered, what it waits for, when it counts as gone.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::action::JoinedMember;
use super::event::{Join, MemberProtocol, WaiterId};
use super::limits::NEW_MEMBER_JOIN_TIMEOUT;
use super::moment::MonotonicMs;
use super::record::MemberMetadata;

/// Limits are checked as members join; a record from elsewhere may still name no timeout at all.
const SESSION_TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// A member of a group.
///
/// Invariant: it always has a session deadline, so that none outlives its client for ever. What it brought is kept as
/// [`super::members::Members::insert`] keeps it: in no request's frame.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: Arc<str>,
    pub(super) group_instance_id: Option<Arc<str>>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) rebalance_timeout: Duration,
    pub(super) session_timeout: Duration,
    /// In the member's order of preference.
    pub(super) protocols: Arc<[MemberProtocol]>,
    pub(super) assignment: Bytes,
    /// Its parked JoinGroup.
    pub(super) awaiting_join: Option<WaiterId>,
    /// Its parked SyncGroup.
    pub(super) awaiting_sync: Option<WaiterId>,
    /// True until its first JoinGroup is answered; until then being parked does not keep it alive.
    pub(super) is_new: bool,
    /// Order of arrival in this group; the lowest follows a leader that is gone.
    pub(super) arrival: u64,
    pub(super) session_deadline: MonotonicMs,
    /// Whether it has sent anything since this process knows of it.
    pub(super) is_heard: bool,
}

impl Member {
    /// A member that has just asked to join.
    pub(super) fn joining(id: Arc<str>, join: &Join, now: MonotonicMs) -> Self {
        Self {
            id,
            group_instance_id: join.group_instance_id.clone(),
            client_id: Arc::clone(&join.client_id),
            client_host: Arc::clone(&join.client_host),
            rebalance_timeout: join.rebalance_timeout(),
            session_timeout: join.session_timeout(),
            protocols: Arc::from(join.protocols.as_slice()),
            assignment: Bytes::new(),
            awaiting_join: Some(join.waiter),
            awaiting_sync: None,
            is_new: true,
            arrival: 0,
            session_deadline: now.after(NEW_MEMBER_JOIN_TIMEOUT),
            is_heard: true,
        }
    }

    /// A member read back from the log: only the chosen strategy is known of what it offered.
    pub(super) fn loaded(metadata: MemberMetadata, protocol_name: &Arc<str>, now: MonotonicMs) -> Self {
        Self {
            id: metadata.member_id,
            group_instance_id: metadata.group_instance_id,
            client_id: metadata.client_id,
            client_host: metadata.client_host,
            rebalance_timeout: metadata.rebalance_timeout,
            session_timeout: metadata.session_timeout,
            protocols: Arc::new([MemberProtocol { name: Arc::clone(protocol_name), metadata: metadata.subscription }]),
            assignment: metadata.assignment,
            awaiting_join: None,
            awaiting_sync: None,
            is_new: false,
            arrival: 0,
            session_deadline: now.after(metadata.session_timeout),
            is_heard: false,
        }
    }

    /// Whether a passed session deadline means nothing: the member waits for the group, not the group for it.
    pub(super) fn is_excused(&self) -> bool {
        !self.is_new && (self.awaiting_join.is_some() || self.awaiting_sync.is_some())
    }

    /// The member has sent something that shows it is current.
    pub(super) fn heard(&mut self, now: MonotonicMs) {
        self.is_heard = true;
        self.restart_session(now);
    }

    /// Starts the session timeout anew.
    pub(super) fn restart_session(&mut self, now: MonotonicMs) {
        self.session_deadline = now.after(self.session_timeout.max(SESSION_TIMEOUT_MIN));
    }

    /// Whether the member offers exactly these strategies, in this order.
    pub(super) fn offers_exactly(&self, protocols: &[MemberProtocol]) -> bool {
        *self.protocols == *protocols
    }

    /// Its subscription under a strategy; empty if it does not offer it.
    pub(super) fn metadata_for(&self, protocol_name: &str) -> Bytes {
        self.protocols
            .iter()
            .find(|protocol| *protocol.name == *protocol_name)
            .map(|protocol| protocol.metadata.clone())
            .unwrap_or_default()
    }

    /// The member as the leader is told of it.
    pub(super) fn as_joined(&self, protocol_name: &str) -> JoinedMember {
        JoinedMember {
            member_id: Arc::clone(&self.id),
            group_instance_id: self.group_instance_id.clone(),
            metadata: self.metadata_for(protocol_name),
        }
    }

    /// The member as it is written, with the assignment it is to have.
    pub(super) fn as_metadata(&self, protocol_name: &str, assignment: Bytes) -> MemberMetadata {
        MemberMetadata {
            member_id: Arc::clone(&self.id),
            group_instance_id: self.group_instance_id.clone(),
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
            rebalance_timeout: self.rebalance_timeout,
            session_timeout: self.session_timeout,
            subscription: self.metadata_for(protocol_name),
            assignment,
        }
    }
}
