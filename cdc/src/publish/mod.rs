//! Where records go, behind traits: a Kafka cluster through our client, or a recorder that can fail (tests).
//!
//! Last stage of the connector. Invariant: an acknowledgement is `Ok` only once the record is as durable as the
//! cluster makes it (acks=all); records sent to one partition through one [`Publisher`] are stored in that order.

mod kafka;
#[cfg(test)]
pub(crate) mod scripted;

use std::error::Error;
use std::future::Future;

use thiserror::Error;

use crate::router::OutboxEvent;

pub(crate) use kafka::KafkaCluster;

/// Where a record was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// The partition.
    pub partition: i32,
    /// Its offset there.
    pub offset: i64,
}

/// A record was not stored, or a cluster not reached.
#[derive(Debug, Error)]
pub enum PublishError {
    /// Worth another try, with a new [`Publisher`].
    #[error("the broker is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// This record will never be taken: too large, refused by a rule of its topic.
    #[error("the broker refuses the record")]
    RecordRefused(#[source] Box<dyn Error + Send + Sync>),
    /// Nothing will be taken before someone changes something: not authorized, a topic that cannot be made.
    #[error("the broker refuses the connector")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

/// A way to a cluster.
pub trait Cluster: Send + Sync {
    /// Its connections.
    type Publisher: Publisher;

    /// Connects; takes as long as the cluster's time-outs allow.
    ///
    /// # Errors
    /// [`PublishError`].
    fn connect(&self) -> impl Future<Output = Result<Self::Publisher, PublishError>> + Send;
}

/// A connection to a cluster.
pub trait Publisher: Send + Sync {
    /// What becomes of one record. Dropping it does not take the record back.
    type Acknowledgement: Future<Output = Result<Delivered, PublishError>> + Send + Unpin;

    /// Makes the topic if it is missing.
    ///
    /// # Errors
    /// [`PublishError`].
    fn ensure_topic(&self, topic: &str) -> impl Future<Output = Result<(), PublishError>> + Send;

    /// Queues a record, waiting while too many are queued.
    ///
    /// # Errors
    /// [`PublishError`] when it is refused before it was queued.
    fn send(&self, event: OutboxEvent) -> impl Future<Output = Result<Self::Acknowledgement, PublishError>> + Send;

    /// Gives up what is still queued and closes the connections.
    fn close(self) -> impl Future<Output = ()> + Send;
}
