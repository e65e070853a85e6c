//! What is not as it was written: damage in what was durable is told of and left as it is, and segments that do not
//! continue the log are put aside.

use std::io;
use std::sync::Arc;

use super::super::Log;
use super::super::format::names::{self, Kind, SegmentFile, Suffix};
use super::super::scan::BatchScanner;
use crate::disk::{DiskFile, FileKind};

/// Segments put aside that are kept; each power cut may leave one.
const QUARANTINED_MAX: usize = 8;

impl Log {
    /// Puts segments aside that do not continue the log. Nothing in them was ever acknowledged, for the high
    /// watermark passes a roll only once what precedes it is synced; unless the disk itself lost bytes, so the last few
    /// are kept under another name.
    pub(super) fn quarantine(&mut self, bases: &[i64]) -> io::Result<()> {
        for base in bases {
            let path = self.files.path(*base, FileKind::Log);
            tracing::error!(
                path = %path.display(), kept = QUARANTINED_MAX,
                "segment behind the log's end put aside as .quarantined, beside the last such ones; look at the disk, then remove it"
            );
            self.files.disk().rename(&path, &path.with_extension("log.quarantined"))?;
            for kind in [FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TransactionIndex] {
                self.files.disk().remove(&self.files.path(*base, kind))?;
            }
            self.files.forget(*base);
        }
        if bases.is_empty() {
            return Ok(());
        }
        self.remove_old_quarantined()?;
        // They must not be taken for the log's when what precedes them is gone.
        self.files.disk().sync_directory(self.files.directory())
    }

    fn remove_old_quarantined(&self) -> io::Result<()> {
        let entries = self.files.disk().list(self.files.directory())?;
        let parsed = entries.iter().filter_map(|entry| names::parse(&entry.name));
        let mut quarantined: Vec<_> =
            parsed.filter(|file| (file.kind, file.suffix) == (Kind::Log, Suffix::Quarantined)).collect();
        quarantined.sort_unstable_by_key(|file| file.base_offset);
        let old = quarantined.len().saturating_sub(QUARANTINED_MAX);
        let mut old = quarantined.iter().take(old).map(|file: &SegmentFile| self.files.path_of(&file.name()));
        old.try_for_each(|path| self.files.disk().remove(&path))
    }
}

/// Where the batches of a segment end that stand in it from `from` on, by their headers and offsets; an error where
/// anything but zeroes follows.
pub(super) fn end_of_batches(file: &Arc<dyn DiskFile>, base: i64, from: u64, length: u64) -> io::Result<u64> {
    let (mut scanner, mut least) = (BatchScanner::new(Arc::clone(file), from, length), base);
    let mut at = from;
    while let Some((_, header)) = scanner.next_header()?
        && header.base_offset >= least
    {
        (least, at) = (header.next_offset(), scanner.position());
    }
    if is_zero(file, at, length)? { Ok(at) } else { Err(damaged(base, at)) }
}

/// Whether there are only zeroes from `from` to `to`.
pub(super) fn is_zero(file: &Arc<dyn DiskFile>, from: u64, to: u64) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    for position in (from..to).step_by(bytes.len()) {
        let read = file.read_at(position, &mut bytes)?;
        if bytes[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error of a segment whose durable part is not readable from byte `at` on.
pub(super) fn damaged(base: i64, at: u64) -> io::Error {
    let damage = format!("segment {base} is damaged at byte {at}, before what was on disk for sure ends");
    io::Error::new(io::ErrorKind::InvalidData, damage)
}
