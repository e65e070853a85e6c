//! What requests ask of a hosted group shard.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::{Commit, DeleteOffsets, Heartbeat, Join, Leave, Sync, WaiterId};
use super::super::shard::GroupShard;
use super::HostedShard;

/// Called once with an answer, or with why the shard cannot give one.
pub(crate) type Reply = crate::hosting::Reply<Answer>;

impl HostedShard {
    /// JoinGroup; `join` makes the event for a waiter.
    pub(crate) fn join(self: &Arc<Self>, group_id: &Arc<str>, join: impl FnOnce(WaiterId) -> Join, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.join(group_id, &join(waiter), now, actions));
    }

    /// SyncGroup; as [`HostedShard::join`].
    pub(crate) fn sync(self: &Arc<Self>, group_id: &Arc<str>, sync: impl FnOnce(WaiterId) -> Sync, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.sync(group_id, &sync(waiter), now, actions));
    }

    /// LeaveGroup; as [`HostedShard::join`].
    pub(crate) fn leave(self: &Arc<Self>, group_id: &Arc<str>, leave: impl FnOnce(WaiterId) -> Leave, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.leave(group_id, &leave(waiter), now, actions));
    }

    /// OffsetCommit and TxnOffsetCommit; as [`HostedShard::join`].
    pub(crate) fn commit(self: &Arc<Self>, group_id: &Arc<str>, commit: impl FnOnce(WaiterId) -> Commit, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.commit(group_id, commit(waiter), now, actions));
    }

    /// DeleteGroups, for one group; `reply` gets the answer.
    pub(crate) fn delete_group(self: &Arc<Self>, group_id: &Arc<str>, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.delete_group(group_id, waiter, now, actions));
    }

    /// OffsetDelete; as [`HostedShard::join`].
    pub(crate) fn delete_offsets(
        self: &Arc<Self>,
        group_id: &Arc<str>,
        deletion: impl FnOnce(WaiterId) -> DeleteOffsets,
        reply: Reply,
    ) {
        self.request(reply, |core, waiter, _, actions| core.delete_offsets(group_id, deletion(waiter), actions));
    }

    /// Heartbeat. While the shard is read members are told that all is well, as Kafka does.
    pub(crate) fn heartbeat(&self, group_id: &str, heartbeat: &Heartbeat) -> ErrorCode {
        match self.ask(|core, now| core.heartbeat(group_id, heartbeat, now)) {
            Ok(answer) => answer,
            Err(ErrorCode::CoordinatorLoadInProgress) => ErrorCode::None,
            Err(error) => error,
        }
    }

    /// Looks at committed offsets and hands what was seen to `respond`: at once, or, if `is_stable` and commits of
    /// the group are on their way, once they are durable.
    pub(crate) fn read_offsets<T: Send + 'static>(
        self: &Arc<Self>,
        group_id: &str,
        is_stable: bool,
        read: impl FnOnce(&GroupShard) -> T + Send + 'static,
        respond: impl FnOnce(Result<T, ErrorCode>) + Send + 'static,
    ) {
        self.read(|core| is_stable && core.is_commit_under_way(group_id), read, respond);
    }

    /// Forgets a topic's offsets, once those on their way are durable.
    pub(super) fn forget_topic(self: &Arc<Self>, topic: Arc<str>) {
        self.look_when_durable(Box::new(move |core, actions| {
            if let Ok(core) = core {
                core.forget_topic(&topic, actions);
            }
            Box::new(|| {})
        }));
    }
}
