//! The bytes of `__transaction_state`: Kafka's own, so that Kafka's tools read ours and we read Kafka's.
//!
//! Written: value version 1, as Kafka does from transaction.version 1 on.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::codec::{decode_versioned, encode_versioned};
use pillion_wire::messages::transaction_records::PartitionsSchema;
use pillion_wire::messages::{TransactionLogKey, TransactionLogValue};
use pillion_wire::records::Record;
use pillion_wire::{DecodeError, EncodeError};
use thiserror::Error;

use super::event::TopicPartition;
use super::state::TransactionState;

const KEY_VERSION: i16 = 0;
const VALUE_VERSION: i16 = 1;
/// What stands for none in ids, epochs and times.
pub(super) const NONE: i8 = -1;

/// How a transactional id stands, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransactionValue {
    /// The producer's id.
    pub(crate) producer_id: i64,
    /// The id before it, when it was replaced because its epochs were used up; −1 for none.
    pub(crate) previous_producer_id: i64,
    /// The id that replaces it when the transaction has ended; −1 for none.
    pub(crate) next_producer_id: i64,
    /// The producer's epoch; −1 for a producer that never had one.
    pub(crate) epoch: i16,
    /// Milliseconds after which an open transaction is aborted.
    pub(crate) timeout_ms: i32,
    /// The state.
    pub(crate) state: TransactionState,
    /// What is in the transaction, in order.
    pub(crate) partitions: Vec<TopicPartition>,
    /// When the transaction began, milliseconds since the Unix epoch; −1 for none.
    pub(crate) started_ms: i64,
    /// When the state last changed, milliseconds since the Unix epoch.
    pub(crate) updated_ms: i64,
    /// Version of transactions the client speaks.
    pub(crate) version: i16,
}

/// A record: a transactional id, and how it stands; no value forgets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransactionRecord {
    /// The transactional id.
    pub(crate) transactional_id: Arc<str>,
    /// How it stands.
    pub(crate) value: Option<TransactionValue>,
}

/// Why a record is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum CodecError {
    /// Its bytes do not follow the format.
    #[error("it does not follow its format: {0}")]
    Decode(#[from] DecodeError),
    /// Its key is of another kind.
    #[error("this broker does not know records of kind {0}")]
    Kind(i16),
    /// Its state has no name.
    #[error("this broker does not know transaction state {0}")]
    State(i8),
}

impl TransactionRecord {
    /// About how many bytes it takes in the log.
    pub(super) fn approximate_bytes(&self) -> usize {
        const FIELDS: usize = 128;
        let partitions = self.value.iter().flat_map(|value| &value.partitions);
        FIELDS + self.transactional_id.len() + partitions.map(|(topic, _)| topic.len() + 8).sum::<usize>()
    }
}

/// The bytes of a record.
///
/// # Errors
/// When a text is longer than the format's length fields can say.
pub(crate) fn encode(record: &TransactionRecord) -> Result<Record, EncodeError> {
    let key = TransactionLogKey { transactional_id: record.transactional_id.to_string() };
    let key = encode_versioned(&key, KEY_VERSION)?;
    let value = record.value.as_ref().map(|value| encode_versioned(&to_wire(value), VALUE_VERSION)).transpose()?;
    Ok(Record { key: Some(key), value, ..Record::default() })
}

/// What a key and a value say.
///
/// # Errors
/// [`CodecError`].
pub(crate) fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<TransactionRecord, CodecError> {
    if let Some(kind) = key.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
        && kind != KEY_VERSION
    {
        return Err(CodecError::Kind(kind));
    }
    let (_, key) = decode_versioned::<TransactionLogKey>(key)?;
    let value = value.map(|value| from_wire(decode_versioned::<TransactionLogValue>(value)?.1)).transpose()?;
    Ok(TransactionRecord { transactional_id: key.transactional_id.into(), value })
}

fn to_wire(value: &TransactionValue) -> TransactionLogValue {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in &value.partitions {
        topics.entry(topic).or_default().push(*partition);
    }
    let partitions = topics
        .into_iter()
        .map(|(topic, partition_ids)| PartitionsSchema { topic: topic.to_owned(), partition_ids })
        .collect();
    TransactionLogValue {
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        producer_epoch: value.epoch,
        next_producer_epoch: NONE.into(),
        transaction_timeout_ms: value.timeout_ms,
        transaction_status: value.state.number(),
        // Kafka leaves it out for an id that has begun nothing.
        transaction_partitions: Some(partitions).filter(|_| value.state != TransactionState::Empty),
        transaction_last_update_timestamp_ms: value.updated_ms,
        transaction_start_timestamp_ms: value.started_ms,
        client_transaction_version: value.version,
    }
}

fn from_wire(value: TransactionLogValue) -> Result<TransactionValue, CodecError> {
    let number = value.transaction_status;
    let topics = value.transaction_partitions.unwrap_or_default();
    let partitions = topics.into_iter().flat_map(|PartitionsSchema { topic, partition_ids }| {
        let topic: Arc<str> = topic.into();
        partition_ids.into_iter().map(move |partition| (Arc::clone(&topic), partition))
    });
    Ok(TransactionValue {
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        epoch: value.producer_epoch,
        timeout_ms: value.transaction_timeout_ms,
        state: TransactionState::of_number(number).ok_or(CodecError::State(number))?,
        partitions: partitions.collect(),
        started_ms: value.transaction_start_timestamp_ms,
        updated_ms: value.transaction_last_update_timestamp_ms,
        version: value.client_transaction_version,
    })
}
