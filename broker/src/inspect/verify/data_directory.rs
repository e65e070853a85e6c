//! A data directory: its checkpoints, and every partition in it.

use std::collections::HashMap;
use std::path::Path;

use super::super::finding::{Findings, REBUILT};
use super::super::{InspectError, entries, file_name, small_file};
use super::{Report, partition_directory};
use crate::log::format::{offset_checkpoint, partition_metadata};

type Offsets = HashMap<(String, i32), i64>;

/// What a data directory says of its partitions; empty where it does not.
#[derive(Debug, Default)]
pub(super) struct DataDirectory {
    cleaned_to: Offsets,
    recovery_points: Offsets,
    log_starts: Offsets,
    high_watermarks: Offsets,
    was_stopped_cleanly: bool,
}

/// What it says of one partition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// Up to where the log was compacted.
    pub(super) cleaned_to: Option<i64>,
    /// Below it everything is durable.
    pub(super) recovery_point: Option<i64>,
    /// The first offset there is.
    pub(super) log_start: Option<i64>,
    /// Below it everything was readable.
    pub(super) high_watermark: Option<i64>,
    /// Everything was synced, and nothing written since.
    pub(super) was_stopped_cleanly: bool,
}

impl DataDirectory {
    /// The data directory that a partition's directory stands in, if it stands in one.
    pub(super) fn around(partition: &Path) -> Self {
        let absolute = std::fs::canonicalize(partition).unwrap_or_default();
        absolute.parent().and_then(|directory| Self::read(directory, &mut Report::default()).ok()).unwrap_or_default()
    }

    fn read(directory: &Path, report: &mut Report) -> Result<Self, InspectError> {
        // Before the checkpoints: a broker that starts takes the marker away before it writes anything.
        let mut offsets = |name: &str| checkpoint(&directory.join(name), report);
        let this = Self {
            cleaned_to: offsets("cleaner-offset-checkpoint")?,
            recovery_points: offsets("recovery-point-offset-checkpoint")?,
            log_starts: offsets("log-start-offset-checkpoint")?,
            high_watermarks: offsets("replication-offset-checkpoint")?,
            was_stopped_cleanly: directory.join(".kafka_cleanshutdown").exists(),
        };
        Ok(this)
    }

    /// What is known of the partition whose directory this is.
    pub(super) fn known_of(&self, partition: &Path) -> Known {
        let absolute = std::fs::canonicalize(partition).unwrap_or_default();
        let Some(key) = topic_partition(&file_name(&absolute)) else { return Known::default() };
        let offset = |offsets: &Offsets| offsets.get(&key).copied();
        Known {
            cleaned_to: offset(&self.cleaned_to),
            recovery_point: offset(&self.recovery_points),
            log_start: offset(&self.log_starts),
            high_watermark: offset(&self.high_watermarks),
            was_stopped_cleanly: self.was_stopped_cleanly,
        }
    }
}

/// Topic and partition of a directory's name.
fn topic_partition(name: &str) -> Option<(String, i32)> {
    let (topic, partition) = name.rsplit_once('-')?;
    Some((topic.to_owned(), partition.parse().ok()?))
}

fn checkpoint(path: &Path, report: &mut Report) -> Result<Offsets, InspectError> {
    let Some(bytes) = small_file::read_if_there(path)? else { return Ok(Offsets::new()) };
    match offset_checkpoint::decode(&String::from_utf8_lossy(&bytes)) {
        Ok(offsets) => Ok(offsets.into_iter().map(|(topic, partition, offset)| ((topic, partition), offset)).collect()),
        Err(error) => {
            let mut findings = Findings::of(path);
            findings.repairable(None, error.to_string(), REBUILT);
            report.add(findings);
            Ok(Offsets::new())
        }
    }
}

/// Checks every partition of a data directory.
pub(super) fn verify(directory: &Path, report: &mut Report) -> Result<(), InspectError> {
    let this = DataDirectory::read(directory, report)?;
    let mut topic_ids = HashMap::new();
    let paths = entries(directory)?;
    for path in paths.iter().filter(|path| partition_directory::is_one(path)) {
        partition_directory::verify(path, &this, report)?;
        topic_id(path, &mut topic_ids, report);
    }
    if report.partitions == 0 {
        return Err(InspectError::NoLog(directory.to_owned()));
    }
    Ok(())
}

/// Partitions of one topic have its one id.
fn topic_id(partition: &Path, ids: &mut HashMap<String, uuid::Uuid>, report: &mut Report) {
    let path = partition.join("partition.metadata");
    let id = small_file::read_text(&path).ok().and_then(|text| partition_metadata::decode(&text).ok());
    let (Some(id), Some((topic, _))) = (id, topic_partition(&file_name(partition))) else { return };
    if *ids.entry(topic).or_insert(id) != id {
        let mut findings = Findings::of(&path);
        let advice = "it may be left from a topic of that name that was deleted: set the directory aside";
        findings.damage(None, "the topic's other partitions have another topic id", advice);
        report.add(findings);
    }
}
