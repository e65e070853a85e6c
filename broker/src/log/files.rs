//! A log's files: where they are, and how they are opened.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::names::{self, Suffix};
use crate::disk::{Disk, DiskFile, FileKey, FileKind, OpenFiles};

/// The files of one log; clones stand for the same.
#[derive(Clone)]
pub(crate) struct LogFiles {
    open: Arc<OpenFiles>,
    directory: Arc<Path>,
    log: u32,
    /// What stands behind the names of segments' files.
    suffix: &'static str,
}

impl LogFiles {
    pub(super) fn new(open: Arc<OpenFiles>, directory: &Path) -> Self {
        let log = open.next_log_id();
        Self { open, directory: directory.into(), log, suffix: "" }
    }

    /// The files that a compaction writes, beside these.
    pub(super) fn cleaned(&self) -> Self {
        Self { log: self.open.next_log_id(), suffix: Suffix::Cleaned.text(), ..self.clone() }
    }

    /// The partition's directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The partition's directory, to be kept.
    pub(super) fn shared_directory(&self) -> Arc<Path> {
        Arc::clone(&self.directory)
    }

    /// The disk they are on.
    pub(super) fn disk(&self) -> &dyn Disk {
        &**self.open.disk()
    }

    /// The segment's file of a kind, made when it is missing.
    pub(super) fn open(&self, segment: i64, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        self.open.open(self.key(segment, kind), || self.path(segment, kind))
    }

    /// The segment's file of a kind.
    pub(super) fn open_existing(&self, segment: i64, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        self.open.open_existing(self.key(segment, kind), || self.path(segment, kind))
    }

    /// Bytes in the segment's file of a kind; `None` when there is none.
    pub(super) fn length(&self, segment: i64, kind: FileKind) -> io::Result<Option<u64>> {
        self.disk().length_of(&self.path(segment, kind))
    }

    /// Where the segment's file of a kind is.
    pub(super) fn path(&self, segment: i64, kind: FileKind) -> PathBuf {
        let mut name = match kind {
            FileKind::Log => names::log_file(segment),
            FileKind::OffsetIndex => names::offset_index_file(segment),
            FileKind::TimeIndex => names::time_index_file(segment),
            FileKind::TransactionIndex => names::transaction_index_file(segment),
        };
        name.push_str(self.suffix);
        self.directory.join(name)
    }

    /// Where another file of the partition is.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Closes what is open of a segment, once its users are done: its names are about to change.
    pub(super) fn forget(&self, segment: i64) {
        for kind in FileKind::ALL {
            self.open.forget(self.key(segment, kind));
        }
    }

    /// Closes what is open of the log.
    pub(super) fn forget_all(&self) {
        self.open.forget_log(self.log);
    }

    /// A number from 0 to 1023 that spreads logs evenly.
    pub(super) fn spread(&self) -> i64 {
        i64::from(self.log.wrapping_mul(2_654_435_761) >> 22)
    }

    fn key(&self, segment: i64, kind: FileKind) -> FileKey {
        FileKey { log: self.log, segment, kind }
    }
}
