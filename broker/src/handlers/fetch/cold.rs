//! What of a slice is in memory, and bringing more of it there.
//!
//! An event loop must not wait for the disk. So a slice is probed before it is sent, and cut to what is there. Only when
//! not even its first batch is there a blocking thread waits for the disk, at most [`COLD_READS_MAX`] of them at a time
//! and for at most [`COLD_BYTES`] an answer. Whoever reads on finds the rest in memory: while one answer is sent the
//! kernel is asked to read [`READ_AHEAD_BYTES`] behind it. The bounds are small for the sake of those who wait for the
//! same disk: with 4 GB read back in a memory of 2 GB, another connection's synced record took 0.6 to 2.7 ms at the
//! median, and 6 to 10 ms with read-ahead of 4 MiB four at a time, which read back 1.3 GB/s in place of 0.55.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::Records;
use tokio::runtime::Handle;

use super::context::FetchState;
use crate::disk::residency;
use crate::log::LogSlice;

/// Answers that may wait for the disk at the same time: more would only take turns, and blocking threads are few.
pub(super) const COLD_READS_MAX: usize = 2;
/// Read-ahead requests under way at the same time; beyond, readers do without.
pub(super) const READ_AHEADS_MAX: usize = 2;
/// Bytes that one answer waits for the disk to bring, in one call to the disk; a larger first batch is waited for.
pub(super) const COLD_BYTES: usize = 1 << 20;
/// Bytes asked of the kernel behind what a reader gets.
const READ_AHEAD_BYTES: u64 = 1 << 20;
/// Slices up to this size are read and sent with the rest of the answer; larger ones go by sendfile.
const READ_BYTES_MAX: usize = 32 << 10;
/// Base offset and length at the front of a batch.
const BATCH_FRONT_BYTES: usize = 12;

/// Bytes ready to be sent.
pub(super) enum Part {
    /// Read already.
    Bytes(Bytes),
    /// To be sent by sendfile.
    File(LogSlice),
}

impl Part {
    /// The records of an answer whose slices to be sent are `slices`.
    pub(super) fn into_records(self, slices: &mut Vec<LogSlice>) -> Records {
        match self {
            Self::Bytes(bytes) => Records::Bytes(bytes),
            Self::File(slice) => {
                let records = Records::External { id: slices.len() as u32, length: slice.length as u32 };
                slices.push(slice);
                records
            }
        }
    }
}

/// As much of the slice as is in memory, from its first batch on; `None` when that is not whole.
///
/// # Errors
/// What the operating system answers.
pub(super) fn in_memory(slice: &LogSlice) -> io::Result<Option<Part>> {
    if is_small(slice) {
        let mut bytes = vec![0; slice.length];
        return match slice.file.read_cached_at(slice.position, &mut bytes) {
            Ok(read) if read == slice.length => Ok(Some(Part::Bytes(Bytes::from(bytes)))),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        };
    }
    let length = residency::length_in_memory(&*slice.file, slice.position, slice.length)?;
    if length == slice.length {
        return Ok(Some(Part::File(slice.clone())));
    }
    let mut front = [0; BATCH_FRONT_BYTES];
    if length < front.len() || slice.file.read_cached_at(slice.position, &mut front)? < front.len() {
        return Ok(None);
    }
    Ok((length >= first_batch_bytes(&front)).then(|| Part::File(LogSlice { length, ..slice.clone() })))
}

/// As much of the slice as the disk brings at once, its first batch whole. `budget` is what may be waited for, and is
/// lowered by what was. Blocks.
///
/// # Errors
/// What the operating system answers.
pub(super) fn from_disk(slice: &LogSlice, budget: &mut usize) -> io::Result<Part> {
    if is_small(slice) {
        *budget = budget.saturating_sub(slice.length);
        let mut bytes = vec![0; slice.length];
        read_exactly(slice, &mut bytes)?;
        return Ok(Part::Bytes(Bytes::from(bytes)));
    }
    if let Some(part) = in_memory(slice)? {
        return Ok(part);
    }
    let mut front = [0; BATCH_FRONT_BYTES];
    read_exactly(slice, &mut front)?;
    let length = (*budget).max(first_batch_bytes(&front)).min(slice.length);
    *budget = budget.saturating_sub(length);
    residency::bring(&*slice.file, slice.position, length, READ_AHEAD_BYTES)?;
    Ok(Part::File(LogSlice { length, ..slice.clone() }))
}

/// Has what comes behind the slice read on a blocking thread, if it is not in memory and not too much is going on.
pub(super) fn read_ahead_behind(state: &FetchState, slice: &LogSlice) {
    let behind = LogSlice { position: slice.position + slice.length as u64, ..slice.clone() };
    // Half of the window is still there: the next answer will look again.
    let is_missing = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
    if !behind.file.read_cached_at(behind.position + READ_AHEAD_BYTES / 2, &mut [0]).is_err_and(is_missing) {
        return;
    }
    let (Ok(permit), Ok(runtime)) = (Arc::clone(&state.read_aheads).try_acquire_owned(), Handle::try_current()) else {
        return;
    };
    runtime.spawn_blocking(move || {
        residency::read_ahead(&*behind.file, behind.position, READ_AHEAD_BYTES);
        drop(permit);
    });
}

fn is_small(slice: &LogSlice) -> bool {
    slice.length <= READ_BYTES_MAX || slice.file.descriptor().is_none()
}

fn first_batch_bytes(front: &[u8; BATCH_FRONT_BYTES]) -> usize {
    let [.., a, b, c, d] = *front;
    BATCH_FRONT_BYTES + u32::from_be_bytes([a, b, c, d]) as usize
}

fn read_exactly(slice: &LogSlice, bytes: &mut [u8]) -> io::Result<()> {
    if slice.file.read_at(slice.position, bytes)? < bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
