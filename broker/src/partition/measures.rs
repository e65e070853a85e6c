//! What is counted of a partition, and what a look at its topic adds up.

use std::sync::atomic::Ordering;

use super::Partition;
use crate::metrics::TopicSnapshot;

impl Partition {
    /// So many bytes of it are on their way to someone who fetches.
    pub(crate) fn fetched(&self, bytes: usize) {
        self.fetched_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.shared.metrics.fetched_bytes.add(bytes as u64);
    }

    /// Adds its numbers to its topic's.
    pub(crate) fn add_to(&self, topic: &mut TopicSnapshot) {
        topic.fetched_bytes += self.fetched_bytes.load(Ordering::Relaxed);
        let state = self.state.lock();
        topic.offline_partitions += usize::from(state.closed.is_some());
        topic.log_bytes += state.log.size();
        topic.log_start_offsets += state.log.log_start_offset();
        topic.high_watermarks += state.high_watermark.offset;
        topic.appended_records += state.appended_records;
        topic.appended_bytes += state.appended_bytes;
    }
}
