//! Which partition of an internal topic holds a group, or a transactional producer.
//!
//! Every Kafka tool computes the same: Java's string hash (over UTF-16 units), its absolute value, modulo the
//! partition count the topic has.

/// The partition of a group id or transactional id, in `0..partition_count`. `partition_count` must be positive.
pub(crate) fn partition_of(id: &str, partition_count: u32) -> u32 {
    let hash = id.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // Kafka's Utils.abs has no absolute value for the smallest integer and takes 0.
    hash.checked_abs().unwrap_or(0).unsigned_abs() % partition_count.max(1)
}

#[cfg(test)]
mod tests;
