//! Out of a file into memory: in order and at random, by `pread` and through a mapping; and look-ups in an index.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use anyhow::{Context, Result};
use memmap2::Mmap;
use rand::Rng;

use super::cost::{Clock, Cost, HEADS, middle_of};
use super::{Bench, Cache, map};
use crate::figures::number;
use crate::suite::table::aligned;

/// Bytes of each read.
const CHUNKS: [usize; 2] = [4 << 10, 64 << 10];
/// Bytes of an offset index entry.
const ENTRY_BYTES: usize = 8;
/// Entries of an index of 10 MiB, Kafka's default limit.
const ENTRIES: u32 = (10 << 20) / ENTRY_BYTES as u32;

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

/// The table of all ways.
pub(super) fn table(bench: &Bench) -> Result<String> {
    let mut lines = Vec::new();
    for cache in [Cache::Hot, Cache::Cold] {
        for order in [Order::Sequential, Order::Random] {
            for chunk in CHUNKS {
                for name in ["pread", "mmap"] {
                    let cost = middle_of(
                        bench.rounds,
                        |cost| cost,
                        || {
                            bench.prepare(cache)?;
                            let map = (name == "mmap").then(|| map::to_read(&bench.file)).transpose()?;
                            measure(bench, map.as_ref(), order, chunk)
                        },
                    )?;
                    let order = if order == Order::Sequential { "sequential" } else { "random" };
                    let [speed, cpu, voluntary, involuntary] = cost.cells();
                    let chunk = format!("{} KiB", chunk >> 10);
                    let way = name.to_owned();
                    lines.push([way, cost.disk_part(), order.to_owned(), chunk, speed, cpu, voluntary, involuntary]);
                }
            }
        }
    }
    let head = ["file to memory", "from the disk", "order", "a read", HEADS[0], HEADS[1], HEADS[2], HEADS[3]];
    Ok(aligned(&head.map(str::to_owned), &lines))
}

fn measure(bench: &Bench, map: Option<&Mmap>, order: Order, chunk: usize) -> Result<Cost> {
    let mut buffer = vec![0; chunk];
    let chunks = bench.file_bytes / chunk as u64;
    let mut random = rand::rng();
    let clock = Clock::start()?;
    let mut read = 0;
    // Once over the file at most: what has been read is not cold any more.
    while read < chunks && clock.elapsed().as_secs_f64() < bench.seconds {
        let index = if order == Order::Sequential { read } else { random.random_range(0..chunks) };
        let at = index * chunk as u64;
        match map {
            Some(map) => {
                let at = usize::try_from(at)?;
                buffer.copy_from_slice(map.get(at..at + chunk).context("beyond the file's end")?);
            }
            None => bench.file.read_exact_at(&mut buffer, at)?,
        }
        std::hint::black_box(&buffer);
        read += 1;
    }
    clock.read(read * chunk as u64)
}

/// Looking an offset up in an index of 10 MiB that is in the page cache, by halving.
pub(super) fn look_up_table(bench: &Bench) -> Result<String> {
    let path = bench.folder.path().join("index");
    let entries: Vec<u8> =
        (0..ENTRIES).flat_map(|entry| [entry * 4, entry * 4096].map(u32::to_be_bytes)).flatten().collect();
    std::fs::write(&path, entries)?;
    let file = File::open(&path)?;
    let map = map::to_read(&file)?;
    let by_read = time(bench, |entry| {
        let mut bytes = [0; ENTRY_BYTES];
        file.read_exact_at(&mut bytes, u64::from(entry) * ENTRY_BYTES as u64)?;
        Ok(bytes)
    })?;
    let by_map = time(bench, |entry| {
        let at = entry as usize * ENTRY_BYTES;
        Ok(map.get(at..at + ENTRY_BYTES).context("beyond the index's end")?.try_into()?)
    })?;
    let head = ["look-up in an index of 10 MiB, hot", "µs each"].map(str::to_owned);
    let line = |name: &str, time: f64| [name.to_owned(), number(time)];
    Ok(aligned(&head, &[line("pread of each entry looked at", by_read), line("mmap", by_map)]))
}

/// Microseconds of one look-up.
fn time(bench: &Bench, entry_at: impl Fn(u32) -> Result<[u8; ENTRY_BYTES]>) -> Result<f64> {
    /// Look-ups between two looks at the clock.
    const ROUND: u32 = 1_000;
    let mut random = rand::rng();
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed().as_secs_f64() < bench.seconds / 2.0 {
        for _ in 0..ROUND {
            let wanted = random.random_range(0..ENTRIES * 4);
            let (mut low, mut high) = (0, ENTRIES);
            while low + 1 < high {
                let middle = low.midpoint(high);
                let entry = entry_at(middle)?;
                if u32::from_be_bytes(entry[..4].try_into()?) <= wanted {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            std::hint::black_box(low);
        }
        done += ROUND;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(done))
}
