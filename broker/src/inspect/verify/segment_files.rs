//! A segment and the indexes beside it, opened for one pass over its batches.

use std::path::Path;
use std::rc::Rc;

use super::super::finding::Findings;
use super::super::index::{aborted_transactions, offset_entries, time_entries};
use super::super::{InspectError, Segment};
use super::index_check::{OffsetIndexCheck, TimeIndexCheck};
use super::transactions::TransactionIndexCheck;
use crate::log::format::names;

/// The files of one segment while it is read.
pub(super) struct SegmentFiles {
    /// Shared, so that its pieces can be walked while findings are added here.
    pub(super) segment: Rc<Segment>,
    /// What is wrong with the segment.
    pub(super) findings: Findings,
    /// Missing offsets, which compaction explains.
    pub(super) gaps: Findings,
    /// Leader epochs above what the checkpoint says, which a later fall explains.
    pub(super) epochs: Findings,
    pub(super) offset_index: OffsetIndexCheck,
    pub(super) time_index: TimeIndexCheck,
    pub(super) transaction_index: TransactionIndexCheck,
    /// Whether there is a file of it; a missing one is made by a broker's start.
    pub(super) has_offset_index: bool,
    /// Likewise.
    pub(super) has_time_index: bool,
    /// Whether a batch was found so far.
    pub(super) has_batches: bool,
}

impl SegmentFiles {
    /// Opens what is derived first: a running broker writes it last, so that all it names is in the segment.
    pub(super) fn open(directory: &Path, base_offset: i64) -> Result<Self, InspectError> {
        let log = directory.join(names::log_file(base_offset));
        let offset_path = directory.join(names::offset_index_file(base_offset));
        let time_path = directory.join(names::time_index_file(base_offset));
        let aborted_path = directory.join(names::transaction_index_file(base_offset));
        let mut offset_findings = Findings::of(&offset_path);
        let offsets = if_there(offset_entries(&offset_path, base_offset, &mut offset_findings))?;
        let mut time_findings = Findings::of(&time_path);
        let times = if_there(time_entries(&time_path, base_offset, &mut time_findings))?;
        let mut aborted_findings = Findings::of(&aborted_path);
        let aborted = if_there(aborted_transactions(&aborted_path, &mut aborted_findings))?.unwrap_or_default();
        let unless_compacted = Findings::of(&aborted_path);
        Ok(Self {
            segment: Rc::new(Segment::open(&log)?),
            findings: Findings::of(&log),
            gaps: Findings::of(&log),
            epochs: Findings::of(&log),
            has_offset_index: offsets.is_some(),
            has_time_index: times.is_some(),
            offset_index: OffsetIndexCheck::new(offsets.unwrap_or_default(), offset_findings),
            time_index: TimeIndexCheck::new(times.unwrap_or_default(), time_findings),
            transaction_index: TransactionIndexCheck::new(aborted, aborted_findings, unless_compacted),
            has_batches: false,
        })
    }
}

fn if_there<T>(read: Result<T, InspectError>) -> Result<Option<T>, InspectError> {
    match read {
        Err(error) if error.is_gone() => Ok(None),
        read => read.map(Some),
    }
}
