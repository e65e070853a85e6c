//! What a partition's directory holds, and what an interrupted change left in it.
//!
//! ```text
//! ….swapping                      a compaction that counts: its .cleaned take their places, what they replace goes
//! ….deleted, ….cleaned, ….tmp     removed: they were never, or are no longer, the log's
//! ….log.swap                      one of Kafka's that counts: it takes its place, over all it was made from
//! ….index.swap and the like       with their .log.swap: they go along; alone: removed
//! ….index and the like alone      removed
//! ….quarantined                   left alone
//! ```

use std::io;

use super::super::files::LogFiles;
use super::super::format::names::{self, Kind, SegmentFile, Suffix};
use super::super::format::swap_list::{self, SwapList};
use super::super::scan::BatchScanner;
use super::super::swapping::take_place;
use super::SYNC_FAILED;
use crate::disk::Entry;

/// The largest list of segments replaced that is read: several hundred thousand of them.
const SWAP_LIST_BYTES_MAX: usize = 16 << 20;

/// The files that are the log's.
pub(super) struct Found {
    /// Base offsets of the segments, ascending.
    pub(super) bases: Vec<i64>,
    /// Offsets of producer snapshots, ascending.
    pub(super) snapshots: Vec<i64>,
    /// Whether there is a checkpoint of leader epochs.
    pub(super) has_epochs: bool,
    /// Whether a sync failed.
    pub(super) sync_failed: bool,
}

impl Found {
    /// Lists the directory and finishes what was interrupted. Segments wholly below `log_start_offset` go: their
    /// deletion was decided before.
    pub(super) fn list(files: &LogFiles, log_start_offset: i64) -> io::Result<Self> {
        let mut entries = files.disk().list(files.directory())?;
        if finish_noted(files, &entries)? {
            entries = files.disk().list(files.directory())?;
        }
        let mut found = Self::sort(files, &entries)?;
        let all = found.bases.len();
        let is_below = found.bases.get(1).is_some_and(|second| *second <= log_start_offset);
        if is_below {
            // A crash must not take the next segment's name and leave it that these are gone.
            files.disk().sync_directory(files.directory())?;
        }
        while let [first, second, ..] = found.bases[..]
            && second <= log_start_offset
        {
            for kind in [Kind::Log, Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Snapshot] {
                let name = SegmentFile { base_offset: first, kind, suffix: Suffix::None }.name();
                files.disk().remove(&files.path_of(&name))?;
            }
            found.bases.remove(0);
            found.snapshots.retain(|snapshot| *snapshot != first);
        }
        if found.bases.len() < all {
            // From now on the names alone tell where the log starts.
            files.disk().sync_directory(files.directory())?;
        }
        Ok(found)
    }

    fn sort(files: &LogFiles, entries: &[Entry]) -> io::Result<Self> {
        let mut found = Self { bases: Vec::new(), snapshots: Vec::new(), has_epochs: false, sync_failed: false };
        let (mut swaps, mut indexes) = (Vec::new(), Vec::new());
        for entry in entries {
            found.has_epochs |= entry.name == super::super::checkpoint::LEADER_EPOCHS;
            found.sync_failed |= entry.name == SYNC_FAILED;
            if entry.name.ends_with(".tmp") {
                files.disk().remove(&entry.path)?;
                continue;
            }
            let Some(file) = names::parse(&entry.name) else { continue };
            match (file.suffix, file.kind) {
                (Suffix::None, Kind::Log) => found.bases.push(file.base_offset),
                (Suffix::None, Kind::Snapshot) => found.snapshots.push(file.base_offset),
                (Suffix::Deleted | Suffix::Cleaned, _) => files.disk().remove(&entry.path)?,
                (Suffix::Swap, _) => swaps.push(file),
                (Suffix::None, _) => indexes.push(file),
                (Suffix::Quarantined, _) => {}
            }
        }
        found.bases.sort_unstable();
        found.snapshots.sort_unstable();
        if !swaps.is_empty() {
            found.finish_swaps(files, &swaps)?;
        }
        // A segment that a crash took may be made anew, and must not find entries of other batches.
        for index in indexes.iter().filter(|index| found.bases.binary_search(&index.base_offset).is_err()) {
            files.disk().remove(&files.path_of(&index.name()))?;
        }
        Ok(found)
    }

    /// Puts finished compactions of Kafka's in their places. A segment's `.log` is renamed to `.swap` last, so with it the
    /// others are whole; what it was made from is every segment that begins inside of it.
    fn finish_swaps(&mut self, files: &LogFiles, swaps: &[SegmentFile]) -> io::Result<()> {
        for swap in swaps.iter().filter(|swap| swap.kind == Kind::Log) {
            let end = end_of_swap(files, *swap)?;
            let replaced: Vec<_> =
                self.bases.iter().copied().filter(|base| (swap.base_offset..end).contains(base)).collect();
            for base in replaced {
                remove_segment(files, base)?;
                self.bases.retain(|one| *one != base);
            }
            // An index of before must not come back once the segment has its name.
            files.disk().sync_directory(files.directory())?;
            let of_segment = swaps.iter().filter(|file| file.base_offset == swap.base_offset && file.kind != Kind::Log);
            for file in of_segment.chain([swap]) {
                let target = SegmentFile { suffix: Suffix::None, ..*file };
                files.disk().rename(&files.path_of(&file.name()), &files.path_of(&target.name()))?;
            }
            self.bases.push(swap.base_offset);
            self.bases.sort_unstable();
        }
        let has_log = |file: &&SegmentFile| {
            swaps.iter().any(|swap| swap.kind == Kind::Log && swap.base_offset == file.base_offset)
        };
        for alone in swaps.iter().filter(|file| !has_log(file)) {
            files.disk().remove(&files.path_of(&alone.name()))?;
        }
        files.disk().sync_directory(files.directory())
    }
}

/// Finishes what compactions had noted down; whether there was any. Each step may have been done before, and the crash
/// may have taken any of them back.
fn finish_noted(files: &LogFiles, entries: &[Entry]) -> io::Result<bool> {
    let lists = entries.iter().filter(|entry| names::is_swap_list(&entry.name));
    let mut any = false;
    for entry in lists {
        let content = files.disk().read_small(&entry.path, SWAP_LIST_BYTES_MAX)?.unwrap_or_default();
        let list = String::from_utf8(content).ok().and_then(|text| swap_list::decode(&text).ok());
        let Some(SwapList { replaced, aborted }) = list else {
            let damage = format!("{} is damaged, so nobody knows which segments are the log's", entry.path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, damage));
        };
        replaced[1..].iter().try_for_each(|base| remove_segment(files, *base))?;
        take_place(files, replaced[0], aborted)?;
        files.disk().sync_directory(files.directory())?;
        files.disk().remove(&entry.path)?;
        files.disk().sync_directory(files.directory())?;
        any = true;
    }
    Ok(any)
}

/// Removes a segment's files, if they are there.
fn remove_segment(files: &LogFiles, base_offset: i64) -> io::Result<()> {
    for kind in [Kind::Log, Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex] {
        let name = SegmentFile { base_offset, kind, suffix: Suffix::None }.name();
        files.disk().remove(&files.path_of(&name))?;
    }
    Ok(())
}

/// The offset behind the last batch of a finished compaction; its base offset when it kept nothing.
fn end_of_swap(files: &LogFiles, swap: SegmentFile) -> io::Result<i64> {
    let file = files.disk().open_existing(&files.path_of(&swap.name()))?;
    let length = file.length()?;
    let mut scanner = BatchScanner::new(file, 0, length);
    let mut end = swap.base_offset + 1;
    while let Some((_, header)) = scanner.next_header()? {
        end = header.next_offset();
    }
    Ok(end)
}
