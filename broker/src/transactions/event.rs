//! What can happen to a transactional id: the requests, freed of their wire form.

use std::sync::Arc;

use crate::hosting::WaiterId;

/// A partition, by its topic's name.
pub(crate) type TopicPartition = (Arc<str>, i32);

/// A producer's id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProducerIdentity {
    /// Its id.
    pub(crate) id: i64,
    /// Its epoch.
    pub(crate) epoch: i16,
}

/// How a client does transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Partitions are added by requests; the epoch stays from transaction to transaction.
    Classic,
    /// KIP-890: partitions are added by writing to them, and each transaction has an epoch of its own.
    EpochBump,
}

/// InitProducerId (key 22) with a transactional id.
#[derive(Clone, Debug)]
pub(crate) struct Init {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Milliseconds after which the coordinator aborts an open transaction.
    pub(crate) timeout_ms: i32,
    /// What the producer has, when it recovers from an error (KIP-360).
    pub(crate) current: Option<ProducerIdentity>,
    /// An id never given out before, if one was asked for by
    /// [`Answer::NeedsProducerId`](super::action::Answer::NeedsProducerId).
    pub(crate) fresh_producer_id: Option<i64>,
}

/// AddPartitionsToTxn (24) and AddOffsetsToTxn (25), or what a Produce or TxnOffsetCommit does in their place.
#[derive(Clone, Debug)]
pub(crate) struct AddPartitions {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Who asks.
    pub(crate) producer: ProducerIdentity,
    /// How it does transactions.
    pub(crate) protocol: Protocol,
    /// What it is about to write to.
    pub(crate) partitions: Vec<TopicPartition>,
}

/// What became of one attempt to write a transaction's markers.
#[derive(Clone, Debug)]
pub(crate) struct MarkersWritten {
    /// The transactional id.
    pub(crate) transactional_id: Arc<str>,
    /// The attempt, as [`Markers`](super::action::Markers) named it.
    pub(crate) attempt: u64,
    /// Partitions where the marker is not durable; the others have theirs.
    pub(crate) missing: Vec<TopicPartition>,
}

/// EndTxn (key 26).
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// Who is answered.
    pub(crate) waiter: WaiterId,
    /// Who asks.
    pub(crate) producer: ProducerIdentity,
    /// How it does transactions.
    pub(crate) protocol: Protocol,
    /// Whether to commit; else the transaction is aborted.
    pub(crate) commit: bool,
    /// As [`Init::fresh_producer_id`].
    pub(crate) fresh_producer_id: Option<i64>,
}
