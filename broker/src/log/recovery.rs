//! Opening a log: what its files hold is found out by reading them.
//!
//! After a clean stop the batches' headers are trusted; otherwise every checksum is recomputed and the log ends
//! before the first batch that is not whole. What is kept is synced before anyone is served, for a batch that was
//! only in the page cache would otherwise be shown and lost by the next crash.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::epochs::LeaderEpochs;
use super::segment::Segment;
use super::{Log, LogConfig, LogError, ProducerStates};
use crate::disk::{Disk, DiskFile};

/// Bytes read at once while checksums are recomputed.
const CHUNK_BYTES: usize = 1 << 20;
/// In a partition's directory after a failed sync: the offset up to which the log was durable.
const SYNC_FAILED: &str = "sync-failed";
/// Where a batch's checksum begins.
const CHECKSUMMED_FROM: u64 = 21;

impl Log {
    /// Opens the log in `directory`, which need not exist yet. `clean` says that the last stop was.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        directory: PathBuf,
        config: LogConfig,
        clean: bool,
    ) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: directory.clone(), source };
        let bases = segment_bases(&*disk, &directory).map_err(failed)?;
        let mut log = Self {
            disk,
            directory: directory.clone(),
            config,
            segments: Vec::with_capacity(bases.len()),
            log_start_offset: bases.first().copied().unwrap_or(0),
            next_offset: bases.first().copied().unwrap_or(0),
            epochs: LeaderEpochs::default(),
            producers: ProducerStates::default(),
            dirty: Vec::new(),
        };
        let durable_end = log.sync_failed_at().map_err(failed)?;
        for base in bases {
            log.recover_segment(base, clean, durable_end.unwrap_or(i64::MAX)).map_err(failed)?;
        }
        if durable_end.is_some() {
            log.disk.remove(&log.directory.join(SYNC_FAILED)).map_err(failed)?;
        }
        if !clean && !log.segments.is_empty() {
            log.disk.sync_directory(&log.directory).map_err(failed)?;
        }
        Ok(log)
    }

    /// Notes down that a sync failed, and the offset up to which the log is durable: what is behind it in the page
    /// cache, and perhaps in the file, is no evidence. The next start cuts the log there.
    pub(crate) fn mark_sync_failed(&self, durable_end: i64) -> Result<(), LogError> {
        let path = self.directory.join(SYNC_FAILED);
        let written = self.disk.replace_small(&path, durable_end.to_string().as_bytes());
        written.map_err(|source| LogError::Io { path, source })
    }

    fn sync_failed_at(&self) -> io::Result<Option<i64>> {
        let content = self.disk.read_small(&self.directory.join(SYNC_FAILED), 64)?;
        Ok(content.and_then(|content| std::str::from_utf8(&content).ok()?.trim().parse().ok()))
    }

    /// Takes one segment's batches in, up to `end`.
    fn recover_segment(&mut self, base: i64, clean: bool, end: i64) -> io::Result<()> {
        if base != self.next_offset {
            // Behind a gap nothing was ever acknowledged, for the high watermark passes a roll only once what
            // precedes it is synced; unless the disk itself lost bytes, so the file is put aside, not removed.
            let path = self.directory.join(format!("{base:020}.log"));
            let aside = path.with_extension("log.quarantined");
            tracing::error!(path = %path.display(), "segment behind the log's end put aside as .quarantined; look at the disk");
            return self.disk.rename(&path, &aside);
        }
        let mut segment = Segment::open(&*self.disk, &self.directory, base)?;
        let length = segment.grown();
        while let Some(header) = whole_batch(&**segment.file(), segment.size(), length, self.next_offset, clean)?
            .filter(|header| header.base_offset < end)
        {
            self.epochs.note(header.leader_epoch, header.base_offset);
            self.producers.note(&header);
            self.next_offset = header.next_offset();
            segment.note(&header);
        }
        let all = segment.size() == length;
        if !all {
            tracing::info!(
                directory = %self.directory.display(), log_end_offset = self.next_offset, dropped_bytes = length - segment.size(),
                "cut the log behind its last whole batch"
            );
            segment.trim()?;
        }
        if !clean || !all {
            segment.file().sync()?;
        }
        self.segments.push(segment);
        Ok(())
    }
}

/// Base offsets of the segment files in a directory, ascending.
fn segment_bases(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<i64>> {
    let entries = disk.list(directory)?;
    let base = |name: &str| name.strip_suffix(".log").filter(|digits| digits.len() == 20)?.parse::<i64>().ok();
    let mut bases: Vec<_> = entries.iter().filter_map(|entry| base(&entry.name)).collect();
    bases.sort_unstable();
    Ok(bases)
}

/// The header of the batch at `position`, when it is whole and continues the log.
fn whole_batch(
    file: &dyn DiskFile,
    position: u64,
    length: u64,
    next_offset: i64,
    clean: bool,
) -> io::Result<Option<BatchHeader>> {
    let mut bytes = [0; HEADER_BYTES];
    if file.read_at(position, &mut bytes)? < HEADER_BYTES {
        return Ok(None);
    }
    let Ok(header) = BatchHeader::parse(&bytes) else { return Ok(None) };
    let fits = position + header.size() as u64 <= length;
    if !fits || header.base_offset < next_offset || header.last_offset_delta < 0 {
        return Ok(None);
    }
    if !clean && checksum(file, position + CHECKSUMMED_FROM, position + header.size() as u64)? != Some(header.checksum)
    {
        return Ok(None);
    }
    Ok(Some(header))
}

/// CRC-32C of a range of the file; `None` when it ends early.
fn checksum(file: &dyn DiskFile, mut position: u64, end: u64) -> io::Result<Option<u32>> {
    let mut buffer = vec![0; CHUNK_BYTES.min((end - position) as usize)];
    let mut checksum = 0;
    while position < end {
        let wanted = buffer.len().min((end - position) as usize);
        let read = file.read_at(position, &mut buffer[..wanted])?;
        if read < wanted {
            return Ok(None);
        }
        checksum = crc32c::crc32c_append(checksum, &buffer[..read]);
        position += read as u64;
    }
    Ok(Some(checksum))
}
