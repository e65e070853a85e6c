//! The operating system's files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::ReadWriteFlags;

use super::{Disk, DiskFile, Entry, MappedFile, Space};

/// Files as the operating system has them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(OpenOptions::new().read(true).write(true).open(path)?)))
    }

    fn length_of(&self, path: &Path) -> io::Result<Option<u64>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        entries
            .map(|entry| {
                let entry = entry?;
                Ok(Entry {
                    path: entry.path(),
                    name: entry.file_name().to_string_lossy().into_owned(),
                    is_directory: entry.file_type()?.is_dir(),
                })
            })
            .collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(path)?)?)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let status = rustix::fs::statvfs(path)?;
        Ok(Space { free: status.f_bavail * status.f_frsize, total: status.f_blocks * status.f_frsize })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // Java's file locks, and so a running Kafka's, are of this other kind, which does not see the first.
        rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(file))
    }

    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Most are a few bytes, of ten thousand partitions at start: one read then tells where they end.
        let mut first = [0; 512];
        let read = file.read_at(&mut first, 0)?;
        let mut content = first[..read].to_vec();
        if read == first.len() {
            (&file).seek(SeekFrom::Start(read as u64))?;
            file.take((limit as u64 + 1).saturating_sub(read as u64)).read_to_end(&mut content)?;
        }
        if content.len() > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("file is over {limit} bytes")));
        }
        Ok(Some(content))
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn write_at(&self, mut offset: u64, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match rustix::io::pwritev(&self.0, parts, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len();
        while !buffer.is_empty() {
            match self.0.read_at(buffer, offset) {
                Ok(0) => break,
                Ok(read) => {
                    offset += read as u64;
                    buffer = &mut buffer[read..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted - buffer.len())
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut parts = [IoSliceMut::new(buffer)];
        match rustix::io::preadv2(&self.0, &mut parts, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) => Ok(read),
            // A file system without the flag (overlayfs, network ones): reads there always may wait.
            Err(rustix::io::Errno::OPNOTSUPP) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn grow(&self, length: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, length) {
            // File systems without it grow by writing, which is only slower.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            other => Ok(other?),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn map(&self, length: usize) -> io::Result<MappedFile> {
        MappedFile::map(&self.0, length)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}
