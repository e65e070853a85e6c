//! Partitions, producers and answers in few words.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::{ProducerIdentity, TopicPartition};
use super::super::record_codec::TransactionValue;
use super::super::state::TransactionState;
use super::harness::{TIMEOUT_MS, WALL_START_MS};

/// A partition of the topic `orders`.
pub(super) fn orders(index: i32) -> TopicPartition {
    (Arc::from("orders"), index)
}

pub(super) fn identity(id: i64, epoch: i16) -> ProducerIdentity {
    ProducerIdentity { id, epoch }
}

pub(super) fn producer_of(answer: Option<Answer>) -> ProducerIdentity {
    match answer {
        Some(Answer::Producer(producer)) => producer,
        other => panic!("not a producer: {other:?}"),
    }
}

pub(super) fn refused(error: ErrorCode) -> Answer {
    Answer::Refused(error)
}

/// How an id stands in a log: idle, with this id and epoch.
pub(super) fn written(producer: ProducerIdentity, state: TransactionState) -> TransactionValue {
    TransactionValue {
        producer_id: producer.id,
        previous_producer_id: -1,
        next_producer_id: -1,
        epoch: producer.epoch,
        timeout_ms: TIMEOUT_MS,
        state,
        partitions: Vec::new(),
        started_ms: WALL_START_MS,
        updated_ms: WALL_START_MS,
        version: 0,
    }
}
