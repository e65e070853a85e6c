//! Administration: topics, settings, the cluster.

mod alterations;
mod cluster;
mod configs;
mod description;
mod error;
mod groups;
mod topics;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_wire::{ErrorCode, Request};

pub use description::{
    BrokerDescription, ClusterDescription, ConfigChange, ConfigEntry, ConfigOperation, ConfigResource, ConfigSource,
    DeletedRecords, GroupDescription, GroupListing, GroupMember, GroupOutcome, LogDirectory, NewTopic,
    PartitionDescription, ResourceConfigs, TopicDescription, TopicListing, TopicOutcome,
};
pub use error::AdminError;

use crate::client::ClientShared;
use crate::consumer::IsolationLevel;
use crate::error::ClientError;
use crate::offsets::{self, ListedOffset, Offset};

/// Administers a cluster. Each call is tried again, within the request timeout, while brokers cannot be reached or
/// say that it may succeed later.
#[derive(Clone)]
pub struct Admin {
    client: Arc<ClientShared>,
}

/// Whom to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Any,
    Controller,
    Broker(i32),
}

impl Admin {
    pub(crate) fn new(client: Arc<ClientShared>) -> Self {
        Self { client }
    }

    /// The offset that `offset` stands for in every partition of a topic, in ascending order of partitions.
    ///
    /// # Errors
    /// [`AdminError::Client`]: the topic is unknown, or some leader did not answer in time.
    pub async fn list_offsets(&self, topic: &str, offset: Offset) -> Result<Vec<ListedOffset>, AdminError> {
        self.list(topic, offset, IsolationLevel::ReadUncommitted).await
    }

    /// The last stable offset of every partition of a topic: where readers of committed records end for now.
    ///
    /// # Errors
    /// As [`Admin::list_offsets`].
    pub async fn list_stable_offsets(&self, topic: &str) -> Result<Vec<ListedOffset>, AdminError> {
        self.list(topic, Offset::Latest, IsolationLevel::ReadCommitted).await
    }

    async fn list(
        &self,
        topic: &str,
        offset: Offset,
        isolation: IsolationLevel,
    ) -> Result<Vec<ListedOffset>, AdminError> {
        let wait = self.client.config.request_timeout;
        let known = self.client.metadata.topic(topic, false, wait).await?;
        let partitions = (0..known.partitions.len() as i32).map(|partition| (known.name.clone(), partition, offset));
        let found = offsets::list(&self.client, partitions.collect(), isolation.code(), wait).await?;
        Ok(found.into_iter().map(|(_, listed)| listed).collect())
    }

    /// Asks until the answer is one that `verdict` does not call retriable, or the time is over.
    async fn ask<R: Request + Clone>(
        &self,
        route: Route,
        request: &R,
        verdict: impl Fn(&R::Response) -> ErrorCode,
    ) -> Result<R::Response, AdminError> {
        let started = Instant::now();
        let limit = self.client.config.request_timeout;
        let mut failures = 0;
        loop {
            let asked =
                tokio::time::timeout(limit.saturating_sub(started.elapsed()), self.ask_once(route, request)).await;
            let last = match asked {
                Ok(Ok(response)) => {
                    let code = verdict(&response);
                    if !code.is_retriable() || started.elapsed() >= limit {
                        return Ok(response);
                    }
                    self.client.metadata.request();
                    None
                }
                Ok(Err(ClientError::Closed)) => return Err(ClientError::Closed.into()),
                Ok(Err(ClientError::Connection(error))) if !error.is_retriable() => return Err(error.into()),
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            failures += 1;
            let pause = self.client.connector.backoff.jittered(failures);
            if started.elapsed() + pause >= limit {
                let source = last.map(Box::new);
                return Err(ClientError::TimedOut { what: R::API, waited: limit, source }.into());
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask_once<R: Request + Clone>(&self, route: Route, request: &R) -> Result<R::Response, ClientError> {
        let cluster = self.client.metadata.cluster();
        let node = match route {
            Route::Any => None,
            Route::Controller => cluster.controller,
            Route::Broker(node) => Some(node),
        };
        match (node.and_then(|node| cluster.brokers.get(&node)), route) {
            (Some(broker), _) => {
                let answer = self.client.ask(broker, request).await;
                if answer.is_err() {
                    self.client.metadata.request();
                }
                answer
            }
            (None, Route::Broker(node)) => {
                self.client.metadata.request();
                Err(crate::connection::ConnectionError::UnknownBroker { node }.into())
            }
            // Brokers pass on what only the controller can do (KIP-590).
            (None, Route::Any | Route::Controller) => self.client.ask_any(request).await,
        }
    }
}

/// Success, or the refusal.
fn refused(api: &'static str, resource: &str, code: i16, message: Option<String>) -> Result<(), AdminError> {
    match ErrorCode::from_code(code) {
        ErrorCode::None => Ok(()),
        code => Err(AdminError::Refused { api, resource: resource.to_owned(), code, message }),
    }
}

/// Milliseconds on the wire.
fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Admin").finish_non_exhaustive()
    }
}
