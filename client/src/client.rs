//! The client: what producers, consumers and the administrative side share.

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::Request;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::Admin;
use crate::backoff::Backoff;
use crate::committed::{CommittedOffset, GroupMetadata};
use crate::connection::{Connector, Pool};
use crate::consumer::{Consumer, ConsumerConfig};
use crate::coordinator::Coordinators;
use crate::error::ClientError;
use crate::group::{self, GroupConfig, GroupConsumer, GroupError, TopicPartition};
use crate::metadata::{Broker, Metadata, Refresher};
use crate::producer::{Producer, ProducerConfig};
use crate::security::SecurityConfig;
use crate::transaction::{TransactionError, TransactionalConfig, TransactionalProducer};

/// A client's settings, named as Kafka's own.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// `host:port` of some brokers, tried in turn; the others are learnt from them.
    pub bootstrap_servers: Vec<String>,
    /// What the client calls itself to brokers.
    pub client_id: String,
    /// TLS and SASL. Neither.
    pub security: SecurityConfig,
    /// How long an answer may take before its connection is given up, looked at six times in that span. 30 s.
    pub request_timeout: Duration,
    /// From a failure to the next attempt, jittered, doubling up to `retry_backoff_max`. 100 ms.
    pub retry_backoff: Duration,
    /// The longest wait between attempts. 1 s.
    pub retry_backoff_max: Duration,
    /// How old what is known of brokers and leaders may get before it is asked for anew. 5 minutes.
    pub metadata_max_age: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap_servers: Vec::new(),
            client_id: "pillion".to_owned(),
            security: SecurityConfig::default(),
            request_timeout: Duration::from_secs(30),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
        }
    }
}

/// A client of one cluster. Clones share connections and what is known of the cluster.
///
/// Its tasks end with [`Client::shutdown`], or once the last clone and everything made from it is dropped.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientShared>,
}

/// What a client's parts share.
pub(crate) struct ClientShared {
    pub(crate) config: ClientConfig,
    pub(crate) metadata: Arc<Metadata>,
    /// Connections for everything but produce and fetch.
    pub(crate) control: Arc<Pool>,
    pub(crate) connector: Connector,
    pub(crate) coordinators: Coordinators,
}

impl ClientShared {
    /// Asks any broker: connected ones first, then the others in turn.
    ///
    /// # Errors
    /// What the last broker failed with.
    pub(crate) async fn ask_any<R: Request + Clone>(&self, request: &R) -> Result<R::Response, ClientError> {
        self.ask_any_by(|_| request.clone()).await
    }

    /// Asks any broker, likewise, a request that depends on the version it is asked in.
    ///
    /// # Errors
    /// What the last broker failed with.
    pub(crate) async fn ask_any_by<R: Request>(&self, build: impl Fn(i16) -> R) -> Result<R::Response, ClientError> {
        let cluster = self.metadata.cluster();
        let mut brokers: Vec<_> = cluster.brokers.values().collect();
        brokers.sort_by_key(|broker| self.control.established(broker.id).is_none());
        let mut last = ClientError::Closed;
        for broker in brokers {
            let asked = async { self.control.connection(broker).await?.request_by((0, i16::MAX), &build).await };
            match asked.await {
                Ok(response) => return Ok(response),
                Err(error) => last = error.into(),
            }
        }
        self.metadata.request();
        Err(if self.connector.cancelled.is_cancelled() { ClientError::Closed } else { last })
    }

    /// Asks one broker.
    ///
    /// # Errors
    /// What the connection failed with.
    pub(crate) async fn ask<R: Request>(&self, broker: &Broker, request: &R) -> Result<R::Response, ClientError> {
        Ok(self.control.connection(broker).await?.request(request).await?)
    }
}

impl Drop for ClientShared {
    fn drop(&mut self) {
        self.connector.cancelled.cancel();
    }
}

impl Client {
    /// Connects to the first bootstrap server that answers and learns the cluster's brokers from it.
    ///
    /// # Errors
    /// [`ClientError::NoBootstrapServer`] when none answers within the request timeout;
    /// [`ClientError::InvalidBootstrapServer`], [`ClientError::Certificates`]; at once [`ClientError::Connection`] when
    /// a server is there and will not let this client in ([`crate::ConnectionError::needs_other_settings`]).
    pub async fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let connector = Connector {
            client_id: config.client_id.as_str().into(),
            security: Arc::new(config.security.read()?),
            request_timeout: config.request_timeout,
            backoff: Backoff { first: config.retry_backoff, max: config.retry_backoff_max },
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        };
        let control = Arc::new(Pool::new(connector.clone()));
        let end_unless_ready = connector.cancelled.clone().drop_guard();
        let (metadata, refresher) = Refresher::bootstrap(&config, connector.clone(), control.clone()).await?;
        connector.tasks.spawn(refresher.run());
        end_unless_ready.disarm();
        Ok(Self {
            shared: Arc::new(ClientShared {
                config,
                metadata,
                control,
                connector,
                coordinators: Coordinators::default(),
            }),
        })
    }

    /// Ends everything made from this client and waits for its tasks. What is not delivered by then fails with
    /// [`crate::ProduceError::Closed`]: flush producers first.
    pub async fn shutdown(self) {
        let tasks = self.shared.connector.tasks.clone();
        self.shared.connector.cancelled.cancel();
        drop(self);
        tasks.close();
        tasks.wait().await;
    }

    /// A new producer with connections and producer id of its own.
    #[must_use]
    pub fn producer(&self, config: ProducerConfig) -> Producer {
        Producer::start(self.shared.clone(), config, None)
    }

    /// A new producer of transactions. Takes its transactional id over: a producer that had it is fenced from here on,
    /// and a transaction it left open is aborted.
    ///
    /// # Errors
    /// [`TransactionError::TimedOut`] when no coordinator answers; [`TransactionError::Refused`],
    /// [`TransactionError::Unsupported`] where another configuration is needed.
    pub async fn transactional_producer(
        &self,
        config: TransactionalConfig,
    ) -> Result<TransactionalProducer, TransactionError> {
        TransactionalProducer::start(self.shared.clone(), config).await
    }

    /// The administrative side.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(self.shared.clone())
    }

    /// A new consumer with connections of its own and nothing assigned.
    #[must_use]
    pub fn consumer(&self, config: ConsumerConfig) -> Consumer {
        Consumer::new(self.shared.clone(), config)
    }
}

impl Client {
    /// A new member of a consumer group, which joins at once.
    ///
    /// # Errors
    /// [`GroupError::Configuration`].
    pub fn group_consumer(&self, config: GroupConfig) -> Result<GroupConsumer, GroupError> {
        GroupConsumer::start(self.shared.clone(), config)
    }

    /// Commits offsets for a group, as a member or from outside ([`GroupMetadata::outside`]); brokers refuse the latter
    /// while the group has members.
    ///
    /// # Errors
    /// As [`GroupConsumer::commit`].
    pub async fn commit_offsets(&self, group: &GroupMetadata, offsets: Vec<CommittedOffset>) -> Result<(), GroupError> {
        group::commit(&self.shared, group, &offsets, self.shared.config.request_timeout).await
    }

    /// What a group has committed of some partitions; those without an offset are left out. Waits for transactions
    /// that may still commit others.
    ///
    /// # Errors
    /// As [`GroupConsumer::committed`].
    pub async fn committed_offsets(
        &self,
        group_id: &str,
        partitions: &[TopicPartition],
    ) -> Result<Vec<CommittedOffset>, GroupError> {
        group::committed(&self.shared, group_id, partitions, self.shared.config.request_timeout).await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("config", &self.shared.config).finish_non_exhaustive()
    }
}
