//! Transactions of producers that commit offsets, and how they end.
//!
//! A marker is told of by whoever had it written, and may be told of before the records in front of it are: their
//! reports come from other threads. Such ends are kept until nothing of the producer is on its way.

use std::collections::HashMap;
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist, Then};
use super::super::event::TransactionEnd;
use super::super::moment::Moment;
use super::GroupShard;

/// Producers with records on their way into the log.
#[derive(Debug, Default)]
pub(super) struct ProducersUnderWay {
    by_id: HashMap<i64, UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    appends: usize,
    /// Markers told of meanwhile, in order of their offsets.
    ends: Vec<TransactionEnd>,
}

impl ProducersUnderWay {
    /// Records of a producer are given out.
    pub(super) fn begun(&mut self, producer_id: i64) {
        self.by_id.entry(producer_id).or_default().appends += 1;
    }

    /// They are durable, the first at `record_offset`, or refused (`None`). Answers how their transaction has ended, if
    /// it has.
    pub(super) fn ended(&mut self, producer_id: i64, record_offset: Option<i64>) -> Option<TransactionEnd> {
        let under_way = self.by_id.get_mut(&producer_id)?;
        under_way.appends -= 1;
        let mut ends = under_way.ends.iter();
        let end = record_offset.and_then(|offset| ends.find(|end| end.marker_offset > offset)).copied();
        if under_way.appends == 0 {
            self.by_id.remove(&producer_id);
        }
        end
    }

    fn transaction_ended(&mut self, producer_id: i64, end: TransactionEnd) {
        if let Some(under_way) = self.by_id.get_mut(&producer_id) {
            let behind = under_way.ends.partition_point(|earlier| earlier.marker_offset < end.marker_offset);
            under_way.ends.insert(behind, end);
        }
    }
}

impl GroupShard {
    /// A marker of the producer is durable in the shard's partition: what the producer has pending is committed, or
    /// forgotten.
    pub(crate) fn transaction_ended(
        &mut self,
        producer_id: i64,
        end: TransactionEnd,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        self.producers_under_way.transaction_ended(producer_id, end);
        for group_id in self.offsets.transaction_ended(producer_id, end) {
            self.forget_if_of_no_use(&group_id, now, actions);
        }
    }

    /// The log has refused the batch of a [`Persist`] because of its producer: a newer one has its place, or its
    /// transaction has ended. Nothing else is the matter.
    pub(crate) fn persist_refused(
        &mut self,
        persist: Persist,
        error: ErrorCode,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        let Persist { group_id, producer, then, .. } = persist;
        if let Some(producer) = producer {
            self.producers_under_way.ended(producer.id, None);
        }
        if let Then::Commit { waiter, results } = then {
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
