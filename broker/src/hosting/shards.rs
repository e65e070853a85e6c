//! All shards of an internal topic: which one an id is in, when time is due, and their coming and going.
//!
//! The topic is made with the first request that needs it; until then there are no shards, no timer runs, and nothing
//! is in memory. Invariant: locks are taken shard before partition, and none is held while answers are sent or
//! batches appended.

use std::sync::{Arc, OnceLock};

use pillion_wire::ErrorCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hosted::{Hosted, Outside};
use super::placement::partition_of;
use super::timer::{Alarm, Clock};
use super::{Shard, WaiterId};
use crate::catalogue::Topic;
use crate::partition::Partition;

/// The shards of one topic.
pub(crate) struct Shards<S: Shard> {
    limits: Arc<S::Limits>,
    outside: Outside<S>,
    pub(super) clock: Clock,
    pub(super) alarm: Arc<Alarm>,
    /// In order of partition.
    shards: OnceLock<Vec<Arc<Hosted<S>>>>,
}

impl<S: Shard> Shards<S> {
    /// None yet. `outside` carries out what the shards want done outside.
    pub(crate) fn new(limits: S::Limits, outside: Outside<S>) -> Self {
        Self {
            limits: Arc::new(limits),
            outside,
            clock: Clock::new(),
            alarm: Arc::new(Alarm::default()),
            shards: OnceLock::new(),
        }
    }

    /// Takes over the partitions of the topic, once, and reads them. Blocks while it reads; until a shard is read its
    /// requests are answered with COORDINATOR_LOAD_IN_PROGRESS. Must be called within the runtime, on a thread that
    /// may block.
    pub(crate) fn lead(&self, partitions: &[Arc<Partition>]) {
        let mut is_new = false;
        let shards = self.shards.get_or_init(|| {
            is_new = true;
            let host = |partition: &Arc<Partition>| {
                let (limits, alarm) = (Arc::clone(&self.limits), Arc::clone(&self.alarm));
                Arc::new(Hosted::new(Arc::clone(partition), limits, self.clock, alarm, Arc::clone(&self.outside)))
            };
            partitions.iter().map(host).collect()
        });
        if is_new {
            for shard in shards {
                shard.load();
            }
        }
    }

    /// Whether the topic has been taken over.
    pub(crate) fn is_leading(&self) -> bool {
        self.shards.get().is_some()
    }

    /// The shard of a group or transactional id.
    ///
    /// # Errors
    /// NOT_COORDINATOR while there is no topic: a client then looks for the coordinator, which makes it.
    pub(crate) fn of(&self, id: &str) -> Result<&Arc<Hosted<S>>, ErrorCode> {
        self.at(self.partition_of(id)?).ok_or(ErrorCode::NotCoordinator)
    }

    /// The partition of a group or transactional id.
    ///
    /// # Errors
    /// As [`Shards::of`].
    pub(crate) fn partition_of(&self, id: &str) -> Result<i32, ErrorCode> {
        let shards = self.shards.get().ok_or(ErrorCode::NotCoordinator)?;
        let count = u32::try_from(shards.len()).unwrap_or(u32::MAX);
        i32::try_from(partition_of(id, count)).map_err(|_| ErrorCode::NotCoordinator)
    }

    /// The shard of a partition.
    pub(crate) fn at(&self, partition: i32) -> Option<&Arc<Hosted<S>>> {
        self.shards.get()?.get(usize::try_from(partition).ok()?)
    }

    /// All shards, in order of partition.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Hosted<S>>> {
        self.shards.get().into_iter().flatten()
    }

    /// Begins to keep time, and takes over the topic if there is one; `tasks` joins both. Must be called within the
    /// runtime.
    pub(crate) fn start(self: &Arc<Self>, topic: Option<Arc<Topic>>, tasks: &TaskTracker, stop: CancellationToken) {
        tasks.spawn(Arc::clone(self).keep_time(stop));
        if let Some(topic) = topic {
            let shards = Arc::clone(self);
            tasks.spawn_blocking(move || shards.lead(&topic.partitions));
        }
    }

    /// Answers everyone who waits for others, and takes no more requests. What is on its way into the log is still
    /// answered when it is durable.
    pub(crate) fn stop(&self) {
        for shard in self.all() {
            shard.stop();
        }
    }
}

impl WaiterId {
    /// Stands for nobody: its answer goes nowhere.
    pub(crate) const NOBODY: Self = Self(0);
}
