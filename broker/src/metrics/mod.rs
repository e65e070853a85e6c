//! What the broker counts while it serves, and one look at all of it.
//!
//! Everything on a record's way is a relaxed addition to a number of its own, or happens under a lock that is held
//! anyway: nothing is allocated and no lock is taken for counting's sake. Whoever looks (`snapshot`) does the adding up.
//!
//! Invariant: counters only grow while the process runs, whatever becomes of topics.

mod histogram;
mod observer;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use histogram::HistogramSnapshot;
pub use observer::{BrokerObserver, Unready};
pub use snapshot::{
    ApiSnapshot, BrokerSnapshot, DiskSnapshot, GroupSnapshot, GroupTopicSnapshot, NetworkSnapshot, SnapshotLimits,
    TopicSnapshot,
};

use crate::dispatch::APIS;
use histogram::Histogram;

/// A number that only grows, alone on its cache lines: workers add to different ones at the same time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `amount`.
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// In the order of [`APIS`].
    requests: Vec<Histogram>,
    /// Bytes read from connections.
    pub(crate) received_bytes: Counter,
    /// Bytes written to connections, those sent from files among them.
    pub(crate) sent_bytes: Counter,
    /// Connections accepted.
    pub(crate) connections_opened: Counter,
    /// Those of them that have ended.
    pub(crate) connections_closed: Counter,
    /// Connections turned away: there were as many as there may be.
    pub(crate) connections_refused: Counter,
    /// Connections closed because of what they sent.
    pub(crate) protocol_errors: Counter,
    /// Records appended to any partition.
    pub(crate) appended_records: Counter,
    /// Bytes of the batches they came in.
    pub(crate) appended_bytes: Counter,
    /// Bytes of batches sent to those who fetch.
    pub(crate) fetched_bytes: Counter,
    /// How long syncs of partitions took.
    pub(crate) syncs: Histogram,
    /// Syncs that failed.
    pub(crate) sync_failures: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: APIS.iter().map(|_| Histogram::default()).collect(),
            received_bytes: Counter::default(),
            sent_bytes: Counter::default(),
            connections_opened: Counter::default(),
            connections_closed: Counter::default(),
            connections_refused: Counter::default(),
            protocol_errors: Counter::default(),
            appended_records: Counter::default(),
            appended_bytes: Counter::default(),
            fetched_bytes: Counter::default(),
            syncs: Histogram::default(),
            sync_failures: Counter::default(),
        }
    }
}

impl Metrics {
    /// A request to the API at `place` of [`APIS`] has its answer, so long after it was read.
    pub(crate) fn answered(&self, place: usize, after: Duration) {
        if let Some(latency) = self.requests.get(place) {
            latency.observe(after);
        }
    }
}
