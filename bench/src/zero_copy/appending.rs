//! Into a file: appending by `pwrite` against storing through a mapping of a file that was made longer before.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, fallocate};

use super::cost::{Clock, Cost, HEADS, middle_of};
use super::{Bench, map};
use crate::figures::number;
use crate::latency::{Latencies, Summary};
use crate::suite::table::aligned;

/// Bytes of each append.
const CHUNKS: [usize; 3] = [1 << 10, 16 << 10, 100 << 10];
/// Bytes of each append that is synced.
const SYNCED_CHUNKS: [usize; 2] = [4 << 10, 100 << 10];
/// Bytes that a file is grown ahead, and a mapping's length: chunks of 100 KiB do not straddle two.
const AHEAD_BYTES: u64 = 100 << 18;

/// How bytes get into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `pwrite` at the end of a file that grows by it.
    Write,
    /// `pwrite` into blocks that fallocate has reserved.
    WriteAhead,
    /// Storing into a mapping of such blocks.
    Map,
}

const WAYS: [(&str, Way); 3] =
    [("pwrite", Way::Write), ("pwrite, fallocated", Way::WriteAhead), ("mmap store, fallocated", Way::Map)];

/// A file that is appended to.
struct Appended {
    file: File,
    way: Way,
    end: u64,
    allocated: u64,
    map: Option<MmapMut>,
}

impl Appended {
    fn new(bench: &Bench, way: Way) -> Result<Self> {
        let path = bench.folder.path().join("appended");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        file.sync_all()?;
        Ok(Self { file, way, end: 0, allocated: 0, map: None })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let behind = self.end + bytes.len() as u64;
        if self.way != Way::Write && behind > self.allocated {
            // Chunks divide the length grown ahead, so that the end is exactly here.
            fallocate(&self.file, FallocateFlags::empty(), self.allocated, AHEAD_BYTES)?;
            if self.way == Way::Map {
                self.map = Some(map::to_write(&self.file, self.allocated, AHEAD_BYTES as usize)?);
            }
            self.allocated += AHEAD_BYTES;
        }
        match &mut self.map {
            Some(map) => {
                let at = usize::try_from(self.end + AHEAD_BYTES - self.allocated)?;
                map.get_mut(at..at + bytes.len()).context("beyond the mapping's end")?.copy_from_slice(bytes);
            }
            None => self.file.write_all_at(bytes, self.end)?,
        }
        self.end = behind;
        Ok(())
    }

    /// Syncs the last `length` bytes, or more.
    fn sync_last(&self, length: usize) -> Result<()> {
        match &self.map {
            Some(map) => {
                let end = usize::try_from(self.end + AHEAD_BYTES - self.allocated)?;
                map.flush_range(end - length, length)?;
            }
            None => self.file.sync_data()?,
        }
        Ok(())
    }
}

fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rand::fill(&mut bytes[..]);
    bytes
}

/// Appends without syncing; then one sync of everything.
pub(super) fn table(bench: &Bench) -> Result<String> {
    let mut lines = Vec::new();
    for chunk in CHUNKS {
        for (name, way) in WAYS {
            let (cost, sync) = middle_of(bench.rounds, |(cost, _)| cost, || append(bench, way, chunk))?;
            let [speed, cpu, voluntary, involuntary] = cost.cells();
            let sync = number(cost.gigabytes() * 1e3 / sync.as_secs_f64());
            let chunk = format!("{} KiB", chunk >> 10);
            lines.push([name.to_owned(), chunk, speed, cpu, voluntary, involuntary, sync]);
        }
    }
    let head =
        ["append to the page cache", "an append", HEADS[0], HEADS[1], HEADS[2], HEADS[3], "sync behind it, MB/s"];
    Ok(aligned(&head.map(str::to_owned), &lines))
}

/// Appends that are synced one by one.
pub(super) fn synced_table(bench: &Bench) -> Result<String> {
    let mut lines = Vec::new();
    for chunk in SYNCED_CHUNKS {
        for (name, way) in WAYS {
            let (cost, summary) = middle_of(bench.rounds, |(cost, _)| cost, || append_and_sync(bench, way, chunk))?;
            let [speed, cpu, voluntary, involuntary] = cost.cells();
            let chunk = format!("{} KiB", chunk >> 10);
            let (p50, p99) = (number(summary.p50_us), number(summary.p99_us));
            lines.push([name.to_owned(), chunk, p50, p99, speed, cpu, voluntary, involuntary]);
        }
    }
    let head =
        ["append and sync (fdatasync, msync)", "an append", "p50 µs", "p99 µs", HEADS[0], HEADS[1], HEADS[2], HEADS[3]];
    Ok(aligned(&head.map(str::to_owned), &lines))
}

/// Appends one after the other, and then syncs them all; answers what the appends cost and how long the sync took.
fn append(bench: &Bench, way: Way, chunk: usize) -> Result<(Cost, Duration)> {
    let bytes = random(chunk);
    let mut appended = Appended::new(bench, way)?;
    let clock = Clock::start()?;
    while appended.end < bench.file_bytes && clock.elapsed().as_secs_f64() < bench.seconds {
        appended.append(&bytes)?;
    }
    let cost = clock.read(appended.end)?;
    let begun = Instant::now();
    // Dirty pages of a mapping are synced with the file.
    appended.file.sync_all()?;
    Ok((cost, begun.elapsed()))
}

/// Syncs each append before the next.
fn append_and_sync(bench: &Bench, way: Way, chunk: usize) -> Result<(Cost, Summary)> {
    let bytes = random(chunk);
    let mut appended = Appended::new(bench, way)?;
    let mut latencies = Latencies::default();
    let clock = Clock::start()?;
    while clock.elapsed().as_secs_f64() < bench.seconds {
        let begun = Instant::now();
        appended.append(&bytes)?;
        appended.sync_last(chunk)?;
        latencies.record(begun.elapsed());
    }
    Ok((clock.read(appended.end)?, latencies.summary()))
}
