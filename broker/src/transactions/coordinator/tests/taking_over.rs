//! What a start finds in `__transaction_state` that another broker, Kafka's say, has left there.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression};

use super::super::super::action::Answer;
use super::super::super::event::{ProducerIdentity, Protocol};
use super::super::super::record_codec::{TransactionRecord, TransactionValue, encode};
use super::super::super::state::TransactionState::{self, Ongoing, PrepareAbort, PrepareCommit, PrepareEpochFence};
use super::node::{ID, Node, ORDERS, batch};
use crate::disk::SimulatedDisk;

/// A node whose logs hold a transaction of producer 7, epoch 3, over all partitions, and how it stands.
async fn left(state: TransactionState, epoch: i16, version: i16) -> Node {
    let node = Node::open(&SimulatedDisk::new(), 9);
    for partition in &node.orders {
        let batch = batch(ProducerIdentity { id: 7, epoch: 3 }, 0, 1);
        partition.append(&batch, BatchHeader::parse(&batch).expect("is whole")).expect("appends");
    }
    let value = TransactionValue {
        producer_id: 7,
        // As Kafka has it.
        previous_producer_id: 7,
        next_producer_id: -1,
        epoch,
        timeout_ms: 1,
        state,
        partitions: (0..3).map(|index| (Arc::from(ORDERS), index)).collect(),
        started_ms: 1,
        updated_ms: 1,
        version,
    };
    let record = TransactionRecord { transactional_id: Arc::from(ID), value: Some(value) };
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&encode(&record).expect("is written"));
    let batch = builder.build(None).expect("builds");
    let appended = node.state.append(&batch, BatchHeader::parse(&batch).expect("is whole")).expect("appends");
    let (tell, told) = tokio::sync::oneshot::channel();
    node.state.when_durable(appended.next_offset, Box::new(move |result| drop(tell.send(result))));
    told.await.expect("is told").expect("is durable");
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kafka_had_decided_is_carried_through() {
    for (state, values) in [(PrepareCommit, vec![1]), (PrepareAbort, vec![])] {
        for (epoch, version) in [(3, 0), (3, 1), (4, 2)] {
            let node = left(state, epoch, version).await;
            node.lead().await;
            node.until_stable("after taking over").await;
            assert!((0..3).all(|index| node.committed(index) == values), "{state:?}");
            let producer = node.init().await;
            assert_eq!((producer.id, producer.epoch), (7, epoch + 1));
            node.end();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kafka_had_written_of_the_markers_is_not_written_again() {
    let node = left(PrepareCommit, 4, 2).await;
    let marker = pillion_wire::records::EndTransactionMarker { commit: true, coordinator_epoch: 3 };
    node.orders[1].end_transaction(7, 4, marker, true).expect("writes");
    node.lead().await;
    node.until_stable("after taking over").await;
    let ends: Vec<i64> = node.offsets().iter().map(|offsets| offsets.log_end_offset).collect();
    assert_eq!(ends, [2, 2, 2]);
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_kafka_left_open_is_aborted_when_its_time_is_over() {
    for state in [Ongoing, PrepareEpochFence] {
        let node = left(state, 3, 0).await;
        node.lead().await;
        node.keep_time();
        node.until_stable("after its timeout").await;
        assert!((0..3).all(|index| node.committed(index).is_empty()));
        let fenced = node.end_transaction(ProducerIdentity { id: 7, epoch: 3 }, Protocol::Classic, true).await;
        assert_eq!(fenced, Err(ErrorCode::ProducerFenced));
        node.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_kafka_left_open_is_aborted_for_who_takes_over() {
    for state in [Ongoing, PrepareEpochFence] {
        let node = left(state, 3, 0).await;
        node.lead().await;
        let producer = node.init().await;
        assert_eq!((producer.id, producer.epoch), (7, 5));
        node.until_stable("before the answer").await;
        assert!((0..3).all(|index| node.committed(index).is_empty()));
        assert_eq!(node.add(producer, Protocol::EpochBump, [1]).await, Ok(Answer::Added));
        node.end();
    }
}
