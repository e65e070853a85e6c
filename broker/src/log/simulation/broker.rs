//! What a broker does around one log, on a simulated disk and without threads: the sync job, the checkpoint files, the
//! start and the stop. The order of things is that of `start`, `partition` and `maintenance`.

use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use crate::checkpoints::{CheckpointFiles, Checkpoints};
use crate::disk::{Disk, OpenFiles, SimulatedDisk};
use crate::log::dirty::Dirty;
use crate::log::{Log, LogConfig, LogError, LogPosition, Opening};
use crate::partition::PartitionCheckpoint;

/// The data directory.
pub(super) const ROOT: &str = "/data";
/// The partition's.
pub(super) const DIRECTORY: &str = "/data/t-0";
/// There after a clean stop.
const CLEAN_MARKER: &str = "/data/clean";

/// A broker with one partition.
pub(super) struct SimulatedBroker {
    pub(super) disk: SimulatedDisk,
    pub(super) log: Log,
    pub(super) config: LogConfig,
    pub(super) now_ms: i64,
    pub(super) leader_epoch: i32,
    pub(super) high_watermark: LogPosition,
    /// What a sync has confirmed: with `log.durability=async` the high watermark is ahead of it.
    pub(super) durable_end: i64,
    /// Whether what is written is readable and acknowledged before it is synced.
    pub(super) is_async: bool,
    /// A sync that has begun, and the end it makes durable.
    pub(super) pending: Option<(Dirty, LogPosition)>,
    checkpoint_files: CheckpointFiles,
}

/// What a sync came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Synced {
    Done,
    /// It failed, which was noted down.
    Failed,
    /// It failed, and so did the note.
    FailedUnnoted,
}

impl SimulatedBroker {
    /// A broker that was just started.
    pub(super) fn start(
        disk: &SimulatedDisk,
        config: LogConfig,
        now_ms: i64,
        epoch_before: i32,
        (open_files, is_async): (usize, bool),
        check: impl FnOnce(&Opening),
    ) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: ROOT.into(), source };
        let root = Path::new(ROOT);
        disk.create_directory(root).map_err(failed)?;
        let clean = disk.read_small(Path::new(CLEAN_MARKER), 10).map_err(failed)?.is_some();
        // The catalogue keeps the epoch; its log is not what is tested here.
        let leader_epoch = if clean { epoch_before } else { epoch_before + 1 };
        let opening = Checkpoints::read(disk, root, clean, now_ms).map_err(failed)?.opening("t", 0);
        check(&opening);
        let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), open_files));
        let log = Log::open(files, Path::new(DIRECTORY), Uuid::nil(), Arc::new(config), opening)?;
        if !clean {
            disk.sync_all(root).map_err(failed)?;
        }
        let high_watermark = log.end();
        let checkpoint_files = CheckpointFiles::default();
        let mut broker = Self {
            disk: disk.clone(),
            log,
            config,
            now_ms,
            leader_epoch,
            high_watermark,
            durable_end: high_watermark.offset,
            is_async,
            pending: None,
            checkpoint_files,
        };
        if !clean {
            broker.write_checkpoint_files().map_err(failed)?;
            broker.log.recovery_point_written(broker.log.recovery_point());
        }
        disk.remove(Path::new(CLEAN_MARKER)).and_then(|()| disk.sync_directory(root)).map_err(failed)?;
        Ok(broker)
    }

    /// As the broker writes them.
    pub(super) fn write_checkpoint_files(&self) -> std::io::Result<()> {
        let checkpoint = PartitionCheckpoint {
            recovery_point: self.log.recovery_point(),
            log_start_offset: self.log.moved_start(),
            cleaned_to: self.log.cleaning_checkpoint(),
        };
        self.checkpoint_files.write_one(&self.disk, Path::new(ROOT), checkpoint)
    }

    /// Takes what is dirty.
    pub(super) fn begin_sync(&mut self) {
        self.pending = Some((self.log.dirty(), self.log.end()));
    }

    /// Syncs what was taken, or is dirty now.
    pub(super) fn finish_sync(&mut self) -> Synced {
        let (dirty, end) = self.pending.take().unwrap_or_else(|| (self.log.dirty(), self.log.end()));
        if dirty.sync(&self.disk).is_ok() {
            self.log.synced(&dirty);
            self.durable_end = end.offset;
            self.advance(end);
            return Synced::Done;
        }
        match self.log.mark_sync_failed(self.durable_end) {
            Ok(()) => Synced::Failed,
            Err(_) => Synced::FailedUnnoted,
        }
    }

    /// Something was appended.
    pub(super) fn appended(&mut self) {
        if self.is_async {
            self.advance(self.log.end());
        }
    }

    fn advance(&mut self, to: LogPosition) {
        if to.offset > self.high_watermark.offset {
            self.high_watermark = to;
            self.log.high_watermark_moved(to.offset);
        }
    }

    /// Stops cleanly, unless a sync fails.
    pub(super) fn stop(&mut self) -> Result<Synced, LogError> {
        let failed = |source| LogError::Io { path: ROOT.into(), source };
        self.pending = None;
        if self.log.prepare_close(false)? {
            let synced = self.finish_sync();
            if synced != Synced::Done {
                return Ok(synced);
            }
        }
        self.write_checkpoint_files().map_err(failed)?;
        self.disk.replace_small(Path::new(CLEAN_MARKER), b"clean").map_err(failed)?;
        Ok(Synced::Done)
    }

    /// The last stable offset, as the partition works it out.
    pub(super) fn last_stable_offset(&self) -> i64 {
        let high_watermark = self.high_watermark.offset;
        self.log.first_unstable_offset().map_or(high_watermark, |unstable| unstable.min(high_watermark))
    }
}
