//! The files that all logs have open, least recently used closed first: ten thousand partitions in few descriptors.
//!
//! Invariant: the pool never closes what somebody uses. It holds one reference to each file, and leaving the pool drops
//! that one only: a reader's file, a mapped index and a file with bytes that no sync has covered yet stay open through
//! the references their users hold, so a file is never closed with its sync outstanding.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use super::{Disk, DiskFile};

#[cfg(test)]
mod tests;

/// Which file of which segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum FileKind {
    /// The records.
    Log,
    /// Offset to position.
    OffsetIndex,
    /// Timestamp to offset.
    TimeIndex,
    /// The aborted transactions.
    TransactionIndex,
}

impl FileKind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TransactionIndex];
}

/// A file of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    /// The log's number in this process, from [`OpenFiles::next_log_id`].
    pub(crate) log: u32,
    /// The segment's base offset.
    pub(crate) segment: i64,
    /// Which of its files.
    pub(crate) kind: FileKind,
}

/// Open files, at most as many as its capacity, plus those that users hold beyond their time in the pool.
pub(crate) struct OpenFiles {
    disk: Arc<dyn Disk>,
    capacity: usize,
    next_log_id: AtomicU32,
    pool: Mutex<Pool>,
}

struct Pool {
    /// Without the crate's own bound, which makes room for all of it at once.
    files: LruCache<FileKey, Arc<dyn DiskFile>>,
    /// Counts what was forgotten: a file opened before may be another than its key's now, and stays out of the pool.
    forgotten: u64,
}

impl OpenFiles {
    /// An empty pool of `capacity` files, at least one.
    pub(crate) fn new(disk: Arc<dyn Disk>, capacity: usize) -> Self {
        let pool = Pool { files: LruCache::unbounded(), forgotten: 0 };
        Self { disk, capacity: capacity.max(1), next_log_id: AtomicU32::new(0), pool: Mutex::new(pool) }
    }

    /// The disk the files are on.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// A number no other log of this process has or had: a log deleted and made again has another one.
    pub(crate) fn next_log_id(&self) -> u32 {
        self.next_log_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The file of `key`, opened at `path` unless it is open, made when it is missing.
    ///
    /// # Errors
    /// As [`Disk::open`].
    pub(crate) fn open(&self, key: FileKey, path: impl FnOnce() -> PathBuf) -> io::Result<Arc<dyn DiskFile>> {
        self.get_or_open(key, path, |disk, path| disk.open(path))
    }

    /// As [`OpenFiles::open`], of a file that must be there.
    ///
    /// # Errors
    /// As [`Disk::open_existing`].
    pub(crate) fn open_existing(&self, key: FileKey, path: impl FnOnce() -> PathBuf) -> io::Result<Arc<dyn DiskFile>> {
        self.get_or_open(key, path, |disk, path| disk.open_existing(path))
    }

    /// Lets go of a file: to be called once it was renamed, replaced or removed.
    pub(crate) fn forget(&self, key: FileKey) {
        let mut pool = self.pool.lock();
        pool.forgotten += 1;
        let forgotten = pool.files.pop(&key);
        drop(pool);
        // Closing may wait for the disk: behind the lock.
        drop(forgotten);
    }

    /// Lets go of all files of a log. It looks at every file of the pool, for topics are seldom deleted.
    pub(crate) fn forget_log(&self, log: u32) {
        let mut pool = self.pool.lock();
        pool.forgotten += 1;
        let keys: Vec<_> = pool.files.iter().map(|(key, _)| *key).filter(|key| key.log == log).collect();
        let forgotten: Vec<_> = keys.iter().filter_map(|key| pool.files.pop(key)).collect();
        drop(pool);
        drop(forgotten);
    }

    fn get_or_open(
        &self,
        key: FileKey,
        path: impl FnOnce() -> PathBuf,
        open: impl FnOnce(&dyn Disk, &Path) -> io::Result<Arc<dyn DiskFile>>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let forgotten = {
            let mut pool = self.pool.lock();
            if let Some(file) = pool.files.get(&key) {
                return Ok(Arc::clone(file));
            }
            pool.forgotten
        };
        let opened = open(&*self.disk, &path())?;
        let mut pool = self.pool.lock();
        if pool.forgotten != forgotten {
            return Ok(opened);
        }
        if let Some(file) = pool.files.get(&key) {
            // Another thread was faster; all share its file.
            return Ok(Arc::clone(file));
        }
        pool.files.put(key, Arc::clone(&opened));
        let evicted = if pool.files.len() > self.capacity { pool.files.pop_lru() } else { None };
        drop(pool);
        drop(evicted);
        Ok(opened)
    }
}
