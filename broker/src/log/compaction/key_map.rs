//! Which offset is the latest of each key, in memory of a fixed bound.
//!
//! The first pass of a cleaning puts every record's key in; the second asks for each record whether a later one has
//! its key. Keys are held as 128-bit keyed hashes (SipHash, a random key per run), so that nobody can choose keys that
//! collide and have a live record removed. Open addressing with linear probing over a power of two of 24-byte slots,
//! doubled in place while the budget allows. Invariant: at least one slot is empty, so every probe ends.

#[cfg(test)]
mod tests;

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Bytes of a slot.
const SLOT_BYTES: usize = size_of::<Slot>();
/// Slots a map begins with: 24 KiB.
const SLOTS_FIRST: usize = 1024;

/// One key's hash and the offset behind its latest record; zero in an empty slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: [u64; 2],
    next_offset: u64,
}

/// The map.
pub(crate) struct KeyMap {
    slots: Vec<Slot>,
    used: usize,
    slots_max: usize,
    hash_key: [u64; 2],
}

/// A key found no room: the map has reached its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl KeyMap {
    /// An empty map of at most `budget_bytes` (`log.cleaner.dedupe.buffer.size`), rounded down to a power of two of
    /// slots, and at least two of them. `hash_key` must be random: hashes must not be foreseen.
    pub(crate) fn new(budget_bytes: usize, hash_key: [u64; 2]) -> Self {
        let slots_max = (budget_bytes / SLOT_BYTES).max(2);
        let slots_max = 1 << slots_max.ilog2();
        Self { slots: vec![Slot::default(); SLOTS_FIRST.min(slots_max)], used: 0, slots_max, hash_key }
    }

    /// Notes that the record of `key` at `offset` is the key's latest; offsets of a key come in their order.
    ///
    /// # Errors
    /// [`Full`] for a key that is not in the map when nine tenths of all slots are taken, which is Kafka's default of
    /// `log.cleaner.io.buffer.load.factor`. A key in the map is always updated.
    pub(crate) fn put(&mut self, key: &[u8], offset: i64) -> Result<(), Full> {
        let hash = self.hash(key);
        let mut at = self.find(hash);
        if self.slots[at].next_offset == 0 {
            if self.used >= self.room() {
                if self.slots.len() >= self.slots_max {
                    return Err(Full);
                }
                self.double();
                at = self.find(hash);
            }
            self.used += 1;
        }
        self.slots[at] = Slot { hash, next_offset: offset.cast_unsigned() + 1 };
        Ok(())
    }

    /// The latest offset of `key`; `None` when it was never put.
    pub(crate) fn get(&self, key: &[u8]) -> Option<i64> {
        let slot = self.slots[self.find(self.hash(key))];
        slot.next_offset.checked_sub(1).map(u64::cast_signed)
    }

    /// Keys in the map.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> usize {
        self.used
    }

    /// Bytes the map takes now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * SLOT_BYTES
    }

    /// Keys the present slots may hold.
    fn room(&self) -> usize {
        (self.slots.len() * 9 / 10).max(1)
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let mut hasher = SipHasher13::new_with_keys(self.hash_key[0], self.hash_key[1]);
        hasher.write(key);
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }

    /// The slot that holds `hash`, or the empty one where it belongs.
    fn find(&self, hash: [u64; 2]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash[0] as usize & mask;
        while self.slots[at].next_offset != 0 && self.slots[at].hash != hash {
            at = (at + 1) & mask;
        }
        at
    }

    /// Doubles the slots without a second table beside the first, which would break the budget.
    ///
    /// An entry's place is now its old one, or that of the upper half. Taken in order, each moves to a slot at or
    /// before its own or into the upper half, so none is put behind one that still has to move. Those before the first
    /// empty slot may have come around the end: they wait aside, which also leaves room for what now comes around.
    fn double(&mut self) {
        let old = self.slots.len();
        self.slots.reserve_exact(old);
        self.slots.resize(old * 2, Slot::default());
        let first_empty = self.slots.iter().position(|slot| slot.next_offset == 0).unwrap_or(old);
        let aside = self.slots[..first_empty].to_vec();
        self.slots[..first_empty].fill(Slot::default());
        for at in first_empty..old {
            let slot = std::mem::take(&mut self.slots[at]);
            self.replace(slot);
        }
        aside.into_iter().for_each(|slot| self.replace(slot));
    }

    fn replace(&mut self, slot: Slot) {
        if slot.next_offset != 0 {
            let at = self.find(slot.hash);
            self.slots[at] = slot;
        }
    }
}
