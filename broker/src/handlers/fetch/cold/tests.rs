use std::fs::File;
use std::io::{IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;

use super::*;
use crate::disk::residency::PROBE_BYTES;
use crate::disk::{DiskFile, MappedFile};

/// A file of which only some bytes are in memory until they are read.
struct HalfCached {
    file: File,
    /// Byte ranges in memory.
    cached: Mutex<Vec<std::ops::Range<u64>>>,
    /// Reads that had to wait.
    waits: Mutex<usize>,
}

impl DiskFile for HalfCached {
    fn write_at(&self, _: u64, _: &mut [IoSlice<'_>]) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let place = offset / PROBE_BYTES as u64 * PROBE_BYTES as u64;
        let mut cached = self.cached.lock();
        if !cached.iter().any(|range| range.contains(&offset)) {
            *self.waits.lock() += 1;
            cached.push(place..place + PROBE_BYTES as u64);
        }
        self.file.read_at(buffer, offset)
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let cached = self.cached.lock();
        let Some(range) = cached.iter().find(|range| range.contains(&offset)) else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let there = buffer.len().min((range.end - offset) as usize);
        self.file.read_at(&mut buffer[..there], offset)
    }

    fn sync(&self) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn grow(&self, _: u64) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn map(&self, _length: usize) -> io::Result<MappedFile> {
        unreachable!("indexes are mapped, records are not")
    }
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

/// A slice that begins at byte 100 with a batch of `batch` bytes; bytes up to `cached` of it are in memory.
fn slice(batch: usize, length: usize, cached: usize) -> (Arc<HalfCached>, LogSlice) {
    let mut file = tempfile::tempfile().expect("a temporary file can be made");
    let mut bytes = vec![7; 100 + length];
    bytes[108..112].copy_from_slice(&(batch as u32 - 12).to_be_bytes());
    file.write_all(&bytes).expect("it is written");
    let cached = Mutex::new(Vec::from_iter((cached > 0).then_some(100..100 + cached as u64)));
    let file = Arc::new(HalfCached { file, cached, waits: Mutex::new(0) });
    let slice = LogSlice { file: Arc::clone(&file) as Arc<dyn DiskFile>, position: 100, length };
    (file, slice)
}

fn length(part: Part) -> usize {
    match part {
        Part::Bytes(bytes) => bytes.len(),
        Part::File(slice) => {
            assert_eq!(slice.position, 100);
            slice.length
        }
    }
}

#[test]
fn what_is_in_memory_is_sent_as_far_as_it_is_there() {
    let piece = PROBE_BYTES;
    // First batch, slice, bytes in memory, bytes sent.
    let cases = [
        (1_000, 20_000, 20_000, Some(20_000)),
        (1_000, 20_000, 19_999, None),
        (1_000, 20_000, 0, None),
        (1_000, 10 * piece, 10 * piece, Some(10 * piece)),
        (1_000, 10 * piece, 10 * piece - 1, Some(9 * piece)),
        (1_000, 10 * piece, 3 * piece + 5, Some(3 * piece)),
        (1_000, 10 * piece, piece - 1, None),
        (1_000, 10 * piece, 0, None),
        (2 * piece, 10 * piece, 2 * piece, Some(2 * piece)),
        (2 * piece + 1, 10 * piece, 2 * piece, None),
        (1_000, 2 * piece + 17, 2 * piece + 17, Some(2 * piece + 17)),
        (1_000, 2 * piece + 17, 2 * piece + 16, Some(2 * piece)),
    ];
    for (batch, size, cached, sent) in cases {
        let (_, slice) = slice(batch, size, cached);
        let part = in_memory(&slice).expect("the file reads");
        assert_eq!(part.map(length), sent, "first batch {batch}, slice {size}, in memory {cached}");
    }
}

#[test]
fn one_answer_waits_for_a_bounded_part_and_for_its_first_batch() {
    // First batch, slice, budget, bytes sent, budget left.
    let cases = [
        (1_000, 20_000, COLD_BYTES, 20_000, COLD_BYTES - 20_000),
        (1_000, 20_000, 10, 20_000, 0),
        (1_000, 8 * COLD_BYTES, COLD_BYTES, COLD_BYTES, 0),
        (3 * COLD_BYTES, 8 * COLD_BYTES, COLD_BYTES, 3 * COLD_BYTES, 0),
        (1_000, COLD_BYTES / 4, COLD_BYTES, COLD_BYTES / 4, COLD_BYTES / 4 * 3),
    ];
    for (batch, size, budget, sent, left) in cases {
        let (file, slice) = slice(batch, size, 0);
        let mut budget = budget;
        let part = from_disk(&slice, &mut budget).expect("the file reads");
        assert_eq!((length(part), budget), (sent, left), "first batch {batch}, slice {size}");
        assert!(*file.waits.lock() <= sent / PROBE_BYTES + 2, "it waited for more than it sent");
    }
}

#[test]
fn what_is_there_is_sent_without_a_wait() {
    let (file, slice) = slice(1_000, 8 * COLD_BYTES, 2 * COLD_BYTES);
    let mut budget = COLD_BYTES;
    let part = from_disk(&slice, &mut budget).expect("the file reads");
    assert_eq!((length(part), budget, *file.waits.lock()), (2 * COLD_BYTES, COLD_BYTES, 0));
}

#[test]
fn a_file_that_ends_early_is_an_error() {
    for size in [20_000, 8 * COLD_BYTES] {
        let (_, mut slice) = slice(1_000, size, 0);
        slice.position += size as u64;
        assert!(from_disk(&slice, &mut COLD_BYTES.clone()).is_err());
    }
}
