//! Which partition a record goes to: as Kafka's Java client decides, so that all clients agree on keys. Pure.

/// The 32-bit murmur2 hash of Kafka's Java client (seed `0x9747b28c`), which its default partitioner takes of keys.
#[must_use]
pub fn murmur2(key: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed = (mixed ^ (mixed >> 24)).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, byte| (tail << 8) | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 15)).cast_signed()
}

/// The partition of a key among `partitions`, which is at least 1.
pub(super) fn partition_of_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX) % partitions.max(1)
}

/// The partition of records without a key: stays until a batch is full or sent, then moves on (KIP-480).
#[derive(Debug, Default)]
pub(super) struct Sticky {
    current: Option<i32>,
}

impl Sticky {
    /// The partition among `partitions`; `batch_is_open` tells whether it has a batch that takes more records.
    pub(super) fn choose(&mut self, partitions: i32, batch_is_open: impl FnOnce(i32) -> bool) -> i32 {
        let partitions = partitions.max(1);
        let chosen = match self.current {
            Some(current) if current < partitions && batch_is_open(current) => current,
            Some(current) => (current + 1) % partitions,
            // Producers started together should not all begin with the same partition.
            None => rand::random_range(0..partitions),
        };
        self.current = Some(chosen);
        chosen
    }
}

#[cfg(test)]
mod tests;
