//! A file's bytes by 512-byte blocks, shared between the images that have them in common: a file grown ahead costs
//! nothing, and the versions of a block cost only what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What disks write as a whole, as a rule.
pub(super) const BLOCK_BYTES: usize = 512;

/// One block; `None` where one may be absent stands for zeroes.
pub(super) type Block = Option<Arc<[u8; BLOCK_BYTES]>>;

/// A file's length and its blocks.
#[derive(Clone, Default)]
pub(super) struct Image {
    length: u64,
    blocks: BTreeMap<u64, Arc<[u8; BLOCK_BYTES]>>,
}

/// The block that a byte is in, and its place there.
pub(super) fn place(byte: u64) -> (u64, usize) {
    (byte / BLOCK_BYTES as u64, (byte % BLOCK_BYTES as u64) as usize)
}

impl Image {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn block(&self, index: u64) -> Block {
        self.blocks.get(&index).cloned()
    }

    pub(super) fn set_block(&mut self, index: u64, block: Block) {
        match block {
            Some(block) => self.blocks.insert(index, block),
            None => self.blocks.remove(&index),
        };
    }

    /// Grows with zeroes, or cuts; what is cut off is zero when the file grows again.
    pub(super) fn set_length(&mut self, length: u64) {
        let is_cut = length < self.length;
        self.length = length;
        if is_cut {
            self.clear_behind_end();
        }
    }

    /// Makes zeroes of whatever blocks have behind the file's end, so that a file that grows again has zeroes there.
    pub(super) fn clear_behind_end(&mut self) {
        let (index, rest) = place(self.length);
        drop(self.blocks.split_off(&(index + u64::from(rest > 0))));
        if let Some(last) = self.blocks.get_mut(&index) {
            Arc::make_mut(last)[rest..].fill(0);
        }
    }

    /// Writes, growing as needed.
    pub(super) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        self.length = self.length.max(offset + bytes.len() as u64);
        let (mut index, mut at) = place(offset);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - at));
            let block = self.blocks.entry(index).or_insert_with(|| Arc::new([0; BLOCK_BYTES]));
            Arc::make_mut(block)[at..at + now.len()].copy_from_slice(now);
            (index, at, bytes) = (index + 1, 0, later);
        }
    }

    /// Reads until `buffer` is full or the file ends; answers the bytes read.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let length = buffer.len().min(usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX));
        let (mut index, mut at) = place(offset);
        let mut rest = &mut buffer[..length];
        while !rest.is_empty() {
            let (now, later) = rest.split_at_mut(rest.len().min(BLOCK_BYTES - at));
            match self.blocks.get(&index) {
                Some(block) => now.copy_from_slice(&block[at..at + now.len()]),
                None => now.fill(0),
            }
            (index, at, rest) = (index + 1, 0, later);
        }
        length
    }

    /// The first `length` bytes, or all if there are fewer.
    pub(super) fn beginning(&self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.min(usize::try_from(self.length).unwrap_or(usize::MAX))];
        self.read(0, &mut bytes);
        bytes
    }
}
