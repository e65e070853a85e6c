//! What is known of the cluster: a snapshot that one task renews, by age and on request.
//!
//! Requests coalesce: whoever finds a leader wrong asks for a refresh, and all who asked before it began are served
//! by the same one.

mod cluster;
mod interest;
mod refresh;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

pub(crate) use cluster::{Broker, Cluster, Topic, broker_address};
use interest::Interest;
pub(crate) use refresh::{Refresher, wants_refresh};

use crate::error::ClientError;

/// What the refresher publishes after each attempt.
#[derive(Debug, Clone)]
struct Snapshot {
    cluster: Arc<Cluster>,
    /// Tickets up to here have been served, well or not.
    served: u64,
    /// Why the last attempt failed, if it did.
    failure: Option<ClientError>,
}

/// The snapshot, and the way to ask for a newer one.
#[derive(Debug)]
pub(crate) struct Metadata {
    snapshot: watch::Sender<Snapshot>,
    interest: Mutex<Interest>,
    tickets: AtomicU64,
    wake: Notify,
    /// A topic came into use that no refresh has asked for: it need not wait for the backoff behind the last one.
    new_topic: Notify,
}

impl Metadata {
    fn new(cluster: Cluster) -> Self {
        Self {
            snapshot: watch::Sender::new(Snapshot { cluster: Arc::new(cluster), served: 0, failure: None }),
            interest: Mutex::new(Interest::default()),
            tickets: AtomicU64::new(0),
            wake: Notify::new(),
            new_topic: Notify::new(),
        }
    }

    /// The cluster as last seen.
    pub(crate) fn cluster(&self) -> Arc<Cluster> {
        self.snapshot.borrow().cluster.clone()
    }

    /// Notes that a topic is in use, so that refreshes ask for it; `create` lets the broker create it if it does so.
    pub(crate) fn track(&self, topic: &str, create: bool) {
        if self.interest().note(topic, create, Instant::now()) {
            self.new_topic.notify_one();
        }
    }

    /// Asks for a refresh; the ticket is served by an attempt that begins after this call.
    pub(crate) fn request(&self) -> u64 {
        let ticket = self.tickets.fetch_add(1, Ordering::AcqRel) + 1;
        self.wake.notify_one();
        ticket
    }

    /// Waits until the attempt that serves `ticket` is over and gives what is known then.
    ///
    /// # Errors
    /// What that attempt failed with; [`ClientError::Closed`] when there will be none.
    pub(crate) async fn served(&self, ticket: u64) -> Result<Arc<Cluster>, ClientError> {
        let mut snapshots = self.snapshot.subscribe();
        let snapshot =
            snapshots.wait_for(|snapshot| snapshot.served >= ticket).await.map_err(|_| ClientError::Closed)?;
        match &snapshot.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(snapshot.cluster.clone()),
        }
    }

    /// Announces each new snapshot.
    pub(crate) fn changes(&self) -> Changes {
        Changes(self.snapshot.subscribe())
    }

    /// A topic with its partitions, asked for until it is there.
    ///
    /// # Errors
    /// [`ClientError::UnknownTopic`] when the cluster does not know it and `create` is false or did not help in time;
    /// [`ClientError::Broker`] when it may not be used; [`ClientError::TimedOut`].
    pub(crate) async fn topic(&self, name: &str, create: bool, wait: Duration) -> Result<Arc<Topic>, ClientError> {
        self.track(name, create);
        let mut last = ClientError::UnknownTopic { topic: name.to_owned() };
        let search = async {
            let mut cluster = self.cluster();
            loop {
                match cluster.topic(name) {
                    Some(topic) if topic.is_usable() => return Ok(topic.clone()),
                    Some(topic) if !topic.error.is_retriable() => {
                        return Err(ClientError::Broker { api: "Metadata", code: topic.error, message: None });
                    }
                    Some(_) | None => {}
                }
                match self.served(self.request()).await {
                    Ok(newer) => cluster = newer,
                    Err(ClientError::Closed) => return Err(ClientError::Closed),
                    Err(error) => last = error,
                }
                let unknown = cluster.topic(name).is_none_or(|topic| topic.partitions.is_empty());
                if unknown && !create && matches!(last, ClientError::UnknownTopic { .. }) {
                    return Err(last.clone());
                }
            }
        };
        match tokio::time::timeout(wait, search).await {
            Ok(outcome) => outcome,
            Err(_) if matches!(last, ClientError::UnknownTopic { .. }) => Err(last),
            Err(_) => {
                Err(ClientError::TimedOut { what: "looking up a topic", waited: wait, source: Some(Box::new(last)) })
            }
        }
    }

    fn interest(&self) -> MutexGuard<'_, Interest> {
        self.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of new snapshots.
pub(crate) struct Changes(watch::Receiver<Snapshot>);

impl Changes {
    /// Waits for the next snapshot; never returns when there will be none.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
