//! What a transactional id wants done: answers to send, records to make durable, markers to write.
//!
//! Invariant: an answer that depends on a record leaves once that is durable.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::event::{ProducerIdentity, TopicPartition};
use super::record_codec::TransactionRecord;
use crate::hosting::WaiterId;

/// One thing to do, in the order given.
pub(crate) type Action = crate::hosting::Action<Answer, Persist, Effect>;

/// A record, and what waits for it.
#[derive(Debug)]
pub(crate) struct Persist {
    /// The transactional id.
    pub(crate) transactional_id: Arc<str>,
    /// Counts the records of this shard.
    pub(super) number: u64,
    /// What is written.
    pub(crate) record: TransactionRecord,
    /// What happens when it is durable.
    pub(super) then: Then,
}

/// What follows once a [`Persist`] is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing: the record is for the next start only.
    Nothing,
    /// Send an answer that was worked out before.
    Answer(WaiterId, Answer),
    /// The transaction's fate is decided: markers may be written.
    WriteMarkers,
}

/// Something to do outside of the shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Write a marker into each partition; answered by `TransactionShard::markers_written`.
    WriteMarkers(Markers),
}

/// The markers that end a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Markers {
    /// The transactional id.
    pub(crate) transactional_id: Arc<str>,
    /// Names this attempt to write them, among all of the shard's since it was read.
    pub(crate) attempt: u64,
    /// The producer, with the markers' epoch.
    pub(crate) producer: ProducerIdentity,
    /// Whether the epoch is one above that of the transaction's records, so that a partition which has seen it has its
    /// marker.
    pub(crate) is_epoch_bumped: bool,
    /// Whether the transaction is committed.
    pub(crate) commit: bool,
    /// Where they go.
    pub(crate) partitions: Vec<TopicPartition>,
}

/// The answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To InitProducerId and EndTxn: what the producer is to go on with.
    Producer(ProducerIdentity),
    /// To AddPartitionsToTxn: they are in.
    Added,
    /// A refusal.
    Refused(ErrorCode),
    /// The request is to be sent again with a producer id that was never given out.
    NeedsProducerId,
}
