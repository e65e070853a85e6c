//! Deleting topics: a durable tombstone first, then out of service, then the files.
//!
//! Once its tombstone is durable a topic is deleted, whatever the disk does next. What could not be cleared away then is
//! cleared before another topic gets the name: that one must find neither the files nor the checkpoints of the first.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use super::{BrokerState, TopicChangeError};
use crate::catalogue::Topic;
use crate::error_codes::in_words;

/// What deleted topics left behind because the disk would not let it go, by their names.
#[derive(Default)]
pub(super) struct Leftovers(HashMap<String, Vec<PartitionDirectory>>);

/// A deleted partition's directory, and where it is moved to, so that a topic of the same name can be made at once.
struct PartitionDirectory {
    held: PathBuf,
    aside: PathBuf,
}

impl BrokerState {
    /// Deletes a topic. Blocks.
    ///
    /// # Errors
    /// [`TopicChangeError::Unknown`], or [`TopicChangeError::Catalogue`], and the topic is as it was.
    pub(crate) fn delete_topic(&self, name: &str) -> Result<(), TopicChangeError> {
        let mut leftovers = self.topic_changes.lock();
        let topic = self.topics.by_name(name).ok_or(TopicChangeError::Unknown)?;
        self.catalogue.put_topics([(name.to_owned(), None)])?;
        self.topics.remove(&[name]);
        self.groups.topic_deleted(&topic.name);
        // Whoever waits for the partitions is told before any of the files may fail.
        topic.partitions.iter().for_each(|partition| partition.delete());
        leftovers.0.insert(name.to_owned(), self.directories(&topic));
        if let Err(error) = self.clear_leftovers(&mut leftovers, name) {
            tracing::warn!(
                topic = name,
                error = in_words(&error),
                "a deleted topic's files are still there; they go before its name is used again, or at the next start"
            );
        }
        Ok(())
    }

    /// Clears away what a deleted topic of this name left, if it left anything. Blocks.
    ///
    /// # Errors
    /// [`TopicChangeError::Io`]; what is left is tried again the next time.
    pub(super) fn clear_leftovers(&self, leftovers: &mut Leftovers, name: &str) -> Result<(), TopicChangeError> {
        let Some(directories) = leftovers.0.get_mut(name) else { return Ok(()) };
        let mut result = Ok(());
        directories.retain(|directory| match self.remove_directory(directory) {
            Ok(()) => false,
            Err(source) => {
                result = Err(TopicChangeError::Io { path: directory.held.clone(), source });
                true
            }
        });
        result?;
        // A topic made under the same name must not be held against this one's offsets.
        self.write_checkpoints()?;
        leftovers.0.remove(name);
        Ok(())
    }

    fn directories(&self, topic: &Topic) -> Vec<PartitionDirectory> {
        let directory = |index| {
            let held = self.partition_directory(&topic.name, index);
            let aside = held.with_file_name(format!("{}-{index}.{}-delete", topic.name, topic.id.simple()));
            PartitionDirectory { held, aside }
        };
        topic.partitions.iter().map(|partition| directory(partition.index())).collect()
    }

    fn remove_directory(&self, directory: &PartitionDirectory) -> io::Result<()> {
        let PartitionDirectory { held, aside } = directory;
        match self.partitions.disk().rename(held, aside) {
            Ok(()) => {}
            // A partition never written to has no directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        if let Err(error) = self.partitions.disk().remove(aside) {
            tracing::warn!(path = %aside.display(), %error, "cannot remove a deleted partition; the next start does");
        }
        Ok(())
    }
}
