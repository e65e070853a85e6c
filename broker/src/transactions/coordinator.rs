//! The transaction coordinator of this node: the ids' shards, hosted in the partitions of `__transaction_state`.
//!
//! It leads all of them. How a shard is hosted is in `hosting`; `markers` writes what ends transactions.

mod hosting;
mod markers;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use pillion_wire::ErrorCode;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::action::{Answer, Effect};
use super::event::{AddPartitions, End, Init, ProducerIdentity, Protocol, TopicPartition};
use super::limits::TransactionLimits;
use super::shard::TransactionShard;
use crate::catalogue::{Topic, Topics};
use crate::groups::coordinator::GroupCoordinator;
use crate::hosting::{Hosted, Reply, Shards};
use crate::partition::Partition;
use markers::MarkerWriter;

/// The topic that holds transactional ids.
pub(crate) const TRANSACTIONS_TOPIC: &str = "__transaction_state";

/// The shard of one partition of `__transaction_state`.
pub(crate) type HostedShard = Hosted<TransactionShard>;

/// Coordinates every transaction of the cluster, which is this node's.
pub(crate) struct TransactionCoordinator {
    shards: Arc<Shards<TransactionShard>>,
}

impl TransactionCoordinator {
    /// A coordinator without shards. Its markers go into `topics`, and `groups` hears of those that concern offsets.
    /// `coordinator_epoch` is the markers' proof against coordinators from before a restart.
    pub(crate) fn new(
        limits: TransactionLimits,
        topics: Arc<Topics>,
        groups: Arc<GroupCoordinator>,
        coordinator_epoch: i32,
    ) -> Self {
        let writer = Arc::new(MarkerWriter::new(topics, groups, coordinator_epoch));
        let outside = move |shard: &Arc<HostedShard>, incarnation, effect: Effect| match effect {
            Effect::WriteMarkers(markers) => writer.write(shard, incarnation, markers),
        };
        Self { shards: Arc::new(Shards::new(limits, Arc::new(outside))) }
    }

    /// As [`Shards::lead`].
    pub(crate) fn lead(&self, partitions: &[Arc<Partition>]) {
        self.shards.lead(partitions);
    }

    /// Whether the topic has been taken over.
    pub(crate) fn is_leading(&self) -> bool {
        self.shards.is_leading()
    }

    /// The shard of a transactional id.
    ///
    /// # Errors
    /// NOT_COORDINATOR while there is no topic: a client then looks for the coordinator, which makes it.
    pub(crate) fn shard(&self, transactional_id: &str) -> Result<&Arc<HostedShard>, ErrorCode> {
        self.shards.of(transactional_id)
    }

    /// Adds partitions to the transaction of a producer whose transactions have an epoch each; they are durably in it
    /// when this ends.
    ///
    /// # Errors
    /// As [`TransactionShard::add_partitions`]; or why the shard does not serve.
    pub(crate) async fn add(
        &self,
        transactional_id: &Arc<str>,
        producer: ProducerIdentity,
        partitions: Vec<TopicPartition>,
    ) -> Result<(), ErrorCode> {
        let (tell, told) = oneshot::channel();
        let add = |waiter| AddPartitions { waiter, producer, protocol: Protocol::EpochBump, partitions };
        let reply = move |outcome| {
            let _ = tell.send(outcome);
        };
        self.shard(transactional_id)?.add_partitions(transactional_id, add, Box::new(reply));
        match told.await {
            Ok(Ok(Answer::Added)) => Ok(()),
            Ok(Ok(Answer::Refused(error)) | Err(error)) => Err(error),
            Ok(Ok(_)) | Err(_) => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }

    /// All shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Arc<HostedShard>> {
        self.shards.all()
    }

    /// As [`Shards::start`].
    pub(crate) fn start(&self, topic: Option<Arc<Topic>>, tasks: &TaskTracker, stop: CancellationToken) {
        self.shards.start(topic, tasks, stop);
    }

    /// As [`Shards::stop`].
    pub(crate) fn stop(&self) {
        self.shards.stop();
    }
}

impl HostedShard {
    /// InitProducerId; `init` makes the event for a waiter.
    pub(crate) fn init(
        self: &Arc<Self>,
        transactional_id: &Arc<str>,
        init: impl FnOnce(crate::hosting::WaiterId) -> Init,
        reply: Reply<Answer>,
    ) {
        self.request(reply, |core, waiter, now, actions| core.init(transactional_id, init(waiter), now, actions));
    }

    /// AddPartitionsToTxn; as [`HostedShard::init`].
    pub(crate) fn add_partitions(
        self: &Arc<Self>,
        transactional_id: &Arc<str>,
        add: impl FnOnce(crate::hosting::WaiterId) -> AddPartitions,
        reply: Reply<Answer>,
    ) {
        self.request(reply, |core, waiter, now, actions| {
            core.add_partitions(transactional_id, add(waiter), now, actions);
        });
    }

    /// EndTxn; as [`HostedShard::init`].
    pub(crate) fn end(
        self: &Arc<Self>,
        transactional_id: &Arc<str>,
        end: impl FnOnce(crate::hosting::WaiterId) -> End,
        reply: Reply<Answer>,
    ) {
        self.request(reply, |core, waiter, now, actions| core.end(transactional_id, &end(waiter), now, actions));
    }

    /// As [`TransactionShard::verify`].
    ///
    /// # Errors
    /// As there; or why the shard does not serve.
    pub(crate) fn verify(
        &self,
        transactional_id: &Arc<str>,
        producer: ProducerIdentity,
        partition: &TopicPartition,
    ) -> Result<(), ErrorCode> {
        self.ask(|core, _| core.verify(transactional_id, producer, partition))?
    }
}
