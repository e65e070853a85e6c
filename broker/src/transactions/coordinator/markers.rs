//! The markers that end a transaction, written into its partitions, and the word back when all are durable.
//!
//! Called once the transaction's fate is durable. Partitions of topics that are gone need no marker. Where one cannot be
//! written, the shard is told so, and asks again later; a partition that has its marker then is passed over.

use std::sync::Arc;

use parking_lot::Mutex;
use pillion_wire::records::EndTransactionMarker;

use super::super::action::Markers;
use super::super::event::ProducerIdentity;
use super::HostedShard;
use crate::catalogue::Topics;
use crate::groups::coordinator::{GroupCoordinator, OFFSETS_TOPIC};
use crate::groups::event::TransactionEnd;
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
    transactional_id: Arc<str>,
    producer: ProducerIdentity,
    progress: Mutex<Progress>,
}

struct Progress {
    missing: usize,
    has_failed: bool,
}

impl MarkerWriter {
    pub(super) fn new(topics: Arc<Topics>, groups: Arc<GroupCoordinator>, coordinator_epoch: i32) -> Self {
        Self { topics, groups, coordinator_epoch }
    }

    /// Writes a transaction's markers, and tells `shard` when they are durable.
    pub(super) fn write(&self, shard: &Arc<HostedShard>, markers: Markers) {
        let Markers { transactional_id, producer, is_epoch_bumped, commit, partitions } = markers;
        let topics = self.topics.snapshot();
        let partitions: Vec<_> = partitions
            .iter()
            .filter_map(|(topic, index)| topics.by_name(topic)?.partition(*index).cloned())
            .filter(|partition| !partition.is_deleted())
            .collect();
        let progress = Mutex::new(Progress { missing: partitions.len(), has_failed: false });
        let writing = Arc::new(Writing { shard: Arc::clone(shard), transactional_id, producer, progress });
        if partitions.is_empty() {
            return writing.tell(true);
        }
        let marker = EndTransactionMarker { commit, coordinator_epoch: self.coordinator_epoch };
        for partition in partitions {
            match partition.end_transaction(producer.id, producer.epoch, marker, is_epoch_bumped) {
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
                groups.transaction_ended(of.index(), writing.producer.id, end);
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
        let is_last = {
            let mut progress = self.progress.lock();
            progress.has_failed |= failure.is_some();
            progress.missing -= 1;
            (progress.missing == 0).then_some(!progress.has_failed)
        };
        if let Some(are_all_written) = is_last {
            self.tell(are_all_written);
        }
    }

    fn tell(&self, are_all_written: bool) {
        self.shard.tell(|core, now, actions| {
            core.markers_written(&self.transactional_id, self.producer, are_all_written, now, actions);
        });
    }
}
