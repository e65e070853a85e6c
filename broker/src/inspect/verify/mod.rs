//! Holds files against their formats and against each other.
//!
//! ```text
//! data directory   checkpoints, clean stop, topic ids ── partition_directory
//! partition        segments in order ── log_check: offsets, epochs, transactions, records
//!                                        └─ index_check: do the entries lead where they say
//! ```
//!
//! What only a log that was never compacted promises, such as offsets without gaps, is held against it only as long as
//! nothing shows that it was.

mod data_directory;
mod index_check;
mod log_check;
mod partition_directory;
mod segment_files;
mod transactions;

use std::path::Path;

use serde::Serialize;

use super::finding::Findings;
use super::{FileKind, Finding, InspectError, dump, file_name};
use crate::log::format::names::{self, Kind, SegmentFile, Suffix};
use data_directory::DataDirectory;
use log_check::LogCheck;

/// What was looked at, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Partitions, as directories.
    pub partitions: u64,
    /// Segments.
    pub segments: u64,
    /// Batches with a right checksum.
    pub batches: u64,
    /// Records in them, markers included.
    pub records: u64,
    /// Bytes of segments' files.
    pub bytes: u64,
    /// What was found, file by file.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing is wrong; there may be notes.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_wrong)
    }

    fn add(&mut self, findings: Findings) {
        self.findings.extend(findings.into_list());
    }
}

/// Checks a data directory, a partition's directory, or one file of it.
///
/// # Errors
/// [`InspectError`] when something cannot be read at all, or a directory holds nothing to check.
pub fn verify(path: &Path) -> Result<Report, InspectError> {
    let metadata = std::fs::metadata(path).map_err(|source| InspectError::io(path, source))?;
    let mut report = Report::default();
    if !metadata.is_dir() {
        verify_file(path, &mut report)?;
    } else if partition_directory::is_one(path) {
        let around = DataDirectory::around(path);
        partition_directory::verify(path, &around, &mut report)?;
    } else {
        data_directory::verify(path, &mut report)?;
    }
    Ok(report)
}

fn verify_file(path: &Path, report: &mut Report) -> Result<(), InspectError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    match names::parse(&file_name(path)) {
        Some(SegmentFile { base_offset, kind, suffix: Suffix::None }) if kind != Kind::Snapshot => {
            let around = DataDirectory::around(directory);
            let mut check = LogCheck::of_one_segment(directory, &around);
            let log = directory.join(names::log_file(base_offset));
            if log.exists() {
                check.segment(base_offset, report)?;
                check.finish_segment(report);
                return Ok(());
            }
            dump_findings(path, report)
        }
        _ if FileKind::of(path) == FileKind::Other => Err(InspectError::NoLog(path.to_owned())),
        _ => dump_findings(path, report),
    }
}

/// What the file alone shows to be wrong.
fn dump_findings(path: &Path, report: &mut Report) -> Result<(), InspectError> {
    let options = dump::DumpOptions { records: true, ..Default::default() };
    dump::dump(path, &options, &mut |_, item| {
        if let super::Item::Finding(finding) = item {
            report.findings.push(finding);
        }
        Ok(())
    })
    .map(|_wrong| ())
}
