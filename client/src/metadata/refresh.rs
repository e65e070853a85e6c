//! The task that renews the snapshot: one refresh at a time, spaced by the backoff.
//!
//! Asks brokers it is connected to first, then the other known ones, then the bootstrap servers: so a cluster whose
//! brokers have all moved is found again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::{MetadataRequest, MetadataResponse};
use uuid::Uuid;

use super::{Cluster, Metadata};
use crate::client::ClientConfig;
use crate::connection::{CloseOnDrop, Connection, ConnectionError, Connector, Pool};
use crate::error::ClientError;

/// REBOOTSTRAP_REQUIRED (KIP-1102): the broker wants its clients to start over.
const REBOOTSTRAP_REQUIRED: i16 = 129;

/// Renews what is known of the cluster.
pub(crate) struct Refresher {
    metadata: Arc<Metadata>,
    pool: Arc<Pool>,
    connector: Connector,
    bootstrap_servers: Vec<Arc<str>>,
    max_age: Duration,
}

impl Refresher {
    /// Learns the cluster from the first bootstrap server that answers, trying them over and over within the request
    /// timeout. One that is there and will not let this client in ends that at once.
    pub(crate) async fn bootstrap(
        config: &ClientConfig,
        connector: Connector,
        pool: Arc<Pool>,
    ) -> Result<(Arc<Metadata>, Self), ClientError> {
        let bootstrap_servers =
            config.bootstrap_servers.iter().map(|server| check_address(server)).collect::<Result<_, _>>()?;
        let metadata = Arc::new(Metadata::new(Cluster::default()));
        let refresher = Self { metadata, pool, connector, bootstrap_servers, max_age: config.metadata_max_age };
        let mut last = None;
        let search = async {
            let mut failures = 0;
            loop {
                match refresher.ask_bootstrap_servers().await {
                    Ok(()) => return None,
                    Err(Some(error)) if error.needs_other_settings() => return Some(error),
                    Err(error) => last = error,
                }
                failures += 1;
                tokio::time::sleep(refresher.connector.backoff.jittered(failures)).await;
            }
        };
        match tokio::time::timeout(config.request_timeout, search).await {
            Ok(None) => Ok((refresher.metadata.clone(), refresher)),
            Ok(Some(refused)) => Err(refused.into()),
            Err(_) => Err(refresher.unreachable(config.request_timeout, last)),
        }
    }

    /// Serves requests for refreshes until the client ends.
    pub(crate) async fn run(self) {
        let cancelled = self.connector.cancelled.clone();
        tokio::select! {
            () = cancelled.cancelled() => {}
            () = self.serve() => {}
        }
        self.pool.close();
        self.publish(None, u64::MAX, Some(ClientError::Closed));
    }

    async fn serve(&self) {
        let mut failures = 0;
        loop {
            // The first request after a while is served at once, the next ones not before a backoff has passed.
            let served = self.metadata.snapshot.borrow().served;
            if self.metadata.tickets.load(Ordering::Acquire) == served {
                let _ = tokio::time::timeout(self.max_age, self.metadata.wake.notified()).await;
            }
            let ticket = self.metadata.tickets.load(Ordering::Acquire);
            let failure = self.refresh(ticket).await.err();
            failures = if failure.is_some() { failures + 1 } else { 0 };
            if let Some(failure) = failure {
                tracing::debug!(error = &failure as &dyn std::error::Error, failures, "metadata refresh failed");
                self.publish(None, ticket, Some(failure));
            }
            let pause = tokio::time::sleep(self.connector.backoff.jittered(failures.max(1)));
            tokio::select! {
                () = pause => {}
                () = self.metadata.new_topic.notified(), if failures == 0 => {}
            }
        }
    }

    async fn refresh(&self, ticket: u64) -> Result<(), ClientError> {
        let cluster = self.metadata.cluster();
        let mut brokers: Vec<_> = cluster.brokers.values().collect();
        brokers.sort_by_key(|broker| self.pool.established(broker.id).is_none());
        for broker in brokers {
            let asked = async { self.ask(&*self.pool.connection(broker).await?, ticket).await };
            match asked.await {
                Ok(true) => return Ok(()),
                Ok(false) => break,
                Err(error) => {
                    tracing::debug!(
                        broker = broker.id,
                        error = &error as &dyn std::error::Error,
                        "no metadata from broker"
                    );
                }
            }
        }
        let started = Instant::now();
        match self.ask_bootstrap_servers_for(ticket).await {
            Ok(()) => Ok(()),
            Err(last) => Err(self.unreachable(started.elapsed(), last)),
        }
    }

    async fn ask_bootstrap_servers(&self) -> Result<(), Option<ConnectionError>> {
        self.ask_bootstrap_servers_for(0).await
    }

    async fn ask_bootstrap_servers_for(&self, ticket: u64) -> Result<(), Option<ConnectionError>> {
        let mut last: Option<ConnectionError> = None;
        // What another password would change says more than that a server is away.
        let mut note = |error: ConnectionError| {
            if !last.as_ref().is_some_and(ConnectionError::needs_other_settings) {
                last = Some(error);
            }
        };
        // A server that hangs must leave time for the others.
        let share =
            self.connector.request_timeout / u32::try_from(self.bootstrap_servers.len().max(1)).unwrap_or(u32::MAX);
        for server in &self.bootstrap_servers {
            let asked = async {
                let connection = self.connector.connect(server.clone()).await?;
                let _closed = CloseOnDrop::new(connection.clone());
                self.ask(&connection, ticket).await
            };
            match tokio::time::timeout(share, asked).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => {}
                Ok(Err(error)) => note(error),
                Err(_) => {
                    let address = server.to_string();
                    note(ConnectionError::TimedOut { address, what: "Metadata", waited: share });
                }
            }
        }
        Err(last)
    }

    /// Asks one broker and publishes its answer; false when it wants the client to bootstrap anew or knows no brokers.
    async fn ask(&self, connection: &Connection, ticket: u64) -> Result<bool, ConnectionError> {
        let (create, plain) = self.metadata.interest().topics(Instant::now());
        let mut response = connection.request(&request(plain, false)).await?;
        if !create.is_empty() {
            let created = connection.request(&request(create, true)).await?;
            response = MetadataResponse { topics: [response.topics, created.topics].concat(), ..created };
        }
        if response.error_code == REBOOTSTRAP_REQUIRED || response.brokers.is_empty() {
            return Ok(false);
        }
        self.publish(Some(response), ticket, None);
        Ok(true)
    }

    fn publish(&self, response: Option<MetadataResponse>, served: u64, failure: Option<ClientError>) {
        self.metadata.snapshot.send_modify(|snapshot| {
            if let Some(response) = response {
                let interest = self.metadata.interest();
                snapshot.cluster = Arc::new(snapshot.cluster.merge(response, |topic| interest.contains(topic)));
            }
            snapshot.served = snapshot.served.max(served);
            snapshot.failure = failure;
        });
    }

    fn unreachable(&self, waited: Duration, source: Option<ConnectionError>) -> ClientError {
        ClientError::NoBootstrapServer { servers: self.bootstrap_servers.join(","), waited, source }
    }
}

/// A request for some topics; none asks for the brokers alone.
fn request(topics: Vec<String>, create: bool) -> MetadataRequest {
    let topics =
        topics.into_iter().map(|name| MetadataRequestTopic { topic_id: Uuid::nil(), name: Some(name) }).collect();
    MetadataRequest { topics: Some(topics), allow_auto_topic_creation: create, ..MetadataRequest::default() }
}

/// Checks that a bootstrap server is `host:port`.
fn check_address(server: &str) -> Result<Arc<str>, ClientError> {
    let server = server.trim();
    let valid = server.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        !host.is_empty() && (bracketed || !host.contains(':')) && port.parse::<u16>().is_ok_and(|port| port != 0)
    });
    if valid { Ok(server.into()) } else { Err(ClientError::InvalidBootstrapServer { server: server.to_owned() }) }
}

/// Whether an answer's error says that the leader must be looked up anew.
pub(crate) fn wants_refresh(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::LeaderNotAvailable
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::ReplicaNotAvailable
            | ErrorCode::KafkaStorageError
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownLeaderEpoch
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId
    )
}
