//! The markers that end a transaction, written into its partitions, and the word back when all are durable.
//!
//! Called once the transaction's fate is durable. Partitions of topics that are gone need no marker. Where one cannot be
//! written, the shard is told so, and asks again later; a partition that has its marker then is passed over.

use std::sync::Arc;

use parking_lot::Mutex;
use pillion_wire::records::EndTransactionMarker;

use super::super::action::Markers;
use super::super::event::{MarkersWritten, TopicPartition};
use super::HostedShard;
use crate::catalogue::Topics;
use crate::groups::coordinator::{GroupCoordinator, OFFSETS_TOPIC};
use crate::groups::event::TransactionEnd;
use crate::hosting::Incarnation;
use crate::log::MarkerError;
use crate::partition::{AppendError, Partition};

/// Writes markers.
pub(super) struct MarkerWriter {
    topics: Arc<Topics>,
    groups: Arc<GroupCoordinator>,
    coordinator_epoch: i32,
}

/// One transaction's markers on their way to the disk.
struct Writing {
    shard: Arc<HostedShard>,
    incarnation: Incarnation,
    transactional_id: Arc<str>,
    attempt: u64,
    producer_id: i64,
    progress: Mutex<Progress>,
}

struct Progress {
    /// Partitions nothing has been heard of.
    open: usize,
    /// Partitions that have no marker.
    missing: Vec<TopicPartition>,
}

impl MarkerWriter {
    pub(super) fn new(topics: Arc<Topics>, groups: Arc<GroupCoordinator>, coordinator_epoch: i32) -> Self {
        Self { topics, groups, coordinator_epoch }
    }

    /// Writes a transaction's markers, and tells `shard` when they are durable, if it is still the same `incarnation`.
    pub(super) fn write(&self, shard: &Arc<HostedShard>, incarnation: Incarnation, markers: Markers) {
        let Markers { transactional_id, attempt, producer, is_epoch_bumped, commit, partitions } = markers;
        let topics = self.topics.snapshot();
        let partitions: Vec<_> = partitions
            .iter()
            .filter_map(|(topic, index)| topics.by_name(topic)?.partition(*index).cloned())
            .filter(|partition| !partition.is_deleted())
            .collect();
        let progress = Mutex::new(Progress { open: partitions.len(), missing: Vec::new() });
        let (shard, producer_id) = (Arc::clone(shard), producer.id);
        let writing = Arc::new(Writing { shard, incarnation, transactional_id, attempt, producer_id, progress });
        if partitions.is_empty() {
            return writing.tell(Vec::new());
        }
        let end = |partition: &Arc<Partition>, coordinator_epoch| {
            let marker = EndTransactionMarker { commit, coordinator_epoch };
            partition.end_transaction(producer.id, producer.epoch, marker, is_epoch_bumped)
        };
        for partition in partitions {
            let written = match end(&partition, self.coordinator_epoch) {
                // An administrator's tool chose that epoch: there is no other coordinator than this one.
                Err(AppendError::Marker(MarkerError::CoordinatorFenced { current, .. })) => end(&partition, current),
                written => written,
            };
            match written {
                Ok(next_offset) => self.settle_when_durable(&writing, &partition, next_offset, commit),
                // It is there already, or one of a later epoch is, which ended the transaction too.
                Err(AppendError::Marker(_)) => {
                    let log_end_offset = partition.offsets().log_end_offset;
                    self.settle_when_durable(&writing, &partition, log_end_offset, commit);
                }
                Err(error) => writing.one_done(&partition, Err(error)),
            }
        }
    }

    fn settle_when_durable(&self, writing: &Arc<Writing>, partition: &Arc<Partition>, next_offset: i64, commit: bool) {
        let (writing, of) = (Arc::clone(writing), Arc::clone(partition));
        let groups = (&**partition.topic() == OFFSETS_TOPIC).then(|| Arc::clone(&self.groups));
        let settle = move |result: Result<(), AppendError>| {
            if let (Some(groups), Ok(())) = (groups, &result) {
                let end = TransactionEnd { marker_offset: next_offset - 1, is_committed: commit };
                groups.transaction_ended(of.index(), writing.producer_id, end);
            }
            writing.one_done(&of, result);
        };
        partition.when_durable(next_offset, Box::new(settle));
    }
}

impl Writing {
    fn one_done(&self, partition: &Partition, result: Result<(), AppendError>) {
        // A topic deleted meanwhile needs no marker.
        let failure = result.err().filter(|error| !matches!(error, AppendError::Deleted));
        if let Some(error) = &failure {
            let (topic, partition) = (partition.topic(), partition.index());
            tracing::warn!(
                transactional_id = %self.transactional_id, %topic, partition, %error,
                "a transaction's marker cannot be written here: the transaction stays open until it can be"
            );
        }
        let all_heard = {
            let mut progress = self.progress.lock();
            if failure.is_some() {
                progress.missing.push((Arc::clone(partition.topic()), partition.index()));
            }
            progress.open -= 1;
            (progress.open == 0).then(|| std::mem::take(&mut progress.missing))
        };
        if let Some(missing) = all_heard {
            self.tell(missing);
        }
    }

    fn tell(&self, missing: Vec<TopicPartition>) {
        let transactional_id = Arc::clone(&self.transactional_id);
        let written = MarkersWritten { transactional_id, attempt: self.attempt, missing };
        self.shard.tell_incarnation(self.incarnation, |core, now, actions| core.markers_written(written, now, actions));
    }
}
