//! One file's content: what processes see, what the disk is sure to have, and what lies between the two.
//!
//! Invariant: after a crash every block is one that the file had at that place since its last successful sync, or a
//! torn mixture of two of them, and the length one between the shortest and the longest it had. So bytes that were cut
//! off and never synced as such come back, as they do on real disks.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;
use rand::rngs::StdRng;

use super::image::{BLOCK_BYTES, Block, Image, place};

/// Versions of a block that may have reached the disk on their own, before any sync; the latest ones.
const VERSIONS_MAX: usize = 4;

/// One in so many blocks that survive is torn.
const TORN_ONE_IN: u32 = 8;

/// A file's content.
#[derive(Default)]
pub(super) struct Content {
    /// As processes see it.
    visible: Image,
    /// As the last sync left it.
    durable: Image,
    /// Blocks changed since.
    unsynced: BTreeMap<u64, Unsynced>,
    /// The shortest and the longest length since, when there was a change.
    lengths: Option<(u64, u64)>,
    length_is_dirty: bool,
    /// Counts changes.
    changes: u64,
    /// `changes` when the last finished sync began.
    synced: u64,
}

/// What a block has been since the last sync.
#[derive(Default)]
struct Unsynced {
    /// With the change each came by.
    versions: Vec<(u64, Block)>,
    /// The next sync writes it. A failed one leaves it clean: the kernel takes the page for written and forgets it.
    is_dirty: bool,
}

/// What a sync that has begun will make durable.
pub(super) struct Sync {
    changes: u64,
    length: Option<u64>,
    blocks: Vec<(u64, Block)>,
}

impl Content {
    /// As processes see it.
    pub(super) fn visible(&self) -> &Image {
        &self.visible
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len() as u64;
        if end > self.visible.length() {
            self.set_length(end);
        }
        self.visible.write(offset, bytes);
        self.note(place(offset).0..=place(end - 1).0);
    }

    /// Grows with zeroes or cuts.
    pub(super) fn set_length(&mut self, length: u64) {
        let before = self.visible.length();
        self.changes += 1;
        self.visible.set_length(length);
        let (shortest, longest) = self.lengths.unwrap_or((before, before));
        self.lengths = Some((shortest.min(length), longest.max(length)));
        self.length_is_dirty = true;
        if length < before {
            // Zeroes, should the file grow again. Blocks that have always been zeroes need no note.
            let cut = place(length).0..=place(before - 1).0;
            let noted = |index: &u64| self.durable.block(*index).is_some() || self.unsynced.contains_key(index);
            let indices: Vec<_> = cut.filter(noted).collect();
            self.note(indices);
        }
    }

    /// Notes blocks as they are now.
    fn note(&mut self, indices: impl IntoIterator<Item = u64>) {
        self.changes += 1;
        for index in indices {
            let block = self.visible.block(index);
            let unsynced = self.unsynced.entry(index).or_default();
            unsynced.is_dirty = true;
            unsynced.versions.push((self.changes, block));
            if unsynced.versions.len() > VERSIONS_MAX {
                unsynced.versions.remove(0);
            }
        }
    }

    /// Begins a sync: it covers what was changed until now, and nothing that is changed while it goes on.
    pub(super) fn begin_sync(&self) -> Sync {
        let dirty = self.unsynced.iter().filter(|(_, unsynced)| unsynced.is_dirty);
        Sync {
            changes: self.changes,
            length: self.length_is_dirty.then(|| self.visible.length()),
            blocks: dirty.map(|(index, _)| (*index, self.visible.block(*index))).collect(),
        }
    }

    /// The sync has succeeded.
    pub(super) fn finish_sync(&mut self, sync: Sync) {
        if sync.changes < self.synced {
            return;
        }
        self.synced = sync.changes;
        if let Some(length) = sync.length {
            self.durable.set_length(length);
            let now = self.visible.length();
            self.length_is_dirty = now != length;
            self.lengths = self.length_is_dirty.then(|| (length.min(now), length.max(now)));
        }
        for (index, block) in sync.blocks {
            self.durable.set_block(index, block);
            if let Some(unsynced) = self.unsynced.get_mut(&index) {
                unsynced.versions.retain(|(change, _)| *change > sync.changes);
                if unsynced.versions.is_empty() {
                    self.unsynced.remove(&index);
                }
            }
        }
    }

    /// The sync has failed: what it was to cover may be lost, and no later sync covers it.
    pub(super) fn fail_sync(&mut self) {
        for unsynced in self.unsynced.values_mut() {
            unsynced.is_dirty = false;
        }
        self.length_is_dirty = false;
    }

    /// What a power cut leaves; unsynced blocks survive with probability `survival`.
    pub(super) fn after_crash(&self, random: &mut StdRng, survival: f64) -> Self {
        let mut left = self.durable.clone();
        left.set_length(self.length_after_crash(random, survival));
        for (index, unsynced) in &self.unsynced {
            if !random.random_bool(survival) || index * BLOCK_BYTES as u64 >= left.length() {
                continue;
            }
            // The latest version more often than those before it: they are written back on their own but seldom.
            let latest = unsynced.versions.len() - 1;
            let chosen = if random.random() { latest } else { random.random_range(0..=latest) };
            let mut block = unsynced.versions[chosen].1.clone();
            if random.random_ratio(1, TORN_ONE_IN) {
                block = torn(&block, &self.durable.block(*index), random.random_range(0..=BLOCK_BYTES));
            }
            left.set_block(*index, block);
        }
        left.clear_behind_end();
        Self { visible: left.clone(), durable: left, ..Self::default() }
    }

    fn length_after_crash(&self, random: &mut StdRng, survival: f64) -> u64 {
        let durable = self.durable.length();
        let Some((shortest, longest)) = self.lengths.filter(|_| random.random_bool(survival)) else { return durable };
        let (shortest, longest) = (shortest.min(durable), longest.max(durable));
        match random.random_range(0..4) {
            0 => shortest,
            1 => longest,
            2 => self.visible.length(),
            _ => random.random_range(shortest..=longest),
        }
    }

    /// Flips a bit everywhere the byte is, as a decaying disk does.
    pub(super) fn flip_bit(&mut self, byte: u64, bit: u8) {
        let (index, at) = place(byte);
        let flip = |block: &mut Block| {
            Arc::make_mut(block.get_or_insert_with(|| Arc::new([0; BLOCK_BYTES])))[at] ^= 1 << bit;
        };
        for image in [&mut self.visible, &mut self.durable] {
            let mut block = image.block(index);
            flip(&mut block);
            image.set_block(index, block);
        }
        let versions = self.unsynced.get_mut(&index).into_iter().flat_map(|unsynced| &mut unsynced.versions);
        versions.for_each(|(_, block)| flip(block));
    }
}

/// The first `bytes` of `new` before the rest of `old`.
fn torn(new: &Block, old: &Block, bytes: usize) -> Block {
    let mut block = old.as_deref().copied().unwrap_or([0; BLOCK_BYTES]);
    match new {
        Some(new) => block[..bytes].copy_from_slice(&new[..bytes]),
        None => block[..bytes].fill(0),
    }
    Some(Arc::new(block))
}
