//! Starting and stopping a broker.
//!
//! Start: lock the data directory, read `meta.properties`, replay the catalogue or take over what Kafka left, open every log, begin a leader epoch
//! if the last stop was not clean, then bind and serve. Stop: serve no one new, let answers in flight go out, sync
//! and trim the logs, leave the clean-stop marker.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::broker::BrokerState;
use crate::catalogue::{Catalogue, CatalogueError, TopicRecord};
use crate::checkpoints::Checkpoints;
use crate::clock::now_ms;
use crate::config::{BrokerConfig, Durability, SettingsInForce};
use crate::data_directory::{DataDirectory, DataDirectoryError};
use crate::disk::{Disk, OpenFiles, RealDisk};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::kafka_directory::{self, Adoption, AdoptionError};
use crate::leftovers::{self, LeftoversError};
use crate::maintenance::Maintenance;
use crate::metrics::BrokerObserver;
use crate::network::listener::{BoundListener, ConnectionLimits};
use crate::opening::{KnownTopic, open_topics};
use crate::partition::{ClosingSync, PartitionShared, SpaceGuard};
use crate::sync::{DirtyBytes, SyncScheduler};
use crate::topic_config::{TopicConfig, TopicConfigError};
use crate::transactions::coordinator::TRANSACTIONS_TOPIC;

/// Why a broker did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The catalogue cannot be read.
    #[error("cannot read the catalogue in {}", directory.display())]
    Catalogue {
        /// The data directory.
        directory: PathBuf,
        /// Why.
        #[source]
        source: CatalogueError,
    },
    /// The data directory is Apache Kafka's, and cannot be taken over.
    #[error(transparent)]
    Adoption(#[from] AdoptionError),
    /// The data directory holds folders that are nobody's.
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    /// A topic's logs cannot be opened.
    #[error("cannot open topic {topic}")]
    Topic {
        /// The topic.
        topic: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A listener's address is not to be had.
    #[error("cannot listen on {bind}; choose another address, or stop what uses it")]
    Listen {
        /// The address.
        bind: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// No listener was configured.
    #[error("no listener is configured; give one, as 127.0.0.1:9092")]
    NoListener,
    /// The checkpoint files cannot be written.
    #[error("cannot write the checkpoint files in {}", directory.display())]
    Checkpoints {
        /// The data directory.
        directory: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The runtime ended while the broker started.
    #[error("the runtime ended while the broker started")]
    RuntimeEnded,
}

/// A broker to be started.
pub struct Broker;

/// A broker that serves. Dropping it without [`RunningBroker::shutdown`] ends it too, as an unclean stop.
pub struct RunningBroker {
    state: Arc<BrokerState>,
    directory: DataDirectory,
    addresses: Vec<(String, SocketAddr)>,
    connections: TaskTracker,
    maintenance: Maintenance,
    /// Ends every task when dropped.
    stop: DropGuard,
}

impl Broker {
    /// Starts a broker on the operating system's files. Must be called inside a tokio runtime with its time and
    /// I/O drivers.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub async fn start(config: BrokerConfig) -> Result<RunningBroker, StartError> {
        Self::start_on(Arc::new(RealDisk), config).await
    }

    /// Starts a broker on a disk of the caller's.
    ///
    /// # Errors
    /// As [`Broker::start`].
    pub async fn start_on(disk: Arc<dyn Disk>, config: BrokerConfig) -> Result<RunningBroker, StartError> {
        let mut bound = Vec::new();
        for listener in &config.listeners {
            let failed = |source| StartError::Listen { bind: listener.bind.clone(), source };
            bound.push(BoundListener::bind(listener, config.send_buffer_bytes).await.map_err(failed)?);
        }
        if bound.is_empty() {
            return Err(StartError::NoListener);
        }
        let addresses = bound.iter().map(|bound| (bound.listener.name.clone(), bound.listener.bound)).collect();
        if config.durability == Durability::Async {
            tracing::warn!("log.durability=async: acknowledged records are lost if the power is cut");
        }
        let limits = ConnectionLimits::default();
        let opened = tokio::task::spawn_blocking(move || open(disk, config)).await;
        let (state, directory) = opened.map_err(|_| StartError::RuntimeEnded)??;
        let (state, limits) = (Arc::new(state), Arc::new(limits));
        let (connections, stop) = (TaskTracker::new(), CancellationToken::new());
        state.groups.start(state.topics.by_name(OFFSETS_TOPIC), &connections, stop.clone());
        state.transactions.start(state.topics.by_name(TRANSACTIONS_TOPIC), &connections, stop.clone());
        let maintenance = Maintenance::start(&state);
        for listener in bound {
            listener.serve(&state, &limits, &connections, &stop);
        }
        Ok(RunningBroker { state, directory, addresses, connections, maintenance, stop: stop.drop_guard() })
    }
}

impl RunningBroker {
    /// Where each listener is bound, by its name.
    #[must_use]
    pub fn addresses(&self) -> &[(String, SocketAddr)] {
        &self.addresses
    }

    /// Where the first listener is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses[0].1
    }

    /// Looks at it from outside: what it has counted, and whether it is ready.
    #[must_use]
    pub fn observer(&self) -> BrokerObserver {
        BrokerObserver::new(&self.state)
    }

    /// Bytes of large requests that are being received or worked on: what `queued.max.request.bytes` bounds.
    #[must_use]
    pub fn request_bytes_in_use(&self) -> usize {
        self.state.request_memory.in_use()
    }

    /// Takes from another configuration what can be changed while the broker runs; what was changed by requests stays
    /// in force over it. Answers the keys that differ and wait for the next start.
    ///
    /// # Errors
    /// [`StopError::RuntimeEnded`].
    pub async fn reload(&self, config: BrokerConfig) -> Result<Vec<&'static str>, StopError> {
        let state = Arc::clone(&self.state);
        let reloaded = tokio::task::spawn_blocking(move || state.reload_settings(&config));
        reloaded.await.map_err(|_| StopError::RuntimeEnded)
    }

    /// Stops cleanly: the next start finds nothing to recover.
    ///
    /// # Errors
    /// [`StopError`] when something could not be synced; the next start recovers then.
    pub async fn shutdown(self) -> Result<(), StopError> {
        let Self { state, directory, connections, maintenance, stop, .. } = self;
        drop(stop);
        // Members that wait for others are told to come again, or the connections would wait with them.
        state.groups.stop();
        state.transactions.stop();
        connections.close();
        connections.wait().await;
        let close = move || {
            maintenance.stop();
            close(&state, directory)
        };
        tokio::task::spawn_blocking(close).await.map_err(|_| StopError::RuntimeEnded)?
    }
}

/// Why a stop was not clean.
#[derive(Debug, Error)]
pub enum StopError {
    /// A log could not be synced.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The marker could not be written.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The checkpoint files could not be written.
    #[error("cannot write the checkpoint files")]
    Checkpoints(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The runtime ended first.
    #[error("the runtime ended before the logs were closed")]
    RuntimeEnded,
}

fn open(disk: Arc<dyn Disk>, config: BrokerConfig) -> Result<(BrokerState, DataDirectory), StartError> {
    let open_files = crate::descriptors::raise_limit();
    let root = config.data_directory.clone();
    let directory = DataDirectory::open(Arc::clone(&disk), &root, config.node_id)?;
    let clean = directory.was_stopped_cleanly();
    let failed = |source| StartError::Catalogue { directory: root.clone(), source };
    let files = Arc::new(OpenFiles::new(Arc::clone(&disk), open_files));
    let catalogue = Catalogue::open(&files, &root, clean).map_err(failed)?;
    if catalogue.is_new()
        && let Some(adoption) = kafka_directory::find(&*disk, &root, config.node_id, &config.topic_defaults())?
    {
        let Adoption { topics, leader_epoch, next_producer_id } = adoption;
        catalogue.adopt(topics, leader_epoch, next_producer_id).map_err(failed)?;
    }
    let leader_epoch = catalogue.begin_leader_epoch(clean).map_err(failed)?;
    let shared = Arc::new(PartitionShared {
        files,
        scheduler: SyncScheduler::default(),
        dirty: DirtyBytes::default(),
        space: SpaceGuard::new(root.clone(), config.free_bytes_min),
        durability: config.durability,
        metrics: Arc::default(),
        leader_epoch,
    });
    let topics = catalogue.topics().map_err(failed)?;
    leftovers::clear(shared.disk(), &root, &topics)?;
    let stored = |node_id| catalogue.broker_config(node_id).map_err(failed);
    let settings = SettingsInForce::new(config.clone(), stored(None)?, stored(Some(config.node_id))?);
    let known = known_topics(topics, settings.config())?;
    let unreadable = |source| StartError::DataDirectory(DataDirectoryError::Io { path: root.clone(), source });
    let checkpoints = Checkpoints::read(shared.disk(), &root, clean, now_ms()).map_err(unreadable)?;
    let opened = open_topics(known, &root, &checkpoints, &shared, settings.config().log.recovery_threads);
    if !clean {
        // What recovery found may be in the page cache only: nobody is shown what the next crash would take back.
        shared.disk().sync_all(&root).map_err(unreadable)?;
    }
    let identity = (directory.cluster_id().to_owned(), directory.directory_id());
    let state = BrokerState::new(config, settings, identity, catalogue, shared);
    state.topics.add(opened);
    if !clean {
        state
            .write_checkpoints()
            .map_err(|error| StartError::Checkpoints { directory: root.clone(), source: error.into() })?;
    }
    // From here on only a clean stop leaves the marker again.
    directory.begin()?;
    Ok((state, directory))
}

fn known_topics(topics: Vec<(String, TopicRecord)>, config: &BrokerConfig) -> Result<Vec<KnownTopic>, StartError> {
    let defaults = config.topic_defaults();
    let known = topics.into_iter().map(|(name, record)| {
        let configs = record.configs.iter().map(|entry| (&entry.name, &entry.value));
        let config = TopicConfig::stored(configs, &defaults)
            .map_err(|error: TopicConfigError| StartError::Topic { topic: name.clone(), source: error.into() })?;
        Ok(KnownTopic { name: name.into(), id: record.topic_id, partitions: record.partitions, config })
    });
    known.collect()
}

/// Logs to be closed above which the whole file system is synced instead of each file.
const SYNCED_ONE_BY_ONE_MAX: usize = 64;

fn close(state: &BrokerState, directory: DataDirectory) -> Result<(), StopError> {
    state.partitions.scheduler.stop();
    let mut clean = true;
    let topics = state.topics.snapshot().sorted();
    let mut unsaved = Vec::new();
    for partition in topics.iter().flat_map(|topic| &topic.partitions) {
        match partition.is_unsaved() {
            Some(true) => unsaved.push(partition),
            Some(false) => {}
            None => clean = false,
        }
    }
    let sync = if unsaved.len() > SYNCED_ONE_BY_ONE_MAX { ClosingSync::Whole } else { ClosingSync::OneByOne };
    for partition in &unsaved {
        partition.close(sync).map_err(CatalogueError::from)?;
    }
    if sync == ClosingSync::Whole {
        let root = state.data_directory();
        if let Err(source) = state.partitions.disk().sync_all(root) {
            unsaved.iter().for_each(|partition| partition.note_sync_failure());
            return Err(DataDirectoryError::Io { path: root.to_owned(), source }.into());
        }
    }
    state.catalogue.close()?;
    state.write_checkpoints().map_err(|error| StopError::Checkpoints(error.into()))?;
    if clean {
        directory.mark_clean()?;
    }
    Ok(())
}
