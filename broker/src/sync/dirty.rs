//! How many bytes the broker has written and not synced: bounded, for the kernel stops a writer for up to 200 ms
//! when too many pages are dirty.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Unsynced bytes of all partitions above which producers that do not wait for a sync are slowed.
const LIMIT_BYTES: u64 = 64 << 20;

/// Counts unsynced bytes.
#[derive(Default)]
pub(crate) struct DirtyBytes {
    bytes: AtomicU64,
    fell: Notify,
}

impl DirtyBytes {
    /// Adds bytes just written.
    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes off bytes that were synced or given up.
    pub(crate) fn remove(&self, bytes: u64) {
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if before > LIMIT_BYTES {
            self.fell.notify_waiters();
        }
    }

    /// How many there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether a producer should wait before it sends more.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > LIMIT_BYTES
    }

    /// Waits until there are fewer than the limit.
    pub(crate) async fn below_limit(&self) {
        loop {
            let fell = self.fell.notified();
            if !self.is_over() {
                return;
            }
            fell.await;
        }
    }
}
