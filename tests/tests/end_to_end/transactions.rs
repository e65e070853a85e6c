//! Transactions with librdkafka's producer: seen whole or not at all, with the group's offsets, through kills of the broker.

use std::time::Duration;

use anyhow::{Context, Result};
use pillion_tests::waiting::wait_for;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::task::block_in_place;

use super::consumed::{Consumed, group_member, read_until};
use super::sidecar::Broker;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A producer with a transactional id; it fences an earlier one with the same, whose open transaction aborts.
fn transactional(broker: &str, id: &str) -> Result<FutureProducer> {
    let producer: FutureProducer =
        ClientConfig::new().set("bootstrap.servers", broker).set("transactional.id", id).create()?;
    block_in_place(|| producer.init_transactions(TIMEOUT))?;
    Ok(producer)
}

/// Sends these values within the producer's transaction and waits until the broker has them.
async fn send(producer: &FutureProducer, topic: &str, values: impl IntoIterator<Item = String>) -> Result<()> {
    for value in values {
        let record = FutureRecord::<str, str>::to(topic).key("one").payload(&value);
        producer.send(record, TIMEOUT).await.map_err(|(error, _)| error)?;
    }
    Ok(())
}

fn named(name: &str, range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("{name}-{number}")).collect()
}

fn values(records: &[Consumed]) -> Vec<String> {
    records.iter().filter_map(|record| record.value.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_what_was_committed_in_order_and_nothing_that_aborted() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let producer = transactional(broker.address(), "teller")?;
    for (name, commits) in [("first", true), ("second", false), ("third", false), ("fourth", true)] {
        producer.begin_transaction()?;
        send(&producer, "payments", named(name, 0..10)).await?;
        block_in_place(|| {
            if commits { producer.commit_transaction(TIMEOUT) } else { producer.abort_transaction(TIMEOUT) }
        })?;
    }
    let reader = group_member(broker.address(), "readers", &["payments"])?;
    let seen = read_until(&reader, |records| records.len() >= 20).await?;
    assert_eq!(values(&seen), [named("first", 0..10), named("fourth", 0..10)].concat());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_producer_with_the_same_id_aborts_the_first_ones_transaction_and_fences_it() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let first = transactional(broker.address(), "teller")?;
    first.begin_transaction()?;
    send(&first, "payments", named("first", 0..3)).await?;

    let second = transactional(broker.address(), "teller")?;
    let refused = block_in_place(|| first.commit_transaction(TIMEOUT));
    assert!(refused.is_err(), "the fenced producer must not commit");
    second.begin_transaction()?;
    send(&second, "payments", named("second", 0..3)).await?;
    block_in_place(|| second.commit_transaction(TIMEOUT))?;

    let reader = group_member(broker.address(), "readers", &["payments"])?;
    let seen = read_until(&reader, |records| records.len() >= 3).await?;
    assert_eq!(values(&seen), named("second", 0..3));
    Ok(())
}

/// Copies `records` to `target` within an open transaction, which gets the offsets behind them.
async fn copy(producer: &FutureProducer, reader: &StreamConsumer, records: &[Consumed], target: &str) -> Result<()> {
    send(producer, target, values(records)).await?;
    let mut offsets = TopicPartitionList::new();
    for record in records {
        // Of several offsets of one partition the last counts.
        if let Some(mut known) = offsets.find_partition(&record.topic, record.partition) {
            known.set_offset(Offset::Offset(record.offset + 1))?;
        } else {
            offsets.add_partition_offset(&record.topic, record.partition, Offset::Offset(record.offset + 1))?;
        }
    }
    let group = reader.group_metadata().context("the consumer is in a group")?;
    block_in_place(|| producer.send_offsets_to_transaction(&offsets, &group, TIMEOUT))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_copied_exactly_once_though_the_broker_is_killed_before_and_after_a_commit() -> Result<()> {
    let mut broker = Broker::start(&[]).await?;
    let producer = transactional(broker.address(), "source")?;
    producer.begin_transaction()?;
    send(&producer, "orders", named("order", 0..20)).await?;
    block_in_place(|| producer.commit_transaction(TIMEOUT))?;
    drop(producer);

    let reader = group_member(broker.address(), "copiers", &["orders"])?;
    let orders = read_until(&reader, |records| records.len() >= 20).await?;
    let copier = transactional(broker.address(), "copier")?;
    copier.begin_transaction()?;
    copy(&copier, &reader, &orders[..10], "bills").await?;
    drop((copier, reader));
    broker.program.kill().await?;
    broker.restart().await?;

    // Nothing was committed: the next copier aborts what is open, and begins with the first order.
    let copier = transactional(broker.address(), "copier")?;
    let reader = group_member(broker.address(), "copiers", &["orders"])?;
    let again = read_until(&reader, |records| records.len() >= 20).await?;
    assert_eq!(values(&again), named("order", 0..20));
    copier.begin_transaction()?;
    copy(&copier, &reader, &again[..10], "bills").await?;
    block_in_place(|| copier.commit_transaction(TIMEOUT))?;
    drop((copier, reader));
    broker.program.kill().await?;
    broker.restart().await?;

    // Ten were committed, with their offset: the next one begins behind them.
    let copier = transactional(broker.address(), "copier")?;
    let reader = group_member(broker.address(), "copiers", &["orders"])?;
    let rest = read_until(&reader, |records| records.len() >= 10).await?;
    assert_eq!(values(&rest), named("order", 10..20));
    copier.begin_transaction()?;
    copy(&copier, &reader, &rest, "bills").await?;
    block_in_place(|| copier.commit_transaction(TIMEOUT))?;

    let bills = group_member(broker.address(), "readers", &["bills"])?;
    let seen = read_until(&bills, |records| records.len() >= 20).await?;
    assert_eq!(values(&seen), named("order", 0..20));
    wait_for("the group to be at the end", || async {
        let committed = block_in_place(|| reader.committed(TIMEOUT))?;
        // Behind the last order; the marker of the transaction that it came in stands there.
        Ok(committed.elements().iter().all(|each| each.offset() == Offset::Offset(20)).then_some(()))
    })
    .await?;
    Ok(())
}
