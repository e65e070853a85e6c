//! What a partition holds, in a few numbers that change with any record lost, repeated, altered or out of order.

use anyhow::{Result, bail};

/// Odd, so that multiplying by it loses nothing of what came before.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Counts and an ordered checksum of one partition's batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Digest {
    /// Records.
    pub(super) records: u64,
    /// Bytes of batches.
    pub(super) bytes: u64,
    /// Over the batches' own CRC-32Cs, which cover everything but offset and leader epoch, in order.
    checksum: u64,
}

impl Digest {
    /// Adds the next batch.
    pub(super) fn add(&mut self, records: u32, bytes: usize, batch_checksum: u32) {
        self.records += u64::from(records);
        self.bytes += bytes as u64;
        self.checksum = self.checksum.wrapping_mul(FACTOR).wrapping_add(u64::from(batch_checksum) + 1);
    }
}

/// Fails unless each partition was read as it was acknowledged.
pub(super) fn compare(acknowledged: &[Digest], read: &[Digest]) -> Result<()> {
    let pairs = acknowledged.iter().zip(read).enumerate();
    let wrong: Vec<String> = pairs
        .filter(|(_, (acknowledged, read))| acknowledged != read)
        .map(|(partition, (acknowledged, read))| {
            format!(
                "partition {partition}: {} records acknowledged with checksum {:016x}, {} read with {:016x}",
                acknowledged.records, acknowledged.checksum, read.records, read.checksum
            )
        })
        .collect();
    if !wrong.is_empty() || acknowledged.len() != read.len() {
        bail!("what was read is not what was acknowledged:\n{}", wrong.join("\n"));
    }
    let records: u64 = read.iter().map(|digest| digest.records).sum();
    println!("{records} records acknowledged, {records} read; the checksums of all {} partitions agree.", read.len());
    Ok(())
}

#[cfg(test)]
mod tests;
