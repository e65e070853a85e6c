//! Finds the log again behind bytes that are no batch: tells damage in a log's middle from its torn end.

use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::{InspectError, Segment};

const WINDOW_BYTES: usize = 64 * 1024;
/// Bytes checksummed in vain before a file is given up: made-up headers could ask for the whole file at every byte.
const EFFORT_MAX: u64 = 256 << 20;
/// Where a batch's format version stands.
const MAGIC_AT: usize = 16;
/// Attribute bits that have a meaning.
const ATTRIBUTES: i16 = 0x7f;

/// What searching one file has cost so far.
#[derive(Debug, Default)]
pub(super) struct Search {
    effort: u64,
}

impl Search {
    /// Where the first whole batch from `from` on begins that has no offset below `next_offset`.
    pub(super) fn next_batch(
        &mut self,
        segment: &Segment,
        mut from: u64,
        next_offset: i64,
    ) -> Result<Option<u64>, InspectError> {
        let mut window = vec![0; WINDOW_BYTES];
        loop {
            let read = segment.read(from, &mut window)?;
            let Some(candidates) = read.checked_sub(HEADER_BYTES) else { return Ok(None) };
            for at in 0..=candidates {
                let position = from + at as u64;
                let bytes = &window[at..at + HEADER_BYTES];
                let Some(header) = candidate(bytes, segment.length().saturating_sub(position), next_offset) else {
                    continue;
                };
                if self.effort > EFFORT_MAX {
                    return Ok(None);
                }
                self.effort += header.size() as u64;
                if segment.is_whole(position, &header)? {
                    return Ok(Some(position));
                }
            }
            from += candidates as u64 + 1;
        }
    }
}

/// The header in `bytes`, when nothing speaks against it.
fn candidate(bytes: &[u8], left: u64, next_offset: i64) -> Option<BatchHeader> {
    if bytes[MAGIC_AT] != 2 {
        return None;
    }
    let header = BatchHeader::parse(bytes).ok()?;
    let fits = header.size() as u64 <= left && header.base_offset >= next_offset;
    let counts = header.last_offset_delta >= 0 && header.record_count >= 0;
    (fits && counts && header.attributes & !ATTRIBUTES == 0).then_some(header)
}
