//! The data directory's checkpoint files: how far each log is on disk, and where it starts.
//!
//! Kafka's names and format. They are replaced as a whole, so a crash leaves the old or the new ones; a log's start
//! is written down before the segments below it go, and its recovery point after what it speaks of was synced.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::catalogue::{Topic, Topics};
use crate::disk::Disk;
use crate::log::Opening;
use crate::log::format::offset_checkpoint;

const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const CLEANED: &str = "cleaner-offset-checkpoint";
const LOG_STARTS: &str = "log-start-offset-checkpoint";
/// The largest file that is read: a million partitions.
const FILE_BYTES_MAX: usize = 256 << 20;

type Offsets = HashMap<String, Vec<(i32, i64)>>;

/// What the files said at start.
#[derive(Default)]
pub(crate) struct Checkpoints {
    recovery_points: Offsets,
    log_starts: Offsets,
    cleaned: Offsets,
    clean: bool,
    now_ms: i64,
}

impl Checkpoints {
    /// Reads the files. One that is missing or not readable is passed over: logs are then read as a whole.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn read(disk: &dyn Disk, root: &Path, clean: bool, now_ms: i64) -> io::Result<Self> {
        let recovery_points = read(disk, &root.join(RECOVERY_POINTS))?;
        let log_starts = read(disk, &root.join(LOG_STARTS))?;
        let cleaned = read(disk, &root.join(CLEANED))?;
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
            recovery_point: of(&self.recovery_points).unwrap_or(0),
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
    /// Replaces the files by where the topics' partitions stand, as far as that is news. Blocks.
    ///
    /// # Errors
    /// What the disk says; the old files stay then.
    pub(crate) fn write(&self, disk: &dyn Disk, root: &Path, topics: &Topics) -> io::Result<()> {
        // Held from before the partitions are asked: a later writer must not be overtaken by an earlier one's answers.
        let mut written = self.written.lock();
        let topics = topics.snapshot().sorted();
        for (name, content) in contents(&topics) {
            let mut hasher = DefaultHasher::new();
            content.hash(&mut hasher);
            let digest = hasher.finish();
            if written.get(name) != Some(&digest) {
                disk.replace_small(&root.join(name), content.as_bytes())?;
                written.insert(name, digest);
            }
        }
        Ok(())
    }
}

/// The files' names and what they are to hold.
fn contents(topics: &[Arc<Topic>]) -> [(&'static str, String); 3] {
    let (mut recovery_points, mut log_starts, mut cleaned) = (Vec::new(), Vec::new(), Vec::new());
    for topic in topics {
        for partition in &topic.partitions {
            let checkpoint = partition.checkpoint();
            let entry = |offset| (&*topic.name, partition.index(), offset);
            recovery_points.extend(Some(checkpoint.recovery_point).filter(|offset| *offset > 0).map(entry));
            log_starts.extend(checkpoint.log_start_offset.map(entry));
            cleaned.extend(checkpoint.cleaned_to.map(entry));
        }
    }
    [(RECOVERY_POINTS, recovery_points), (CLEANED, cleaned), (LOG_STARTS, log_starts)]
        .map(|(name, entries)| (name, offset_checkpoint::encode(entries)))
}

fn read(disk: &dyn Disk, path: &Path) -> io::Result<Offsets> {
    let Some(content) = disk.read_small(path, FILE_BYTES_MAX)? else { return Ok(Offsets::new()) };
    let decoded = String::from_utf8(content).ok().and_then(|text| offset_checkpoint::decode(&text).ok());
    let Some(entries) = decoded else {
        tracing::warn!(path = %path.display(), "passing over a checkpoint file that cannot be read");
        return Ok(Offsets::new());
    };
    let mut offsets = Offsets::new();
    for (topic, partition, offset) in entries {
        offsets.entry(topic).or_default().push((partition, offset));
    }
    offsets.values_mut().for_each(|partitions| partitions.sort_unstable());
    Ok(offsets)
}
