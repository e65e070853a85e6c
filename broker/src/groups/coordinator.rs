//! The group coordinator of this node: which shard a group is in, when time is due, and the shards' coming and going.
//!
//! It leads all of `__consumer_offsets`. The topic is made with the first FindCoordinator; until then there are no
//! shards, no timer runs, and nothing is in memory. Each partition's shard is a `HostedShard`: the pure
//! `GroupShard` under a lock, with its partition to write to.
//!
//! Invariant: locks are taken shard before partition, and none is held while answers are sent or batches appended.

mod appending;
pub(crate) mod hosted_shard;
mod load;
mod shard_state;
mod timer;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use pillion_wire::ErrorCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::limits::GroupLimits;
use super::moment::{Moment, MonotonicMs};
use super::placement::partition_of_group;
use crate::catalogue::Topic;
use crate::partition::Partition;
use hosted_shard::HostedShard;
use timer::Alarm;

/// The topic that holds groups and their committed offsets.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Coordinates every group of the cluster, which is this node's.
pub(crate) struct GroupCoordinator {
    limits: Arc<GroupLimits>,
    clock: Clock,
    alarm: Arc<Alarm>,
    /// In order of partition.
    shards: OnceLock<Vec<Arc<HostedShard>>>,
}

/// Both clocks, of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: tokio::time::Instant,
}

impl Clock {
    fn new() -> Self {
        Self { started: tokio::time::Instant::now() }
    }

    fn now(&self) -> Moment {
        let monotonic = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { monotonic: MonotonicMs(monotonic), wall_ms: crate::clock::now_ms() }
    }

    fn instant(&self, at: MonotonicMs) -> tokio::time::Instant {
        self.started + std::time::Duration::from_millis(at.0)
    }
}

impl GroupCoordinator {
    /// A coordinator without shards.
    pub(crate) fn new(limits: GroupLimits) -> Self {
        Self {
            limits: Arc::new(limits),
            clock: Clock::new(),
            alarm: Arc::new(Alarm::default()),
            shards: OnceLock::new(),
        }
    }

    /// Takes over the partitions of `__consumer_offsets`, once, and reads them. Blocks while it reads; until a shard
    /// is read its requests are answered with COORDINATOR_LOAD_IN_PROGRESS. Must be called within the runtime, on a
    /// thread that may block.
    pub(crate) fn lead(&self, partitions: &[Arc<Partition>]) {
        let mut is_new = false;
        let shards = self.shards.get_or_init(|| {
            is_new = true;
            partitions
                .iter()
                .map(|partition| {
                    let (limits, alarm) = (Arc::clone(&self.limits), Arc::clone(&self.alarm));
                    Arc::new(HostedShard::new(Arc::clone(partition), limits, self.clock, alarm))
                })
                .collect()
        });
        if is_new {
            for shard in shards {
                shard.load();
            }
        }
    }

    /// Whether the offsets topic has been taken over.
    pub(crate) fn is_leading(&self) -> bool {
        self.shards.get().is_some()
    }

    /// The shard of a group.
    ///
    /// # Errors
    /// NOT_COORDINATOR while there is no offsets topic: a client then looks for the coordinator, which makes it.
    pub(crate) fn shard(&self, group_id: &str) -> Result<&Arc<HostedShard>, ErrorCode> {
        let shards = self.shards.get().ok_or(ErrorCode::NotCoordinator)?;
        let count = u32::try_from(shards.len()).unwrap_or(u32::MAX);
        shards.get(partition_of_group(group_id, count) as usize).ok_or(ErrorCode::NotCoordinator)
    }

    /// A topic has been deleted, and is no longer among those served: its committed offsets go too.
    pub(crate) fn topic_deleted(&self, topic: &Arc<str>) {
        for shard in self.shards.get().into_iter().flatten() {
            shard.forget_topic(Arc::clone(topic));
        }
    }

    /// Begins to keep time, and takes over the offsets topic if there is one; `tasks` joins both. Must be called
    /// within the runtime.
    pub(crate) fn start(self: &Arc<Self>, offsets: Option<Arc<Topic>>, tasks: &TaskTracker, stop: CancellationToken) {
        tasks.spawn(Arc::clone(self).keep_time(stop));
        if let Some(offsets) = offsets {
            let coordinator = Arc::clone(self);
            tasks.spawn_blocking(move || coordinator.lead(&offsets.partitions));
        }
    }

    /// Answers everyone who waits for others, and takes no more requests. What is on its way into the log is still
    /// answered when it is durable.
    pub(crate) fn stop(&self) {
        for shard in self.shards.get().into_iter().flatten() {
            shard.stop();
        }
    }
}
