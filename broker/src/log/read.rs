//! Reading: which bytes of which file answer a fetch.

use std::sync::Arc;

use super::{Log, LogError, LogPosition};
use crate::disk::DiskFile;

/// Whether a reader may wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// Only what is in memory; [`LogError::NotCached`] otherwise.
    Memory,
    /// Whatever it takes.
    Disk,
}

/// Bytes of batches in one segment file; they stay as they are.
#[derive(Clone)]
pub(crate) struct LogSlice {
    /// The segment's file.
    pub(crate) file: Arc<dyn DiskFile>,
    /// First byte.
    pub(crate) position: u64,
    /// Bytes.
    pub(crate) length: usize,
}

impl Log {
    /// Batches from the one that holds `offset` on, below `end`: at most `bytes_max`, but always the first whole.
    /// The last batch may be cut, as Kafka's is. `None` when there is nothing below `end` from `offset` on.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] outside [log start, log end], [`LogError::NotCached`], [`LogError::Io`].
    pub(crate) fn read(
        &self,
        offset: i64,
        end: LogPosition,
        bytes_max: usize,
        from: ReadFrom,
    ) -> Result<Option<LogSlice>, LogError> {
        self.check_range(offset)?;
        if offset >= end.offset {
            return Ok(None);
        }
        let behind = self.segments.partition_point(|segment| segment.base_offset() <= offset);
        for segment in &self.segments[behind.saturating_sub(1)..] {
            if segment.base_offset() > end.segment {
                break;
            }
            let Some((position, header)) = segment.find(offset, from)? else { continue };
            let limit = if segment.base_offset() == end.segment { end.position } else { segment.size() };
            let Some(available) = limit.checked_sub(position).filter(|available| *available > 0) else { break };
            let length = available.min(bytes_max.max(header.size()) as u64) as usize;
            return Ok(Some(LogSlice { file: Arc::clone(segment.file()), position, length }));
        }
        Ok(None)
    }

    /// Whether a reader may stand at `offset`: from the log's start to its end, both included.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`].
    pub(crate) fn check_range(&self, offset: i64) -> Result<(), LogError> {
        if (self.log_start_offset..=self.next_offset).contains(&offset) {
            return Ok(());
        }
        let (log_start_offset, next_offset) = (self.log_start_offset, self.next_offset);
        Err(LogError::OffsetOutOfRange { offset, log_start_offset, next_offset })
    }
}
