//! Partitions that a transaction takes in, before anything is written to them.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Then};
use super::super::event::{AddPartitions, ProducerIdentity, TopicPartition};
use super::super::state::TransactionState;
use super::super::transaction::Transaction;
use super::TransactionShard;
use crate::hosting::moment::Moment;

impl TransactionShard {
    /// Answers once the partitions are durably in the producer's transaction: INVALID_REQUEST for an id that is none,
    /// INVALID_PRODUCER_ID_MAPPING for a producer
    /// nothing is known of, PRODUCER_FENCED for one that was replaced, CONCURRENT_TRANSACTIONS while its last
    /// transaction is ending.
    pub(crate) fn add_partitions(
        &mut self,
        transactional_id: &Arc<str>,
        add: AddPartitions,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        let AddPartitions { waiter, producer, protocol, partitions } = add;
        let number = self.last_number + 1;
        let transaction = match self.of_producer(transactional_id, producer) {
            Ok(transaction) => transaction,
            Err(error) => return actions.push(Action::Answer(waiter, Answer::Refused(error))),
        };
        if transaction.state == TransactionState::Ongoing {
            let numbers = partitions.iter().map(|partition| transaction.partitions.get(partition).copied());
            if let Some(newest) = numbers.collect::<Option<Vec<u64>>>().map(|numbers| numbers.into_iter().max()) {
                let newest = newest.unwrap_or(0);
                if newest <= transaction.durable_number {
                    actions.push(Action::Answer(waiter, Answer::Added));
                } else {
                    let place = transaction.held.partition_point(|(held_for, ..)| *held_for <= newest);
                    transaction.held.insert(place, (newest, waiter, Answer::Added));
                }
                return;
            }
        }
        transaction.add(partitions, protocol, number, now);
        self.write(transactional_id, Then::Answer(waiter, Answer::Added), actions);
    }

    /// Whether a partition is durably in a producer's transaction, so that the producer may write to it (KIP-890 for
    /// clients that add partitions by requests).
    ///
    /// # Errors
    /// As [`TransactionShard::add_partitions`]; INVALID_TXN_STATE when it is not in.
    pub(crate) fn verify(
        &mut self,
        transactional_id: &Arc<str>,
        producer: ProducerIdentity,
        partition: &TopicPartition,
    ) -> Result<(), ErrorCode> {
        let transaction = self.of_producer(transactional_id, producer)?;
        match transaction.partitions.get(partition) {
            Some(number) if *number <= transaction.durable_number => Ok(()),
            Some(_) => Err(ErrorCode::ConcurrentTransactions),
            None => Err(ErrorCode::InvalidTxnState),
        }
    }

    /// The id of a producer that may go on with a transaction or begin one.
    fn of_producer(
        &mut self,
        transactional_id: &Arc<str>,
        producer: ProducerIdentity,
    ) -> Result<&mut Transaction, ErrorCode> {
        if transactional_id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        let transaction = self.transactions.get_mut(transactional_id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
        if transaction.producer_id != producer.id {
            Err(ErrorCode::InvalidProducerIdMapping)
        } else if transaction.epoch != producer.epoch {
            Err(ErrorCode::ProducerFenced)
        } else if transaction.state.is_prepared() {
            Err(ErrorCode::ConcurrentTransactions)
        } else {
            Ok(transaction)
        }
    }
}
