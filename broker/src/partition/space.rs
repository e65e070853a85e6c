//! Whether the disk has room for producers.
//!
//! Postgres' WAL may share the disk, and a broker that fills it takes the database down with it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::disk::{Disk, Space};

/// How long an answer of the operating system is believed.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// Watches the free space of the data directory.
pub(crate) struct SpaceGuard {
    directory: PathBuf,
    /// Bytes; `None` for the larger of 1 GiB and 5 % of the disk.
    free_min: Option<u64>,
    started: Instant,
    /// Milliseconds since `started` at which to ask again.
    ask_at: AtomicU64,
    low: AtomicBool,
}

impl SpaceGuard {
    /// A guard of `directory` that wants `free_min` bytes free.
    pub(crate) fn new(directory: PathBuf, free_min: Option<u64>) -> Self {
        Self { directory, free_min, started: Instant::now(), ask_at: AtomicU64::new(0), low: AtomicBool::new(false) }
    }

    /// Whether producers must be refused.
    pub(crate) fn is_low(&self, disk: &dyn Disk) -> bool {
        let now = self.started.elapsed().as_millis() as u64;
        if now >= self.ask_at.load(Ordering::Relaxed) {
            self.ask_at.store(now + BELIEVED_FOR.as_millis() as u64, Ordering::Relaxed);
            self.ask(disk);
        }
        self.low.load(Ordering::Relaxed)
    }

    /// The space there is, and the bytes that must be free; `None` when the disk does not say.
    pub(crate) fn look(&self, disk: &dyn Disk) -> Option<(Space, u64)> {
        let space = disk.space(&self.directory).ok()?;
        let free_min = self.free_min.unwrap_or_else(|| (1 << 30).max(space.total / 20));
        Some((space, free_min))
    }

    fn ask(&self, disk: &dyn Disk) {
        let Some((space, free_min)) = self.look(disk) else { return };
        let low = space.free < free_min;
        if self.low.swap(low, Ordering::Relaxed) != low {
            if low {
                tracing::error!(
                    free_bytes = space.free, free_bytes_min = free_min, directory = %self.directory.display(),
                    "disk nearly full: producers are refused until there is room again"
                );
            } else {
                tracing::info!(free_bytes = space.free, "the disk has room again: producers are served");
            }
        }
    }
}
