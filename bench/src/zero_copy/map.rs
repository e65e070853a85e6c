//! Files as memory. The one place of the benchmarks with unsafe code: a mapping's bytes change, or end in SIGBUS, when
//! its file is changed by others.

use std::fs::File;

use anyhow::Result;
use memmap2::{Mmap, MmapMut, MmapOptions};

/// The whole file, to be read. It must be one of this run's own files.
#[allow(unsafe_code, reason = "memmap2 cannot know who else changes the file")]
pub(super) fn to_read(file: &File) -> Result<Mmap> {
    // SAFETY: the file lies in a folder that this process has made for itself, and nothing here shortens it or writes
    // to it while a mapping exists.
    Ok(unsafe { Mmap::map(file)? })
}

/// `length` bytes from `offset` on, to be written. It must be one of this run's own files, and as long.
#[allow(unsafe_code, reason = "memmap2 cannot know who else changes the file")]
pub(super) fn to_write(file: &File, offset: u64, length: usize) -> Result<MmapMut> {
    // SAFETY: as above; the callers write through one mapping at a time.
    Ok(unsafe { MmapOptions::new().offset(offset).len(length).map_mut(file)? })
}
