//! The data directory's checkpoint files: how far each log is on disk, and where it starts.
//!
//! Kafka's names and format. They are replaced as a whole, so a crash leaves the old or the new ones; a log's start
//! is written down before the segments below it go, and its recovery point after what it speaks of was synced.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use parking_lot::Mutex;

use crate::catalogue::Topics;
use crate::disk::Disk;
use crate::log::Opening;
use crate::log::format::offset_checkpoint;
use crate::partition::PartitionCheckpoint;

const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const CLEANED: &str = "cleaner-offset-checkpoint";
/// The file of log starts.
pub(crate) const LOG_STARTS: &str = "log-start-offset-checkpoint";
/// All of them.
#[cfg(test)]
pub(crate) const CHECKPOINTS: [&str; 3] = [RECOVERY_POINTS, CLEANED, LOG_STARTS];
/// The largest file that is read: a million partitions.
const FILE_BYTES_MAX: usize = 256 << 20;

type Offsets = HashMap<String, Vec<(i32, i64)>>;

/// What the files said at start.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// `None` without a readable file.
    recovery_points: Option<Offsets>,
    log_starts: Offsets,
    cleaned: Offsets,
    clean: bool,
    now_ms: i64,
}

impl Checkpoints {
    /// Reads the files. One that is missing or not readable is passed over: logs are then read as a whole, also without
    /// the file of log starts, for what comes back below them is in nobody's index of transactions.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn read(disk: &dyn Disk, root: &Path, clean: bool, now_ms: i64) -> io::Result<Self> {
        let log_starts = read(disk, &root.join(LOG_STARTS))?;
        let recovery_points = read(disk, &root.join(RECOVERY_POINTS))?.filter(|_| log_starts.is_some());
        let log_starts = log_starts.unwrap_or_default();
        let cleaned = read(disk, &root.join(CLEANED))?.unwrap_or_default();
        Ok(Self { recovery_points, log_starts, cleaned, clean, now_ms })
    }

    /// What is known of a partition's log before it is opened.
    pub(crate) fn opening(&self, topic: &str, partition: i32) -> Opening {
        let of = |offsets: &Offsets| {
            let partitions = offsets.get(topic)?;
            let place = partitions.binary_search_by_key(&partition, |(index, _)| *index).ok()?;
            Some(partitions[place].1)
        };
        Opening {
            clean: self.clean,
            recovery_point: self.recovery_points.as_ref().and_then(of).unwrap_or(0),
            is_known: self.recovery_points.is_some(),
            log_start_offset: of(&self.log_starts).unwrap_or(0),
            cleaned_to: of(&self.cleaned),
            now_ms: self.now_ms,
        }
    }
}

/// Writes the files, one writer at a time.
#[derive(Default)]
pub(crate) struct CheckpointFiles {
    /// Digests of what was last written to each.
    written: Mutex<HashMap<&'static str, u64>>,
}

impl CheckpointFiles {
    /// Replaces the files by where the topics' partitions stand, as far as that is news, and tells the partitions that
    /// they stand there. Blocks.
    ///
    /// # Errors
    /// What the disk says; the old files stay then.
    pub(crate) fn write(&self, disk: &dyn Disk, root: &Path, topics: &Topics) -> io::Result<()> {
        // Held from before the partitions are asked: a later writer must not be overtaken by an earlier one's answers.
        let mut written = self.written.lock();
        let topics = topics.snapshot().sorted();
        let partitions = topics.iter().flat_map(|topic| topic.partitions.iter().map(move |one| (&*topic.name, one)));
        let checkpoints: Vec<_> = partitions.map(|(topic, one)| (topic, one, one.checkpoint())).collect();
        let offsets = checkpoints.iter().map(|(topic, one, checkpoint)| (*topic, one.index(), *checkpoint));
        replace(&mut written, disk, root, offsets)?;
        checkpoints.iter().for_each(|(_, one, checkpoint)| one.checkpoint_written(checkpoint));
        Ok(())
    }

    /// As [`CheckpointFiles::write`], of one partition of nobody's.
    #[cfg(test)]
    pub(crate) fn write_one(&self, disk: &dyn Disk, root: &Path, checkpoint: PartitionCheckpoint) -> io::Result<()> {
        replace(&mut self.written.lock(), disk, root, std::iter::once(("t", 0, checkpoint)))
    }
}

/// Replaces the files whose content is not what was `written`.
fn replace<'a>(
    written: &mut HashMap<&'static str, u64>,
    disk: &dyn Disk,
    root: &Path,
    partitions: impl Iterator<Item = (&'a str, i32, PartitionCheckpoint)>,
) -> io::Result<()> {
    for (name, content) in contents(partitions) {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let digest = hasher.finish();
        if written.get(name) != Some(&digest) {
            // Until this has succeeded nobody knows what is there.
            written.remove(name);
            disk.replace_small(&root.join(name), content.as_bytes())?;
            written.insert(name, digest);
        }
    }
    Ok(())
}

/// The files' names and what they are to hold.
fn contents<'a>(partitions: impl Iterator<Item = (&'a str, i32, PartitionCheckpoint)>) -> [(&'static str, String); 3] {
    let (mut recovery_points, mut log_starts, mut cleaned) = (Vec::new(), Vec::new(), Vec::new());
    for (topic, index, checkpoint) in partitions {
        let entry = |offset| (topic, index, offset);
        recovery_points.extend(Some(checkpoint.recovery_point).filter(|offset| *offset > 0).map(entry));
        log_starts.extend(checkpoint.log_start_offset.map(entry));
        cleaned.extend(checkpoint.cleaned_to.map(entry));
    }
    [(RECOVERY_POINTS, recovery_points), (CLEANED, cleaned), (LOG_STARTS, log_starts)]
        .map(|(name, entries)| (name, offset_checkpoint::encode(entries)))
}

fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Offsets>> {
    let Some(content) = disk.read_small(path, FILE_BYTES_MAX)? else { return Ok(None) };
    // An empty one is what some file systems leave of any in a crash.
    let text = String::from_utf8(content).ok().filter(|text| !text.is_empty());
    let decoded = text.and_then(|text| offset_checkpoint::decode(&text).ok());
    let Some(entries) = decoded else {
        tracing::warn!(path = %path.display(), "passing over a checkpoint file that cannot be read");
        return Ok(None);
    };
    let mut offsets = Offsets::new();
    for (topic, partition, offset) in entries {
        offsets.entry(topic).or_default().push((partition, offset));
    }
    offsets.values_mut().for_each(|partitions| partitions.sort_unstable());
    Ok(Some(offsets))
}
