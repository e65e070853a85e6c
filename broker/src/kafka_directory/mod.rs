//! Taking over a data directory that Apache Kafka wrote (KRaft): its topics, their ids and settings, its producer ids.
//!
//! Done once, while there is no catalogue: what Kafka's metadata log says becomes one durable batch of the catalogue, and
//! from then on the partitions' folders are ours. Kafka's own `__cluster_metadata-0` stays as it is. Invariant: until
//! that batch is durable nothing in the directory is changed, so that a refusal leaves it to Kafka.

mod image;
mod metadata_log;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use pillion_wire::records::RecordsError;
use thiserror::Error;
use uuid::Uuid;

use crate::catalogue::{ConfigEntry, TopicRecord, check_topic_name};
use crate::disk::Disk;
use crate::leftovers::partition_of;
use crate::log::format::{leader_epoch_checkpoint, partition_metadata};
use crate::topic_config::{TOPIC_CONFIG_KEYS, TopicConfig, TopicValues};
use image::{ClusterImage, RESOURCE_BROKER, RESOURCE_TOPIC, TopicImage};
pub use record::MetadataRecordError;

/// Kafka's metadata log, which this broker never serves, writes or removes.
pub(crate) const METADATA_DIRECTORY: &str = "__cluster_metadata-0";
const PARTITION_METADATA: &str = "partition.metadata";
const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
/// Bytes of the small files in a partition's folder: far above what Kafka writes.
const SMALL_FILE_BYTES_MAX: usize = 16 << 20;

/// A directory that is not taken over; nothing in it was changed.
#[derive(Debug, Error)]
pub enum AdoptionError {
    /// There are partitions, and nothing says what they are.
    #[error(
        "{} holds partitions, but no catalogue of pillion's and no metadata of Apache Kafka's ({METADATA_DIRECTORY}), so their topics and settings are not known; put Kafka's metadata there, or choose another --data-dir",
        .0.display()
    )]
    NoMetadata(PathBuf),
    /// It is one node's share of a cluster.
    #[error(
        "{} is one of several nodes' data: {topic}-{partition} is held by nodes {replicas:?}, not by {node_id}; only a node that holds every partition can be taken over",
        directory.display()
    )]
    PartOfCluster {
        /// The data directory.
        directory: PathBuf,
        /// A topic that is not here as a whole.
        topic: String,
        /// The partition that is missing.
        partition: i32,
        /// Who has it.
        replicas: Vec<i32>,
        /// Who asked.
        node_id: i32,
    },
    /// Kafka's metadata is not readable.
    #[error("Apache Kafka's metadata is damaged in {}; start Kafka once to repair it, or restore a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with a batch; nothing when records are missing before the file.
        #[source]
        source: Option<RecordsError>,
    },
    /// Kafka's metadata holds something unknown.
    #[error("Apache Kafka's metadata in {} is not understood", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What.
        #[source]
        source: MetadataRecordError,
    },
    /// The disk refused.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// What is taken over.
#[derive(Debug, PartialEq)]
pub(crate) struct Adoption {
    /// Topics with their names.
    pub(crate) topics: Vec<(String, TopicRecord)>,
    /// Above every epoch that Kafka led a partition in.
    pub(crate) leader_epoch: i32,
    /// Above every producer id that Kafka gave out.
    pub(crate) next_producer_id: i64,
}

/// Reads what Kafka left in a data directory without a catalogue; `None` when there is nothing of Kafka's. `defaults`
/// are this broker's own settings for topics. Blocks.
///
/// # Errors
/// [`AdoptionError`] when it cannot be taken over.
pub(crate) fn find(
    disk: &dyn Disk,
    root: &Path,
    node_id: i32,
    defaults: &TopicValues,
) -> Result<Option<Adoption>, AdoptionError> {
    let failed = |source| AdoptionError::Io { path: root.to_owned(), source };
    let entries = disk.list(root).map_err(failed)?;
    let folders: BTreeSet<String> =
        entries.into_iter().filter(|entry| entry.is_directory).map(|entry| entry.name).collect();
    let has_partitions = folders.iter().any(|name| partition_of(name).is_some());
    if !has_partitions && !folders.contains(METADATA_DIRECTORY) {
        return Ok(None);
    }
    let image = metadata_log::read(disk, &root.join(METADATA_DIRECTORY))?;
    if image.is_empty() {
        return if has_partitions { Err(AdoptionError::NoMetadata(root.to_owned())) } else { Ok(None) };
    }
    let directory = Directory { disk, root, node_id, folders, image: &image, defaults };
    directory.adopt().map(Some)
}

/// A directory and what its metadata says.
struct Directory<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
    node_id: i32,
    folders: BTreeSet<String>,
    image: &'a ClusterImage,
    defaults: &'a TopicValues,
}

impl Directory<'_> {
    fn adopt(&self) -> Result<Adoption, AdoptionError> {
        let (mut topics, mut leader_epoch) = (Vec::new(), self.image.leader_epoch());
        for (id, topic) in &self.image.topics {
            self.check_replicas(topic)?;
            match self.missing_part(*id, topic)? {
                Some(missing) => tracing::error!(
                    topic = topic.name,
                    missing,
                    "a topic of Kafka's is not taken over, for it is not whole; its folders are put aside"
                ),
                None => {
                    leader_epoch = leader_epoch.max(self.leader_epoch_of(topic)?);
                    let partitions = topic.partitions.len() as i32;
                    let record = TopicRecord { topic_id: *id, partitions, configs: self.settings_of(topic) };
                    topics.push((topic.name.clone(), record));
                }
            }
        }
        let partitions: i32 = topics.iter().map(|(_, record)| record.partitions).sum();
        tracing::warn!(
            topics = topics.len(),
            partitions,
            "takes over Apache Kafka's data directory; settings from its server.properties are not in it"
        );
        let next_producer_id = self.image.next_producer_id;
        Ok(Adoption { topics, leader_epoch: leader_epoch.saturating_add(1), next_producer_id })
    }

    /// A partition that only other nodes hold is no damage: the directory is a part of something.
    fn check_replicas(&self, topic: &TopicImage) -> Result<(), AdoptionError> {
        let elsewhere = topic.partitions.iter().find(|(_, partition)| !partition.replicas.contains(&self.node_id));
        match elsewhere {
            None => Ok(()),
            Some((index, partition)) => Err(AdoptionError::PartOfCluster {
                directory: self.root.to_owned(),
                topic: topic.name.clone(),
                partition: *index,
                replicas: partition.replicas.clone(),
                node_id: self.node_id,
            }),
        }
    }

    /// Why a topic cannot be served, if it cannot.
    fn missing_part(&self, id: Uuid, topic: &TopicImage) -> Result<Option<String>, AdoptionError> {
        if check_topic_name(&topic.name).is_err() {
            return Ok(Some("a name that topics may have".to_owned()));
        }
        if topic.partitions.is_empty() || !topic.partitions.keys().copied().eq(0..topic.partitions.len() as i32) {
            return Ok(Some("partitions numbered from 0".to_owned()));
        }
        for index in topic.partitions.keys() {
            let folder = format!("{}-{index}", topic.name);
            if !self.folders.contains(&folder) {
                return Ok(Some(format!("the folder {folder}")));
            }
            let found = self.read(&folder, PARTITION_METADATA)?;
            let found = found.and_then(|text| partition_metadata::decode(&text).ok());
            match found {
                Some(found) if found == id => {}
                Some(_) => return Ok(Some(format!("its own folder {folder}: that one is of another topic's"))),
                None => return Ok(Some(format!("a readable {PARTITION_METADATA} in {folder}"))),
            }
        }
        Ok(None)
    }

    /// The highest epoch that the topic's folders know of: the metadata may have lost its tail.
    fn leader_epoch_of(&self, topic: &TopicImage) -> Result<i32, AdoptionError> {
        let mut highest = -1;
        for index in topic.partitions.keys() {
            let epochs = self.read(&format!("{}-{index}", topic.name), LEADER_EPOCHS)?;
            let epochs = epochs.and_then(|text| leader_epoch_checkpoint::decode(&text).ok()).unwrap_or_default();
            highest = epochs.iter().map(|(epoch, _)| *epoch).fold(highest, i32::max);
        }
        Ok(highest)
    }

    /// What is set on the topic, and what was set at run time for every topic and differs from this broker's own: such
    /// a setting lives in the metadata only, and a retention forgotten would delete records.
    fn settings_of(&self, topic: &TopicImage) -> Vec<ConfigEntry> {
        let mut entries = Vec::new();
        for (name, value) in self.image.settings(RESOURCE_TOPIC, &topic.name) {
            match TopicConfig::stored([(name, value)], self.defaults) {
                Ok(config) => entries.extend(config.entries().iter().map(|(name, value)| entry(name, value))),
                Err(error) => tracing::warn!(topic = topic.name, %error, "a setting is not taken over"),
            }
        }
        let node = self.node_id.to_string();
        for key in TOPIC_CONFIG_KEYS {
            let of_broker = |name: &str| {
                let settings = self.image.settings(RESOURCE_BROKER, name);
                settings.filter(|(name, _)| key.broker_keys.first() == Some(name)).map(|(_, value)| value).last()
            };
            let Some(value) = of_broker(&node).or_else(|| of_broker("")) else { continue };
            let is_set = entries.iter().any(|entry| entry.name == key.name);
            let mut values = *self.defaults;
            let taken = (key.take)(&mut values, value.trim());
            if let Some(value) = taken.filter(|value| !is_set && *value != (key.show)(self.defaults)) {
                entries.push(entry(key.name, &value));
            }
        }
        entries
    }

    fn read(&self, folder: &str, file: &str) -> Result<Option<String>, AdoptionError> {
        let path = self.root.join(folder).join(file);
        match self.disk.read_small(&path, SMALL_FILE_BYTES_MAX) {
            Ok(content) => Ok(content.and_then(|content| String::from_utf8(content).ok())),
            Err(source) => Err(AdoptionError::Io { path, source }),
        }
    }
}

fn entry(name: &str, value: &str) -> ConfigEntry {
    ConfigEntry { name: name.to_owned(), value: value.to_owned() }
}

/// Whether bytes are a record of Kafka's metadata log: for the fuzz target.
#[cfg(feature = "fuzzing")]
pub(crate) fn is_record(value: &bytes::Bytes) -> bool {
    record::decode(value).is_ok()
}
