//! Reads the topic back over one connection, all partitions in each fetch, and computes every batch's checksum.

use anyhow::{Context, Result, ensure};
use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::digest::Digest;
use crate::load::fetch_stream::{FetchLimits, FetchStream};

/// As a Java consumer asks by default, but for the whole answer's 50 MiB: it is 1 MiB a partition.
const LIMITS: FetchLimits = FetchLimits { bytes_max: 50 << 20, partition_bytes_max: 1 << 20, wait_ms_max: 500 };
/// Bytes read at once.
const READ_AHEAD: usize = 256 << 10;
/// A batch's size in bytes at most.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// What is to be read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) topic: &'static str,
    /// End offset of each partition.
    pub(super) ends: Vec<i64>,
}

impl Reading {
    /// Reads every partition up to its end; answers what each gave.
    pub(super) fn run(&self, address: &str) -> Result<Vec<Digest>> {
        let mut stream = FetchStream::open(address, self.topic, READ_AHEAD)?;
        let mut next_offsets = vec![0; self.ends.len()];
        let mut digests = vec![Digest::default(); self.ends.len()];
        let mut first = 0;
        loop {
            let mut wanted: Vec<(i32, i64)> = Vec::new();
            for step in 0..self.ends.len() {
                let partition = (first + step) % self.ends.len();
                if next_offsets[partition] < self.ends[partition] {
                    wanted.push((partition as i32, next_offsets[partition]));
                }
            }
            if wanted.is_empty() {
                return Ok(digests);
            }
            stream.ask(wanted.into_iter(), LIMITS)?;
            stream.answer(|stream, part| {
                let partition = usize::try_from(part.partition)?;
                let next = next_offsets.get_mut(partition).context("a partition that was not asked for")?;
                let mut left = part.records_bytes;
                while let Some(taken) = take_batch(stream, left, next, &mut digests[partition])? {
                    left -= taken;
                }
                Ok(())
            })?;
            // An answer that was full left the last partitions out: they come first in the next one.
            first += 1;
        }
    }
}

/// Takes one batch, or drops the beginning of one that the answer cut short; `None` when nothing is left.
fn take_batch(stream: &mut FetchStream, left: usize, next: &mut i64, digest: &mut Digest) -> Result<Option<usize>> {
    if left < HEADER_BYTES {
        stream.drop_bytes(left)?;
        return Ok(None);
    }
    let header_bytes: [u8; HEADER_BYTES] = stream.take(HEADER_BYTES)?.try_into()?;
    let header = BatchHeader::parse(&header_bytes)?;
    let size = header.size();
    ensure!(size <= BATCH_BYTES_MAX, "a batch of {size} bytes");
    if size > left {
        stream.drop_bytes(left - HEADER_BYTES)?;
        return Ok(None);
    }
    ensure!(header.base_offset == *next, "a batch at offset {} in place of {next}", header.base_offset);
    let records = stream.take(size - HEADER_BYTES)?;
    // From byte 21 on, which is where the checksum's own cover begins.
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&header_bytes[21..]), records);
    ensure!(checksum == header.checksum, "the batch at offset {} is damaged", header.base_offset);
    digest.add(u32::try_from(header.record_count)?, size, checksum);
    *next = header.next_offset();
    Ok(Some(size))
}
