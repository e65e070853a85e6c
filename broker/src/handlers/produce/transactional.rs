//! What a transactional batch is asked before it opens a transaction in its partition (KIP-890).
//!
//! Up to version 11 the client has added the partition by AddPartitionsToTxn, and the coordinator is asked whether that
//! is so. From version 12 on the request itself adds it first: the coordinator writes that down, and is asked all the same.
//! While a transaction of the producer's epoch is open in the partition, nothing is asked.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::messages::ProduceRequest;
use pillion_wire::records::BatchHeader;
use pillion_wire::{ErrorCode, Records};

use super::find_topic;
use crate::broker::BrokerState;
use crate::dispatch::Call;
use crate::log::Appended;
use crate::partition::{AppendError, Partition};
use crate::transactions::event::{ProducerIdentity, TopicPartition};

/// From this version on a request adds its partitions to the transaction.
const ADDS_SINCE: i16 = 12;
/// From this version on clients know TRANSACTION_ABORTABLE.
const ABORTABLE_SINCE: i16 = 11;
/// How often a batch is tried whose partition gets other producers' markers all the time.
const TRIES_MAX: usize = 1_000;

/// What was found out about the request's transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate {
    /// Nothing speaks against it: ask where a batch would open a transaction.
    Verify,
    /// The coordinator refused to add them.
    Refused(ErrorCode),
}

/// Partitions that a request is to add to its transaction.
pub(super) struct Addition {
    transactional_id: Arc<str>,
    producer: ProducerIdentity,
    partitions: Vec<TopicPartition>,
}

/// What a request adds to its transaction: the partitions in which it would open one.
pub(super) fn addition(call: &Call, request: &ProduceRequest) -> Option<Addition> {
    let transactional_id = request.transactional_id.as_ref().filter(|_| call.version() >= ADDS_SINCE)?;
    let mut producer = None;
    let mut partitions = Vec::new();
    for data in &request.topic_data {
        let Some(topic) = find_topic(&call.broker, data) else { continue };
        for data in &data.partition_data {
            let Some(partition) = topic.partition(data.index) else { continue };
            let Some(Records::Bytes(records)) = &data.records else { continue };
            let Ok(header) = BatchHeader::parse(records) else { continue };
            let of_batch = ProducerIdentity { id: header.producer_id, epoch: header.producer_epoch };
            // A request is one producer's; batches of another are refused when they are appended.
            let is_first_or_same = producer.is_none_or(|producer| producer == of_batch);
            if header.is_transactional() && is_first_or_same && partition.guard(of_batch.id, of_batch.epoch).is_some() {
                producer = Some(of_batch);
                partitions.push((Arc::clone(&topic.name), data.index));
            }
        }
    }
    Some(Addition { transactional_id: Arc::from(&**transactional_id), producer: producer?, partitions })
}

impl Addition {
    /// Adds the partitions, which is durable when this ends.
    pub(super) async fn take_in(self, broker: &BrokerState) -> Gate {
        let Self { transactional_id, producer, partitions } = self;
        let added = broker.transactions.add(&transactional_id, producer, partitions).await;
        added.map_or_else(Gate::Refused, |()| Gate::Verify)
    }
}

/// Appends a transactional batch, if its transaction may have records in the partition.
///
/// # Errors
/// What to answer, and a word on it for people.
pub(super) fn append(
    call: &Call,
    partition: &Arc<Partition>,
    batch: &Bytes,
    header: BatchHeader,
    transactional_id: Option<&Arc<str>>,
    gate: Gate,
) -> Result<Appended, (ErrorCode, String)> {
    let version = call.version();
    let Some(transactional_id) = transactional_id else {
        let message = "a transactional batch in a request without a transactional id";
        return Err((ErrorCode::TransactionalIdAuthorizationFailed, message.to_owned()));
    };
    let producer = ProducerIdentity { id: header.producer_id, epoch: header.producer_epoch };
    let refuse = |error: ErrorCode| Err((in_version(error, version), reason(error).to_owned()));
    for _ in 0..TRIES_MAX {
        // From before the question, so that a marker written after the answer is noticed.
        let guard = partition.guard(producer.id, producer.epoch);
        if guard.is_some() {
            if let Gate::Refused(error) = gate {
                return refuse(error);
            }
            // Also when it has just been added: that may have ended since, and the batch may be another producer's.
            let here = (Arc::clone(partition.topic()), partition.index());
            let shard = call.broker.transactions.shard(transactional_id);
            if let Err(error) = shard.and_then(|shard| shard.verify(transactional_id, producer, &here)) {
                return refuse(error);
            }
        }
        match partition.append_in_transaction(batch, header, guard) {
            Ok(appended) => return Ok(appended),
            Err(AppendError::TransactionEnded) => {}
            Err(error) => return Err((ErrorCode::from(&error), error.to_string())),
        }
    }
    refuse(ErrorCode::ConcurrentTransactions)
}

/// The code a client of this version makes the right thing of: one that is to try again in older ones is
/// NOT_ENOUGH_REPLICAS, which does not send them looking for another leader.
fn in_version(error: ErrorCode, version: i16) -> ErrorCode {
    match error {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::InvalidTxnState if version >= ABORTABLE_SINCE => ErrorCode::TransactionAbortable,
        ErrorCode::ConcurrentTransactions if version >= ADDS_SINCE => error,
        ErrorCode::ConcurrentTransactions
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => ErrorCode::NotEnoughReplicas,
        _ => error,
    }
}

fn reason(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::InvalidTxnState => "the partition was not added to the transaction",
        ErrorCode::ProducerFenced => "a newer producer with the same transactional id has taken over",
        ErrorCode::InvalidProducerIdMapping => "the transactional id belongs to another producer id",
        _ => "the transaction coordinator cannot let this batch in now; try again",
    }
}
