//! The seam between the log and files: everything the broker does to a disk goes through [`Disk`].
//!
//! Two implementations: [`RealDisk`], and [`SimulatedDisk`], which forgets on a crash what was not synced. Nothing
//! here knows of Kafka or of tasks; every call may block but [`DiskFile::read_cached_at`].

mod mapped;
mod open_files;
mod real;
pub(crate) mod residency;
mod simulated;
#[cfg(test)]
mod tests;

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use mapped::MappedFile;
pub(crate) use open_files::{FileKey, FileKind, OpenFiles};
pub use real::RealDisk;
pub use simulated::{HeldSyncs, SimulatedDisk};

/// A directory tree on which files are made, renamed and removed.
///
/// A name is on disk only once [`Disk::sync_directory`] has returned for its directory.
pub trait Disk: Send + Sync + 'static {
    /// Opens a file for reading and writing, making it when it is missing.
    ///
    /// # Errors
    /// What the operating system answers.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and writing, as it is.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is none, else what the operating system answers.
    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Bytes in a file that need not be open; `None` when there is no such file.
    ///
    /// # Errors
    /// What the operating system answers.
    fn length_of(&self, path: &Path) -> io::Result<Option<u64>>;

    /// Makes a directory and its parents; one that exists is fine.
    ///
    /// # Errors
    /// What the operating system answers.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, in no order; a missing directory has none.
    ///
    /// # Errors
    /// What the operating system answers.
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>>;

    /// Renames a file or directory, replacing a file of the new name.
    ///
    /// # Errors
    /// What the operating system answers.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file, or a directory and all in it; what is missing is removed already.
    ///
    /// # Errors
    /// What the operating system answers.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// What the operating system answers.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes everything on the file system of `path` durable: after a crash, one call for ten thousand files.
    ///
    /// # Errors
    /// What the operating system answers.
    fn sync_all(&self, path: &Path) -> io::Result<()>;

    /// Bytes free for writing on the file system of `path`, and its size.
    ///
    /// # Errors
    /// What the operating system answers.
    fn space(&self, path: &Path) -> io::Result<Space>;

    /// Takes the directory for this process alone, until the lock is dropped.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another process has it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;

    /// A whole small file; `None` when there is none.
    ///
    /// # Errors
    /// What the operating system answers; a file over `limit` bytes is [`io::ErrorKind::InvalidData`].
    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>>;

    /// Replaces a small file so that a crash leaves the old or the new one: write aside, sync, rename, sync.
    ///
    /// # Errors
    /// What the operating system answers.
    fn replace_small(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let aside = path.with_extension("tmp");
        self.remove(&aside)?;
        let file = self.open(&aside)?;
        file.write_at(0, &mut [IoSlice::new(content)])?;
        file.sync()?;
        self.rename(&aside, path)?;
        path.parent().map_or(Ok(()), |directory| self.sync_directory(directory))
    }
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Writes all parts, one behind the other, at `offset`.
    ///
    /// # Errors
    /// What the operating system answers; some of the bytes may then be in the file.
    fn write_at(&self, offset: u64, parts: &mut [IoSlice<'_>]) -> io::Result<()>;

    /// Reads until `buffer` is full or the file ends; answers the bytes read.
    ///
    /// # Errors
    /// What the operating system answers.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads what is in memory, without waiting for the disk; answers the bytes read, fewer at a hole in the cache.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when the first byte is not in memory.
    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Makes the file's bytes and length durable (fdatasync).
    ///
    /// # Errors
    /// What the operating system answers; the bytes must then be taken for lost.
    fn sync(&self) -> io::Result<()>;

    /// Grows the file to `length` bytes, zeroes behind what is written: appends that do not grow a file sync in
    /// about half the time.
    ///
    /// # Errors
    /// What the operating system answers.
    fn grow(&self, length: u64) -> io::Result<()>;

    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// What the operating system answers.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Bytes in the file.
    ///
    /// # Errors
    /// What the operating system answers.
    fn length(&self) -> io::Result<u64>;

    /// The file's first `length` bytes as memory. Only for a file that is never changed in place again.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the file is shorter, else what the operating system answers.
    fn map(&self, length: usize) -> io::Result<MappedFile>;

    /// The descriptor to send from with sendfile, where there is one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Its last part.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Room on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can still be written.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}
