//! What every handler reaches: configuration, topics, and the means to make and delete them.

mod alterations;
mod deletion;
mod names;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use thiserror::Error;
use uuid::Uuid;

use crate::catalogue::{Catalogue, CatalogueError, ConfigEntry, Topic, TopicRecord, Topics};
use crate::checkpoints::CheckpointFiles;
use crate::config::{BrokerConfig, DynamicConfigError, Settings, SettingsInForce};
use crate::groups::coordinator::GroupCoordinator;
use crate::handlers::fetch::FetchState;
use crate::log::{Log, LogConfig, LogError};
use crate::metrics::Metrics;
use crate::network::RequestMemory;
use crate::partition::{Partition, PartitionShared};
use crate::spans::BrokerSpans;
use crate::topic_config::{TopicConfig, TopicConfigError, TopicValues};
use crate::transactions::coordinator::TransactionCoordinator;

use deletion::Leftovers;
pub(crate) use names::NamesTaken;

/// The broker, as handlers see it.
pub(crate) struct BrokerState {
    /// What the broker started with. What can change while it runs is in `settings`.
    pub(crate) config: BrokerConfig,
    /// The settings in force.
    pub(crate) settings: Settings,
    pub(crate) cluster_id: String,
    /// The data directory's id.
    pub(crate) directory_id: Uuid,
    pub(crate) topics: Arc<Topics>,
    pub(crate) catalogue: Catalogue,
    pub(crate) partitions: Arc<PartitionShared>,
    /// Consumer groups and their committed offsets.
    pub(crate) groups: Arc<GroupCoordinator>,
    /// Transactional producers and what is in their transactions.
    pub(crate) transactions: TransactionCoordinator,
    /// Fetch sessions, and the bound on reads from the disk.
    pub(crate) fetches: FetchState,
    /// What requests that are being received or worked on may take.
    pub(crate) request_memory: RequestMemory,
    /// Spans of produced batches.
    pub(crate) spans: BrokerSpans,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// Held while topics are made, changed or deleted: one change at a time.
    topic_changes: Mutex<Leftovers>,
    checkpoint_files: CheckpointFiles,
}

/// A topic to be made.
#[derive(Debug, Clone)]
pub(crate) struct TopicSpec {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) config: TopicConfig,
}

/// Settings of the broker that could not be changed.
#[derive(Debug, Error)]
pub(crate) enum SettingsChangeError {
    /// A change that is not taken.
    #[error(transparent)]
    Config(#[from] DynamicConfigError),
    /// The catalogue could not be written.
    #[error("cannot write the catalogue")]
    Catalogue(#[from] CatalogueError),
}

/// A topic that could not be made or deleted.
#[derive(Debug, Error)]
pub(crate) enum TopicChangeError {
    /// There is one of that name.
    #[error("topic {0} already exists")]
    Exists(String),
    /// There is one whose name becomes the same in metric names, where dots are underscores.
    #[error("topic {name} collides with {existing}: dots and underscores are not told apart in metric names")]
    Collides {
        /// The name wanted.
        name: String,
        /// The topic there is.
        existing: String,
    },
    /// There is none.
    #[error("topic does not exist")]
    Unknown,
    /// A setting that is not taken.
    #[error(transparent)]
    Config(#[from] TopicConfigError),
    /// The catalogue could not be written.
    #[error("cannot write the catalogue")]
    Catalogue(#[from] CatalogueError),
    /// A log could not be opened.
    #[error("cannot open a log")]
    Log(#[from] LogError),
    /// A partition's directory could not be moved out of the way.
    #[error("cannot remove {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}

impl BrokerState {
    pub(crate) fn new(
        config: BrokerConfig,
        settings: SettingsInForce,
        (cluster_id, directory_id): (String, Uuid),
        catalogue: Catalogue,
        partitions: Arc<PartitionShared>,
    ) -> Self {
        let (topics, topic_changes) = (Arc::new(Topics::default()), Mutex::default());
        let checkpoint_files = CheckpointFiles::default();
        let groups = Arc::new(GroupCoordinator::new((&config).into()));
        let (for_markers, of_offsets) = (Arc::clone(&topics), Arc::clone(&groups));
        let transactions =
            TransactionCoordinator::new((&config).into(), for_markers, of_offsets, partitions.leader_epoch);
        let fetches = FetchState::new(&config);
        let request_memory = RequestMemory::new(config.queued_request_bytes_max);
        let spans = BrokerSpans::new(settings.config());
        let metrics = Arc::clone(&partitions.metrics);
        Self {
            config,
            settings: Settings::new(settings),
            cluster_id,
            directory_id,
            topics,
            catalogue,
            partitions,
            groups,
            transactions,
            fetches,
            request_memory,
            spans,
            metrics,
            topic_changes,
            checkpoint_files,
        }
    }

    /// Makes topics: durable in the catalogue first, then in service. Each has its own outcome. Blocks.
    pub(crate) fn create_topics(&self, specs: Vec<TopicSpec>) -> Vec<Result<Arc<Topic>, TopicChangeError>> {
        let mut leftovers = self.topic_changes.lock();
        let existing = self.topics.snapshot();
        let mut names = NamesTaken::of(&existing);
        let defaults = self.topic_defaults();
        let mut records = Vec::new();
        let planned: Vec<_> = specs
            .into_iter()
            .map(|mut spec| {
                names.take(&existing, &spec.name)?;
                self.clear_leftovers(&mut leftovers, &spec.name)?;
                // The broker's own settings may have changed since the request was looked at.
                spec.config = spec.config.over(&defaults);
                let record = TopicRecord::of(&spec);
                records.push((spec.name.clone(), Some(record.clone())));
                Ok((spec, record))
            })
            .collect();
        if let Err(error) = self.catalogue.put_topics(records) {
            let error = Arc::new(error);
            let refuse = |_| TopicChangeError::Catalogue(CatalogueError::Shared(Arc::clone(&error)));
            return planned.into_iter().map(|planned| Err(planned.map_or_else(|error| error, refuse))).collect();
        }
        let made: Vec<_> = planned
            .into_iter()
            .map(|planned| planned.map(|(spec, record)| self.new_topic(&spec.name, &record, spec.config)))
            .collect();
        self.topics.add(made.iter().flatten().cloned());
        made
    }

    /// A new topic in service.
    fn new_topic(&self, name: &str, record: &TopicRecord, config: TopicConfig) -> Arc<Topic> {
        let name: Arc<str> = name.into();
        let partitions = self.new_partitions(&name, record.topic_id, 0..record.partitions, &config);
        Arc::new(Topic { name, id: record.topic_id, partitions, config })
    }

    /// New partitions. Their directories are known to be missing, so nothing is looked for.
    fn new_partitions(
        &self,
        name: &Arc<str>,
        topic_id: Uuid,
        indexes: Range<i32>,
        config: &TopicConfig,
    ) -> Vec<Arc<Partition>> {
        let log_config = Arc::new(LogConfig::from(config));
        let internal = crate::catalogue::is_internal(name);
        let open = |index| {
            let directory = self.partition_directory(name, index);
            let files = Arc::clone(&self.partitions.files);
            let log = Log::nothing(files, &directory, topic_id, Arc::clone(&log_config));
            Arc::new(Partition::new(Arc::clone(name), index, internal, log, Arc::clone(&self.partitions)))
        };
        indexes.map(open).collect()
    }

    /// Writes down how far every log is on disk, and where it starts. Blocks.
    ///
    /// # Errors
    /// [`TopicChangeError::Io`]; what was written before stays.
    pub(crate) fn write_checkpoints(&self) -> Result<(), TopicChangeError> {
        let root = self.data_directory();
        let written = self.checkpoint_files.write(self.partitions.disk(), root, &self.topics);
        written.map_err(|source| TopicChangeError::Io { path: root.to_owned(), source })
    }

    /// Where a partition's files are.
    pub(crate) fn partition_directory(&self, topic: &str, index: i32) -> PathBuf {
        self.data_directory().join(format!("{topic}-{index}"))
    }

    /// What holds now for a topic that does not say otherwise.
    pub(crate) fn topic_defaults(&self) -> TopicValues {
        self.settings.in_force().config().topic_defaults()
    }

    /// Where everything is kept.
    pub(crate) fn data_directory(&self) -> &Path {
        &self.config.data_directory
    }

    /// The same, whatever the process's working directory.
    pub(crate) fn absolute_data_directory(&self) -> PathBuf {
        std::path::absolute(self.data_directory()).unwrap_or_else(|_| self.data_directory().to_owned())
    }

    /// The epoch this broker leads every partition in.
    pub(crate) fn leader_epoch(&self) -> i32 {
        self.partitions.leader_epoch
    }
}

impl TopicRecord {
    fn of(spec: &TopicSpec) -> Self {
        Self { topic_id: Uuid::new_v4(), partitions: spec.partitions, configs: config_entries(&spec.config) }
    }
}

/// A topic's settings as the catalogue keeps them.
fn config_entries(config: &TopicConfig) -> Vec<ConfigEntry> {
    let entry = |(name, value): (&&str, &String)| ConfigEntry { name: (*name).to_owned(), value: value.clone() };
    config.entries().iter().map(entry).collect()
}
