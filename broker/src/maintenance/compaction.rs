//! The cleaner: compacts the log with the largest share of uncompacted bytes, one at a time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::Signal;
use crate::broker::BrokerState;
use crate::clock::now_ms;
use crate::log::compaction::{CompactionError, plan};
use crate::partition::Partition;

/// Compacts until the thread is to end.
pub(super) fn run(broker: &Arc<BrokerState>, signal: &Signal) {
    let backoff = || broker.settings.in_force().config().log.cleaner_backoff;
    // Where a cleaning failed it would fail again: the log is whole, and only grows.
    let mut given_up = HashSet::new();
    while signal.wait_until(Instant::now() + backoff()) {
        let buffer_bytes = broker.settings.in_force().config().log.cleaner_dedupe_buffer_bytes;
        if let Err(error) = broker.catalogue.compact(buffer_bytes) {
            tracing::warn!(%error, "cannot compact the catalogue");
        }
        while let Some(partition) = filthiest(broker, &given_up) {
            // Only what the next start will trust is compacted.
            if let Err(error) = broker.write_checkpoints() {
                tracing::warn!(%error, "cannot write the checkpoint files: nothing is compacted");
                break;
            }
            match partition.compact(buffer_bytes, now_ms(), &signal.stopping) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) if signal.stopping.load(std::sync::atomic::Ordering::Relaxed) => return,
                // Its topic was deleted, or old segments were while they were compacted.
                Err(CompactionError::Stopped) => {}
                Err(error) => {
                    tracing::error!(
                        topic = %partition.topic(), partition = partition.index(), %error,
                        source = ?std::error::Error::source(&error), "a log is not compacted any more until the broker is restarted"
                    );
                    given_up.insert((Arc::clone(partition.topic()), partition.index()));
                }
            }
        }
    }
}

/// The partition that needs it most.
fn filthiest(broker: &BrokerState, given_up: &HashSet<(Arc<str>, i32)>) -> Option<Arc<Partition>> {
    let now_ms = now_ms();
    let topics = broker.topics.snapshot();
    let partitions = topics.all().filter(|topic| topic.config.is_compacted()).flat_map(|topic| &topic.partitions);
    let due = partitions
        .filter(|partition| !given_up.contains(&(Arc::clone(partition.topic()), partition.index())))
        .filter_map(|partition| Some((Arc::clone(partition), partition.cleanable(now_ms)?)));
    plan::filthiest(due).map(|(partition, _)| partition)
}
