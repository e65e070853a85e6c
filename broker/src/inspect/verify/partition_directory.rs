//! One partition's directory: its segments, and every other file in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::finding::{Findings, REBUILT};
use super::super::{FileKind, InspectError, entries, file_name, small_file};
use super::data_directory::DataDirectory;
use super::{LogCheck, Report, dump_findings};
use crate::log::format::names::{self, Kind, SegmentFile, Suffix};
use crate::log::format::producer_snapshot;

/// Whether the directory holds a partition's files.
pub(super) fn is_one(directory: &Path) -> bool {
    let is_its_file = |path: &PathBuf| {
        let name = file_name(path);
        names::parse(&name).is_some() || name == "leader-epoch-checkpoint" || name == "partition.metadata"
    };
    entries(directory).is_ok_and(|entries| entries.iter().any(is_its_file))
}

/// Checks every file of the partition.
pub(super) fn verify(directory: &Path, around: &DataDirectory, report: &mut Report) -> Result<(), InspectError> {
    report.partitions += 1;
    let paths = entries(directory)?;
    let files: Vec<(SegmentFile, &PathBuf)> =
        paths.iter().filter_map(|path| Some((names::parse(&file_name(path))?, path))).collect();
    let segments: BTreeSet<i64> = files
        .iter()
        .filter(|(file, _)| file.kind == Kind::Log && file.suffix == Suffix::None)
        .map(|(file, _)| file.base_offset)
        .collect();
    let mut log = LogCheck::new(directory, around);
    for base_offset in &segments {
        log.set_last(segments.last() == Some(base_offset));
        passing_over_gone(log.segment(*base_offset, report))?;
    }
    if let Some(last) = segments.last() {
        log.finish(&directory.join(names::log_file(*last)), report);
    }
    for (file, path) in files {
        passing_over_gone(beside(file, path, &segments, report))?;
    }
    for path in &paths {
        use FileKind::{LeaderEpochCheckpoint, MetadataSnapshot, PartitionMetadata};
        if matches!(FileKind::of(path), LeaderEpochCheckpoint | PartitionMetadata | MetadataSnapshot) {
            passing_over_gone(dump_findings(path, report))?;
        }
    }
    Ok(())
}

/// A file that the segments' checks have not opened.
fn beside(file: SegmentFile, path: &Path, segments: &BTreeSet<i64>, report: &mut Report) -> Result<(), InspectError> {
    let mut findings = Findings::of(path);
    match file.suffix {
        Suffix::None if file.kind == Kind::Snapshot => snapshot(file.base_offset, path, &mut findings)?,
        Suffix::None if !segments.contains(&file.base_offset) => {
            findings.note(None, "an index without its segment", "delete it while the broker is stopped, or leave it");
        }
        Suffix::None => {}
        Suffix::Deleted => findings.note(None, "no longer the log's", "nothing: the broker deletes it"),
        Suffix::Cleaned | Suffix::Swap => {
            findings.note(
                None,
                "a compaction that has not ended",
                "nothing: the broker's start ends it or takes it back",
            );
        }
        Suffix::Quarantined => {
            let advice = "restore the partition from a backup or a replica, or delete the file to accept the loss";
            findings.damage(None, "set aside by a start because it was damaged; its records are not served", advice);
        }
    }
    report.add(findings);
    Ok(())
}

fn snapshot(offset: i64, path: &Path, findings: &mut Findings) -> Result<(), InspectError> {
    match producer_snapshot::decode(&small_file::read(path)?) {
        Err(error) => findings.repairable(None, error.to_string(), REBUILT),
        Ok(entries) => {
            for entry in entries {
                let known = entry.last_offset.max(entry.current_transaction_first_offset);
                if known >= offset {
                    let what = format!("producer {} has offset {known} in it", entry.producer_id);
                    findings.repairable(None, what, REBUILT);
                }
            }
        }
    }
    Ok(())
}

/// A running broker deletes files while they are looked at.
fn passing_over_gone(result: Result<(), InspectError>) -> Result<(), InspectError> {
    match result {
        Err(error) if error.is_gone() => Ok(()),
        result => result,
    }
}
