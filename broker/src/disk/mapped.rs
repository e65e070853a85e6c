//! A file's first bytes as memory: how the index of a sealed segment is searched without reading it whole.
//!
//! The one place with `unsafe` code. Invariant: only files that nobody changes any more are mapped, so that the memory
//! behind a slice never changes and never goes away.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// The first bytes of a file, read-only; they stay readable after the file was closed, renamed or removed.
pub struct MappedFile(Memory);

enum Memory {
    Mapped(Mmap),
    Copied(Vec<u8>),
}

impl MappedFile {
    /// Maps the first `length` bytes of `file`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the file is shorter, else what the operating system answers.
    pub(super) fn map(file: &File, length: usize) -> io::Result<Self> {
        check_length(file.metadata()?.len(), length)?;
        if length == 0 {
            // The operating system maps nothing of no length.
            return Ok(Self(Memory::Copied(Vec::new())));
        }
        // SAFETY: memory of a file is sound as long as no byte of it changes and no page of it is cut off while it is
        // borrowed. The broker maps files of sealed segments only: they are never written or truncated in place but
        // replaced by rename, which leaves the mapped file as it is; the data directory's lock keeps other brokers
        // out; and the file has `length` bytes now, as checked above. The mapping is read-only.
        #[allow(unsafe_code)]
        let memory = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self(Memory::Mapped(memory)))
    }

    /// Bytes that are no mapping: the simulated disk's.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when there are fewer than `length`.
    pub(super) fn copy(bytes: Vec<u8>, length: usize) -> io::Result<Self> {
        check_length(bytes.len() as u64, length)?;
        Ok(Self(Memory::Copied(bytes)))
    }
}

/// Touching a page behind a file's end kills the process with SIGBUS, so a short file is refused here.
fn check_length(length: u64, wanted: usize) -> io::Result<()> {
    if length < wanted as u64 {
        let message = format!("the file has {length} bytes, {wanted} were to be mapped");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    }
    Ok(())
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Mapped(memory) => memory,
            Memory::Copied(bytes) => bytes,
        }
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MappedFile({} bytes)", self.len())
    }
}
