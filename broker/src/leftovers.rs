//! What earlier runs, or other programs, left in the data directory.
//!
//! A deletion may have been cut short behind its tombstone: folders `…-delete` go, and a partition's folder whose
//! topic is not in the catalogue is put aside, or a topic made under its name would find the old records. Kafka's own
//! `__cluster_metadata-0` is no partition of ours and stays.

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::catalogue::{TopicRecord, check_topic_name};
use crate::disk::Disk;

const DELETED: &str = "-delete";
const ASIDE: &str = ".quarantined";

/// Folders that cannot be cleared.
#[derive(Debug, Error)]
pub enum LeftoversError {
    /// The disk refused.
    #[error("cannot clear {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// Removes what is deleted, and puts aside what is unknown.
pub(crate) fn clear(disk: &dyn Disk, root: &Path, topics: &[(String, TopicRecord)]) -> Result<(), LeftoversError> {
    let failed = |path: &Path, source| LeftoversError::Io { path: path.to_owned(), source };
    for entry in disk.list(root).map_err(|source| failed(root, source))?.into_iter().filter(|entry| entry.is_directory)
    {
        if entry.name.ends_with(DELETED) {
            disk.remove(&entry.path).map_err(|source| failed(&entry.path, source))?;
            continue;
        }
        let Some((topic, index)) = partition_of(&entry.name) else { continue };
        let known = topics.iter().any(|(name, record)| name == topic && index < record.partitions);
        if known {
            continue;
        }
        let aside = free_name(disk, root, &entry.name).map_err(|source| failed(root, source))?;
        tracing::warn!(from = %entry.path.display(), to = %aside.display(), "a folder of no known topic is put aside");
        disk.rename(&entry.path, &aside).map_err(|source| failed(&entry.path, source))?;
    }
    Ok(())
}

/// Topic and partition that a folder's name says; nothing for the catalogue and for Kafka's metadata, whose names no
/// topic may have.
pub(crate) fn partition_of(name: &str) -> Option<(&str, i32)> {
    let (topic, index) = name.rsplit_once('-')?;
    let index = index.parse().ok().filter(|index| *index >= 0)?;
    check_topic_name(topic).ok().map(|()| (topic, index))
}

/// A name beside `name` that is not taken.
fn free_name(disk: &dyn Disk, root: &Path, name: &str) -> io::Result<PathBuf> {
    let taken = disk.list(root)?;
    let candidates = (0..).map(|number: u32| match number {
        0 => format!("{name}{ASIDE}"),
        number => format!("{name}.{number}{ASIDE}"),
    });
    let mut free = candidates.filter(|candidate| taken.iter().all(|entry| entry.name != *candidate));
    Ok(root.join(free.next().unwrap_or_default()))
}
