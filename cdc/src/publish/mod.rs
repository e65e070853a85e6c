//! Where records go, behind traits: a Kafka cluster through our client, or a recorder that can fail (tests).
//!
//! Last stage of the connector. Records are sent one by one and committed together, with the [`Progress`] they amount
//! to; what that means is the publisher's: a transaction, or nothing beyond each record's acknowledgement.
//!
//! Invariant: an acknowledgement is `Ok` only once the record is as durable as the cluster makes it (acks=all), an
//! outcome only once readers of committed records see what was committed; records sent to one partition through one
//! [`Publisher`] are stored in that order.

mod kafka;
#[cfg(test)]
pub(crate) mod scripted;

use std::error::Error;
use std::future::Future;

use thiserror::Error;

use crate::progress::{Progress, SourceName};
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
    /// Some record of a transaction will never be taken, and the transaction is given up; which record it is only its
    /// acknowledgement tells.
    #[error("the broker refuses a record of the transaction")]
    TransactionRefused(#[source] Box<dyn Error + Send + Sync>),
    /// Nothing will be taken before someone changes something: not authorized, a topic that cannot be made.
    #[error("the broker refuses the connector")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

/// A way to a cluster.
pub trait Cluster: Send + Sync {
    /// Its connections.
    type Publisher: Publisher;

    /// Connects, and takes over from whoever published from `source` before: nothing of theirs is stored any more once
    /// this returns. Takes as long as the cluster's time-outs allow.
    ///
    /// # Errors
    /// [`PublishError`].
    fn connect(&self, source: &SourceName) -> impl Future<Output = Result<Self::Publisher, PublishError>> + Send;
}

/// A connection to a cluster.
pub trait Publisher: Send + Sync {
    /// What becomes of one record. Dropping it does not take the record back.
    type Acknowledgement: Future<Output = Result<Delivered, PublishError>> + Send + Unpin;
    /// What becomes of a commit.
    type Outcome: Future<Output = Result<(), PublishError>> + Send + Unpin;

    /// The last progress committed before this publisher was made; `None` where there is none.
    fn progress(&self) -> Option<&Progress>;

    /// Makes the topic if it is missing.
    ///
    /// # Errors
    /// [`PublishError`].
    fn ensure_topic(&mut self, topic: &str) -> impl Future<Output = Result<(), PublishError>> + Send;

    /// Queues a record, waiting while too many are queued. Its acknowledgement is given where it is wanted, and where
    /// the commit's outcome does not stand for it.
    ///
    /// # Errors
    /// [`PublishError`] when it is refused before it was queued.
    fn send(
        &mut self,
        event: OutboxEvent,
        wants_acknowledgement: bool,
    ) -> impl Future<Output = Result<Option<Self::Acknowledgement>, PublishError>> + Send;

    /// Has what was sent on its way: a publisher may gather records until this is called, or a commit. Dropped halfway,
    /// this as well as sending may have lost any of what was sent since the last commit: abort then.
    ///
    /// # Errors
    /// [`PublishError`].
    fn flush(&mut self) -> impl Future<Output = Result<(), PublishError>> + Send;

    /// Commits what was sent since the last commit, together with `progress`. What is sent next belongs to the next
    /// commit, and may be sent at once; commits come true in their order.
    ///
    /// # Errors
    /// [`PublishError`] when it fails before it was begun.
    fn commit(&mut self, progress: &Progress) -> impl Future<Output = Result<Self::Outcome, PublishError>> + Send;

    /// Gives up what was sent since the last commit, as far as that can be.
    fn abort(&mut self);

    /// Gives up what is still queued and closes the connections.
    fn close(self) -> impl Future<Output = ()> + Send;
}
