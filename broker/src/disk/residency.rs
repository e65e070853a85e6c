//! Whether bytes of a file are in memory, and bringing them there.
//!
//! sendfile waits for the disk where a byte is not in memory, and cannot be told not to. So whoever must not wait
//! probes before it sends. Probes are 128 KiB apart, as far as the kernel reads ahead unless it is set otherwise: one
//! costs 0.3 µs, those of 50 MiB 0.13 ms where sending takes 12 ms and more. What is between two probes may be missing
//! all the same; then a wait is one for a read of that size.

use std::io;
use std::num::NonZeroU64;

use rustix::fs::{Advice, fadvise};

use super::DiskFile;

/// Distance of the probes, in bytes.
pub(crate) const PROBE_BYTES: usize = 128 << 10;

/// How much from `position` on is in memory, up to `length` bytes, in whole pieces.
///
/// # Errors
/// What the operating system answers.
pub(crate) fn length_in_memory(file: &dyn DiskFile, position: u64, length: usize) -> io::Result<usize> {
    let is_there = |place: usize| match file.read_cached_at(position + place as u64, &mut [0]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    };
    if length == 0 || !is_there(0)? {
        return Ok(0);
    }
    let mut found = 0;
    for place in last_bytes(length) {
        if !is_there(place)? {
            break;
        }
        found = place + 1;
    }
    Ok(found)
}

/// Asks the kernel to read; where it will not, reads only take longer. Returns before the bytes are there, but a large
/// request keeps the caller for a while: 5 MiB took 0.5 ms.
pub(crate) fn read_ahead(file: &dyn DiskFile, position: u64, length: u64) {
    if let Some(descriptor) = file.descriptor() {
        let _ = fadvise(descriptor, position, NonZeroU64::new(length), Advice::WillNeed);
    }
}

/// Brings bytes into memory, and has the kernel read `ahead` more behind them. Blocks.
///
/// # Errors
/// What the operating system answers; [`io::ErrorKind::UnexpectedEof`] when the file ends before.
pub(crate) fn bring(file: &dyn DiskFile, position: u64, length: usize, ahead: u64) -> io::Result<()> {
    read_ahead(file, position, length as u64 + ahead);
    // The kernel reads in order: with the last byte of a piece the others were there each time it was measured.
    for place in last_bytes(length) {
        if file.read_at(position + place as u64, &mut [0])? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// The last byte of each piece, counted from the first one's front.
fn last_bytes(length: usize) -> impl Iterator<Item = usize> {
    (1..=length.div_ceil(PROBE_BYTES)).map(move |piece| (piece * PROBE_BYTES).min(length) - 1)
}
