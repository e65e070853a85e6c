//! The group coordinator of this node: the groups' shards, hosted in the partitions of `__consumer_offsets`.
//!
//! It leads all of them. What is asked of a shard by requests is in `requests`, how a shard is hosted in `hosting`.

mod hosting;
mod requests;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use pillion_wire::ErrorCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event::TransactionEnd;
use super::limits::GroupLimits;
use super::shard::GroupShard;
use crate::catalogue::Topic;
use crate::hosting::{Hosted, Shards};
use crate::partition::Partition;

/// The topic that holds groups and their committed offsets.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// The shard of one partition of `__consumer_offsets`.
pub(crate) type HostedShard = Hosted<GroupShard>;

/// Coordinates every group of the cluster, which is this node's.
pub(crate) struct GroupCoordinator {
    shards: Arc<Shards<GroupShard>>,
}

impl GroupCoordinator {
    /// A coordinator without shards.
    pub(crate) fn new(limits: GroupLimits) -> Self {
        // Groups want nothing done outside of their partition.
        let outside = Arc::new(|_: &Arc<HostedShard>, _, effect: std::convert::Infallible| match effect {});
        Self { shards: Arc::new(Shards::new(limits, outside)) }
    }

    /// As [`Shards::lead`].
    pub(crate) fn lead(&self, partitions: &[Arc<Partition>]) {
        self.shards.lead(partitions);
    }

    /// Whether the offsets topic has been taken over.
    pub(crate) fn is_leading(&self) -> bool {
        self.shards.is_leading()
    }

    /// The shard of a group.
    ///
    /// # Errors
    /// NOT_COORDINATOR while there is no offsets topic: a client then looks for the coordinator, which makes it.
    pub(crate) fn shard(&self, group_id: &str) -> Result<&Arc<HostedShard>, ErrorCode> {
        self.shards.of(group_id)
    }

    /// A topic has been deleted, and is no longer among those served: its committed offsets go too.
    pub(crate) fn topic_deleted(&self, topic: &Arc<str>) {
        for shard in self.shards.all() {
            shard.forget_topic(Arc::clone(topic));
        }
    }

    /// All shards, in order of partition; none while there is no offsets topic.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Arc<HostedShard>> {
        self.shards.all()
    }

    /// The partition of `__consumer_offsets` a group's offsets are in, for the transaction that commits some.
    ///
    /// # Errors
    /// As [`GroupCoordinator::shard`].
    pub(crate) fn partition_of(&self, group_id: &str) -> Result<i32, ErrorCode> {
        self.shards.partition_of(group_id)
    }

    /// The transaction coordinator had a marker written into a partition of `__consumer_offsets`, and it is durable: what
    /// the producer has committed there with its transaction counts from now on, or never will. To be called before the
    /// transaction's end is answered to the client.
    pub(crate) fn transaction_ended(&self, partition: i32, producer_id: i64, end: TransactionEnd) {
        if let Some(shard) = self.shards.at(partition) {
            shard.tell(|core, now, actions| core.transaction_ended(producer_id, end, now, actions));
        }
    }

    /// As [`Shards::start`].
    pub(crate) fn start(&self, offsets: Option<Arc<Topic>>, tasks: &TaskTracker, stop: CancellationToken) {
        self.shards.start(offsets, tasks, stop);
    }

    /// As [`Shards::stop`].
    pub(crate) fn stop(&self) {
        self.shards.stop();
    }
}
