//! Transactions of producers that commit offsets: how they end, in service and at replay.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist, Then};
use super::super::moment::Moment;
use super::GroupShard;

impl GroupShard {
    /// A marker of the producer is durable in the shard's partition: what the producer has pending is committed, or
    /// forgotten. To be called after [`GroupShard::persisted`] of everything before the marker.
    pub(crate) fn transaction_ended(
        &mut self,
        producer_id: i64,
        is_committed: bool,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        for group_id in self.offsets.transaction_ended(producer_id, is_committed) {
            self.forget_if_of_no_use(&group_id, now, actions);
        }
    }

    /// The log has refused the batch of a [`Persist`] that names a producer, because of that producer: a newer one has
    /// its place, or its transaction has ended. Nothing else is the matter.
    pub(crate) fn persist_refused(
        &mut self,
        persist: Persist,
        error: ErrorCode,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        let group_id = Arc::clone(&persist.group_id);
        if let Then::Commit { waiter, results } = persist.then {
            actions.push(Action::Answer(waiter, Answer::Commit(vec![error; results.len()])));
        }
        self.append_ended(&group_id, actions);
        self.forget_if_of_no_use(&group_id, now, actions);
    }

    /// Whether an open transaction may yet change the offset of a partition: a fetch that requires stable offsets is
    /// told UNSTABLE_OFFSET_COMMIT and comes again.
    pub(crate) fn is_pending(&self, group_id: &str, topic: &str, partition: i32) -> bool {
        self.offsets.is_pending(group_id, topic, partition)
    }

    /// Forgets a group that never had members once its last offset is gone.
    pub(super) fn forget_if_of_no_use(&mut self, group_id: &Arc<str>, now: Moment, actions: &mut Vec<Action>) {
        self.with_group(group_id, now, actions, |_, _| {});
    }
}
