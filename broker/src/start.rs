//! Starting and stopping a broker.
//!
//! Start: lock the data directory, read `meta.properties`, replay the catalogue, open every log, begin a leader epoch
//! if the last stop was not clean, then bind and serve. Stop: serve no one new, let answers in flight go out, sync
//! and trim the logs, leave the clean-stop marker.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::broker::{BrokerState, TopicChangeError};
use crate::catalogue::{Catalogue, CatalogueError};
use crate::config::{BrokerConfig, Durability};
use crate::data_directory::{DataDirectory, DataDirectoryError};
use crate::disk::{Disk, RealDisk};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::leftovers::{self, LeftoversError};
use crate::network::listener::{BoundListener, ConnectionLimits};
use crate::partition::{PartitionShared, SpaceGuard};
use crate::sync::{DirtyBytes, SyncScheduler};
use crate::topic_config::{TopicConfig, TopicConfigError};

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
        let limits = ConnectionLimits::new(config.connections_max, config.connections_per_address_max);
        let opened = tokio::task::spawn_blocking(move || open(disk, config)).await;
        let (state, directory) = opened.map_err(|_| StartError::RuntimeEnded)??;
        let (state, limits) = (Arc::new(state), Arc::new(limits));
        let (connections, stop) = (TaskTracker::new(), CancellationToken::new());
        state.groups.start(state.topics.by_name(OFFSETS_TOPIC), &connections, stop.clone());
        for listener in bound {
            listener.serve(&state, &limits, &connections, &stop);
        }
        Ok(RunningBroker { state, directory, addresses, connections, stop: stop.drop_guard() })
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

    /// Bytes of large requests that are being received or worked on: what `queued.max.request.bytes` bounds.
    #[must_use]
    pub fn request_bytes_in_use(&self) -> usize {
        self.state.request_memory.in_use()
    }

    /// Stops cleanly: the next start finds nothing to recover.
    ///
    /// # Errors
    /// [`StopError`] when something could not be synced; the next start recovers then.
    pub async fn shutdown(self) -> Result<(), StopError> {
        let Self { state, directory, connections, stop, .. } = self;
        drop(stop);
        // Members that wait for others are told to come again, or the connections would wait with them.
        state.groups.stop();
        connections.close();
        connections.wait().await;
        tokio::task::spawn_blocking(move || close(&state, directory)).await.map_err(|_| StopError::RuntimeEnded)?
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
    /// The runtime ended first.
    #[error("the runtime ended before the logs were closed")]
    RuntimeEnded,
}

fn open(disk: Arc<dyn Disk>, config: BrokerConfig) -> Result<(BrokerState, DataDirectory), StartError> {
    crate::descriptors::raise_limit();
    let root = config.data_directory.clone();
    let directory = DataDirectory::open(Arc::clone(&disk), &root, config.node_id)?;
    let clean = directory.was_stopped_cleanly();
    let failed = |source| StartError::Catalogue { directory: root.clone(), source };
    let catalogue = Catalogue::open(&disk, &root, clean).map_err(failed)?;
    let leader_epoch = catalogue.begin_leader_epoch(clean).map_err(failed)?;
    let shared = PartitionShared {
        disk,
        scheduler: SyncScheduler::default(),
        dirty: DirtyBytes::default(),
        space: SpaceGuard::new(root.clone(), config.free_bytes_min),
        durability: config.durability,
        leader_epoch,
    };
    let topics = catalogue.topics().map_err(failed)?;
    leftovers::clear(&*shared.disk, &root, &topics, catalogue.is_new())?;
    let cluster_id = directory.cluster_id().to_owned();
    let state = BrokerState::new(config, cluster_id, catalogue, Arc::new(shared));
    let mut opened = Vec::with_capacity(topics.len());
    for (name, record) in topics {
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| StartError::Topic { topic: name.clone(), source };
        let configs = record.configs.iter().map(|entry| (entry.name.clone(), entry.value.clone()));
        let config = TopicConfig::new(configs).map_err(|error: TopicConfigError| failed(error.into()))?;
        let topic = state.open_topic(&name, &record, config, clean);
        opened.push(topic.map_err(|error: TopicChangeError| failed(error.into()))?);
    }
    state.topics.add(opened);
    // From here on only a clean stop leaves the marker again.
    directory.begin()?;
    Ok((state, directory))
}

fn close(state: &BrokerState, directory: DataDirectory) -> Result<(), StopError> {
    state.partitions.scheduler.stop();
    let mut clean = true;
    for topic in state.topics.snapshot().sorted() {
        for partition in &topic.partitions {
            clean &= partition.close().map_err(CatalogueError::from)?;
        }
    }
    state.catalogue.close()?;
    if clean {
        directory.mark_clean()?;
    }
    Ok(())
}
