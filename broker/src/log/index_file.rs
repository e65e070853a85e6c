//! One of a segment's two sparse indexes, in Kafka's format: `.index` or `.timeindex`.
//!
//! While its segment is written to, an index is a file plus the entries that are not in it yet, so that memory stays
//! small however large the segment is. Sealed, it is mapped into memory when it is first looked into. Entries only
//! grow, and those in the file never change.

use std::io;
use std::sync::{Arc, OnceLock};

use super::files::LogFiles;
use super::format::offset_index::{self, OffsetIndexEntry};
use super::format::time_index::{self, TimeIndexEntry};
use super::read::ReadFrom;
use crate::disk::{FileKind, MappedFile};

/// Entries kept in memory before they are written; 4 KiB of an offset index.
const TAIL_ENTRIES_MAX: usize = 512;

/// An entry of either index.
pub(super) trait IndexEntry: Copy {
    /// The index's kind of file.
    const KIND: FileKind;
    /// Bytes of an entry.
    const BYTES: usize;
    /// Writes it behind `to`.
    fn write(self, to: &mut Vec<u8>);
    /// Reads it from the front of at least [`IndexEntry::BYTES`] bytes.
    fn read(from: &[u8]) -> Self;
}

/// An index of a segment; clones see what it held when they were made.
#[derive(Clone)]
pub(super) struct IndexFile<E> {
    /// Entries in the file.
    written: u32,
    /// Entries behind those.
    tail: Vec<E>,
    last: Option<E>,
    /// Set once the index is sealed.
    map: Option<Arc<OnceLock<MappedFile>>>,
}

impl<E: IndexEntry> IndexFile<E> {
    /// An index with nothing in it.
    pub(super) fn empty() -> Self {
        Self { written: 0, tail: Vec::new(), last: None, map: None }
    }

    /// The index that is in the file; `None` when the file is missing, or not whole entries.
    pub(super) fn load(files: &LogFiles, segment: i64) -> io::Result<Option<Self>> {
        match files.length(segment, E::KIND)? {
            Some(length) if length % E::BYTES as u64 == 0 => Self::load_begun(files, segment),
            _ => Ok(None),
        }
    }

    /// The whole entries that are in the file of a segment written to; `None` when there is none. What a crash left
    /// behind them is written over.
    pub(super) fn load_begun(files: &LogFiles, segment: i64) -> io::Result<Option<Self>> {
        let Some(length) = files.length(segment, E::KIND)? else { return Ok(None) };
        let Ok(written) = u32::try_from(length / E::BYTES as u64) else { return Ok(None) };
        let mut index = Self { written, ..Self::empty() };
        if let Some(last) = written.checked_sub(1) {
            index.last = Some(index.entry(files, segment, last, ReadFrom::Disk)?);
        }
        Ok(Some(index))
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> u32 {
        self.written + self.tail.len() as u32
    }

    /// Whether nothing was ever written to the file.
    pub(super) fn is_new(&self) -> bool {
        self.written == 0
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<E> {
        self.last
    }

    /// Adds an entry; true when so many wait that they should be [written](Self::flush).
    pub(super) fn push(&mut self, entry: E) -> bool {
        self.tail.push(entry);
        self.last = Some(entry);
        self.tail.len() >= TAIL_ENTRIES_MAX
    }

    /// Writes what waits; false when nothing did.
    pub(super) fn flush(&mut self, files: &LogFiles, segment: i64) -> io::Result<bool> {
        if self.tail.is_empty() {
            return Ok(false);
        }
        let mut bytes = Vec::with_capacity(self.tail.len() * E::BYTES);
        self.tail.iter().for_each(|entry| entry.write(&mut bytes));
        let file = files.open(segment, E::KIND)?;
        file.write_at(u64::from(self.written) * E::BYTES as u64, &mut [io::IoSlice::new(&bytes)])?;
        self.written += self.tail.len() as u32;
        self.tail = Vec::new();
        Ok(true)
    }

    /// Writes what waits and cuts the file to it; makes the file when there is none.
    pub(super) fn complete(&mut self, files: &LogFiles, segment: i64) -> io::Result<()> {
        self.flush(files, segment)?;
        let length = u64::from(self.written) * E::BYTES as u64;
        if files.length(segment, E::KIND)? != Some(length) {
            files.open(segment, E::KIND)?.truncate(length)?;
        }
        Ok(())
    }

    /// Nothing is added any more.
    pub(super) fn mark_sealed(&mut self) {
        self.map.get_or_insert_default();
    }

    /// Keeps the first `entries`, in the file too: what stands behind them there would be taken for entries one day.
    pub(super) fn truncate(&mut self, files: &LogFiles, segment: i64, entries: u32) -> io::Result<()> {
        self.tail.truncate(entries.saturating_sub(self.written) as usize);
        if entries < self.written {
            self.written = entries;
            files.open(segment, E::KIND)?.truncate(u64::from(entries) * E::BYTES as u64)?;
        }
        self.map = None;
        self.last = match entries.checked_sub(1) {
            Some(last) => Some(self.entry(files, segment, last, ReadFrom::Disk)?),
            None => None,
        };
        Ok(())
    }

    /// Takes every entry out, of the file too and durably, whatever is in it.
    pub(super) fn clear(&mut self, files: &LogFiles, segment: i64) -> io::Result<()> {
        *self = Self::empty();
        if files.length(segment, E::KIND)?.is_some_and(|length| length > 0) {
            let file = files.open(segment, E::KIND)?;
            file.truncate(0)?;
            file.sync()?;
        }
        Ok(())
    }

    /// Writes what waits, durably.
    pub(super) fn flush_durably(&mut self, files: &LogFiles, segment: i64) -> io::Result<()> {
        if self.flush(files, segment)? {
            files.open(segment, E::KIND)?.sync()?;
            files.disk().sync_directory(files.directory())?;
        }
        Ok(())
    }

    /// How many entries from the first on may be kept: those for which `follows` holds of each and the one before.
    pub(super) fn sound_entries(
        &self,
        files: &LogFiles,
        segment: i64,
        follows: impl Fn(Option<E>, E) -> bool,
    ) -> io::Result<u32> {
        if self.written == 0 {
            return Ok(0);
        }
        let file = files.open_existing(segment, E::KIND)?;
        let mut bytes = vec![0; E::BYTES * self.written.min(4096) as usize];
        let (mut sound, mut previous) = (0, None);
        while sound < self.written {
            let wanted = bytes.len().min((self.written - sound) as usize * E::BYTES);
            let read = file.read_at(u64::from(sound) * E::BYTES as u64, &mut bytes[..wanted])?;
            if read < wanted {
                return Ok(sound);
            }
            for entry in bytes[..wanted].chunks_exact(E::BYTES).map(E::read) {
                if !follows(previous, entry) {
                    return Ok(sound);
                }
                (previous, sound) = (Some(entry), sound + 1);
            }
        }
        Ok(sound)
    }

    /// The last entry for which `is_before` holds; it holds for all those before it.
    pub(super) fn last_where(
        &self,
        files: &LogFiles,
        segment: i64,
        from: ReadFrom,
        is_before: impl Fn(E) -> bool,
    ) -> io::Result<Option<E>> {
        let behind = self.partition_point(files, segment, from, is_before)?;
        behind.checked_sub(1).map(|last| self.entry(files, segment, last, from)).transpose()
    }

    /// The first entry for which `is_before` does not hold.
    pub(super) fn first_not(
        &self,
        files: &LogFiles,
        segment: i64,
        from: ReadFrom,
        is_before: impl Fn(E) -> bool,
    ) -> io::Result<Option<E>> {
        let behind = self.partition_point(files, segment, from, is_before)?;
        (behind < self.len()).then(|| self.entry(files, segment, behind, from)).transpose()
    }

    fn partition_point(
        &self,
        files: &LogFiles,
        segment: i64,
        from: ReadFrom,
        is_before: impl Fn(E) -> bool,
    ) -> io::Result<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.entry(files, segment, middle, from)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The entry at `place`, which exists.
    pub(super) fn entry(&self, files: &LogFiles, segment: i64, place: u32, from: ReadFrom) -> io::Result<E> {
        if let Some(entry) = place.checked_sub(self.written).and_then(|place| self.tail.get(place as usize)) {
            return Ok(*entry);
        }
        let start = place as usize * E::BYTES;
        if let Some(map) = self.mapped(files, segment, from)? {
            return map.get(start..start + E::BYTES).map(E::read).ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..E::BYTES];
        let file = files.open_existing(segment, E::KIND)?;
        let read = match from {
            ReadFrom::Memory => file.read_cached_at(start as u64, bytes)?,
            ReadFrom::Disk => file.read_at(start as u64, bytes)?,
        };
        match from {
            _ if read == bytes.len() => Ok(E::read(bytes)),
            ReadFrom::Memory => Err(io::ErrorKind::WouldBlock.into()),
            ReadFrom::Disk => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The sealed index as memory. Mapping reads the disk, and so does the first look at a page, so a caller that
    /// may not wait gets only what another has mapped and looked into.
    fn mapped(&self, files: &LogFiles, segment: i64, from: ReadFrom) -> io::Result<Option<&MappedFile>> {
        let Some(map) = &self.map else { return Ok(None) };
        if let Some(mapped) = map.get() {
            return Ok(Some(mapped));
        }
        if from == ReadFrom::Memory {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let file = files.open_existing(segment, E::KIND)?;
        // A process may have only so many maps: what cannot be mapped is read.
        let Ok(mapped) = file.map(self.written as usize * E::BYTES) else { return Ok(None) };
        Ok(Some(map.get_or_init(|| mapped)))
    }
}

impl IndexEntry for OffsetIndexEntry {
    const KIND: FileKind = FileKind::OffsetIndex;
    const BYTES: usize = offset_index::ENTRY_BYTES;

    fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.encode());
    }

    fn read(from: &[u8]) -> Self {
        Self::decode(*from.first_chunk().expect("an entry's bytes"))
    }
}

impl IndexEntry for TimeIndexEntry {
    const KIND: FileKind = FileKind::TimeIndex;
    const BYTES: usize = time_index::ENTRY_BYTES;

    fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.encode());
    }

    fn read(from: &[u8]) -> Self {
        Self::decode(*from.first_chunk().expect("an entry's bytes"))
    }
}
