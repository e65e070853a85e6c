//! Transactional producers.

use std::time::Duration;

use pillion_client::{
    AbortCause, Client, ErrorCode, IsolationLevel, NewTopic, TransactionError, TransactionErrorClass,
    TransactionalConfig, TransactionalProducer,
};

use crate::cluster::{Cluster, PATIENCE, new_topic, numbers, read_all, record, unique};

async fn producer(client: &Client, id: &str) -> TransactionalProducer {
    client.transactional_producer(TransactionalConfig::new(id)).await.unwrap()
}

async fn committed(client: &Client, topic: &str, partition: i32) -> Vec<String> {
    read_all(client, topic, IsolationLevel::ReadCommitted).await.remove(&partition).unwrap()
}

async fn uncommitted(client: &Client, topic: &str, partition: i32) -> Vec<String> {
    read_all(client, topic, IsolationLevel::ReadUncommitted).await.remove(&partition).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_records_are_seen_and_aborted_ones_are_not() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-outcomes", 3).await;
    let producer = producer(&client, &unique("id")).await;
    for round in 0..6_u64 {
        let transaction = producer.begin().await.unwrap();
        for partition in 0..3 {
            drop(transaction.send(record(&topic, partition, round)).await.unwrap());
        }
        if round % 2 == 0 {
            transaction.commit().await.unwrap();
        } else {
            // What is delivered before the abort lies in the log and is passed over by readers.
            transaction.send(record(&topic, 0, "aborted")).await.unwrap().await.unwrap();
            transaction.abort().await.unwrap();
        }
    }
    let even = ["0", "2", "4"];
    for partition in 0..3 {
        assert_eq!(committed(&client, &topic, partition).await, even);
    }
    let all = uncommitted(&client, &topic, 0).await;
    assert!(all.contains(&"aborted".to_owned()) && all.len() > even.len(), "{all:?}");
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_filled_while_others_commit_keep_their_order() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-pipelined", 2).await;
    let config = TransactionalConfig { max_in_flight_transactions: 5, ..TransactionalConfig::new(unique("id")) };
    let producer = client.transactional_producer(config).await.unwrap();
    let mut outcomes = Vec::new();
    for round in 0..50_u64 {
        let transaction = producer.begin().await.unwrap();
        for number in round * 20..(round + 1) * 20 {
            for partition in 0..2 {
                drop(transaction.send(record(&topic, partition, number)).await.unwrap());
            }
        }
        outcomes.push(transaction.commit());
    }
    for outcome in outcomes {
        outcome.await.unwrap();
    }
    for partition in 0..2 {
        assert_eq!(committed(&client, &topic, partition).await, numbers(0..1_000));
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_transactions_are_ended_without_a_trace() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-empty", 1).await;
    let producer = producer(&client, &unique("id")).await;
    producer.begin().await.unwrap().commit().await.unwrap();
    producer.begin().await.unwrap().abort().await.unwrap();
    drop(producer.begin().await.unwrap());
    let transaction = producer.begin().await.unwrap();
    assert!(matches!(producer.begin().await, Err(TransactionError::AlreadyOpen { .. })));
    drop(transaction.send(record(&topic, 0, 1)).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(committed(&client, &topic, 0).await, ["1"]);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_producer_of_the_same_id_fences_the_older_and_aborts_what_it_left() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-fenced", 2).await;
    let id = unique("id");
    let older = producer(&client, &id).await;
    let transaction = older.begin().await.unwrap();
    transaction.send(record(&topic, 0, "older")).await.unwrap().await.unwrap();

    let newer = producer(&client, &id).await;
    let error = transaction.commit().await.unwrap_err();
    assert!(matches!(error, TransactionError::Fenced { .. }), "{error}");
    assert_eq!(error.class(), TransactionErrorClass::ApplicationRecoverable);
    assert!(matches!(older.begin().await, Err(TransactionError::Fenced { .. })));

    let transaction = newer.begin().await.unwrap();
    drop(transaction.send(record(&topic, 0, "newer")).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(committed(&client, &topic, 0).await, ["newer"]);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fenced_producer_that_only_sends_is_told() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-zombie", 2).await;
    let id = unique("id");
    let older = producer(&client, &id).await;
    let first = older.begin().await.unwrap();
    drop(first.send(record(&topic, 0, "first")).await.unwrap());
    first.commit().await.unwrap();
    let newer = producer(&client, &id).await;
    let transaction = older.begin().await.unwrap();
    let delivery = transaction.send(record(&topic, 0, "zombie")).await.unwrap();
    assert!(delivery.await.is_err());
    let error = transaction.commit().await.unwrap_err();
    assert!(matches!(error, TransactionError::Fenced { .. }), "{error}");
    drop(newer);
    assert_eq!(committed(&client, &topic, 0).await, ["first"]);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_of_a_client_that_died_is_aborted_by_its_successor() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-died", 1).await;
    let id = unique("id");
    for round in 0..3 {
        let doomed = cluster.client().await;
        let producer = producer(&doomed, &id).await;
        let transaction = producer.begin().await.unwrap();
        transaction.send(record(&topic, 0, format!("lost {round}"))).await.unwrap().await.unwrap();
        // Cut off in the middle: nothing is ended on the way out.
        doomed.shutdown().await;
        assert!(transaction.commit().await.is_err());
    }
    let producer = producer(&client, &id).await;
    let transaction = producer.begin().await.unwrap();
    drop(transaction.send(record(&topic, 0, "kept")).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(committed(&client, &topic, 0).await, ["kept"]);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_that_is_too_large_aborts_its_transaction_and_those_begun_behind_it() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = unique("tx-too-large");
    let configs = vec![("max.message.bytes".to_owned(), "20000".to_owned())];
    let spec = NewTopic { partitions: 1, configs, ..NewTopic::new(topic.clone()) };
    client.admin().create_topics(vec![spec], PATIENCE).await.unwrap().remove(0).result.unwrap();
    while client.admin().describe_topics(std::slice::from_ref(&topic)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let producer = producer(&client, &unique("id")).await;

    let kept = producer.begin().await.unwrap();
    drop(kept.send(record(&topic, 0, "kept")).await.unwrap());
    let kept = kept.commit();
    let first = producer.begin().await.unwrap();
    drop(first.send(record(&topic, 0, "small")).await.unwrap());
    let large = first.send(record(&topic, 0, "x".repeat(30_000))).await.unwrap();
    kept.await.unwrap();
    assert_eq!(large.await.unwrap_err().error_code(), Some(ErrorCode::MessageTooLarge));
    let error = first.commit().await.unwrap_err();
    assert_eq!(error.class(), TransactionErrorClass::Abortable, "{error}");
    let TransactionError::Aborted { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, AbortCause::Record(_)), "{source}");

    let again = producer.begin().await.unwrap();
    drop(again.send(record(&topic, 0, "again")).await.unwrap());
    again.commit().await.unwrap();
    assert_eq!(committed(&client, &topic, 0).await, ["kept", "again"]);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_takes_longer_than_its_timeout_is_aborted_by_the_broker() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-timeout", 1).await;
    let transaction_timeout = Duration::from_millis(500);
    let config = TransactionalConfig { transaction_timeout, ..TransactionalConfig::new(unique("id")) };
    let producer = client.transactional_producer(config).await.unwrap();
    let transaction = producer.begin().await.unwrap();
    transaction.send(record(&topic, 0, "late")).await.unwrap().await.unwrap();
    // Readers of committed records wait at the open transaction; behind its end they have passed it.
    let stable = async || {
        let config = pillion_client::ConsumerConfig {
            isolation_level: IsolationLevel::ReadCommitted,
            ..pillion_client::ConsumerConfig::default()
        };
        let mut consumer = client.consumer(config);
        let start = pillion_client::Offset::Earliest;
        let assignment = pillion_client::Assignment { topic: topic.clone(), partition: 0, start };
        consumer.assign(vec![assignment]).await.unwrap();
        consumer.poll(Duration::from_millis(200)).await.unwrap();
        consumer.position(&topic, 0)
    };
    tokio::time::timeout(PATIENCE, async { while stable().await != Some(2) {} }).await.expect("it is aborted in time");
    let error = transaction.commit().await.unwrap_err();
    assert_ne!(error.class(), TransactionErrorClass::InvalidConfiguration, "{error}");
    assert!(committed(&client, &topic, 0).await.is_empty());
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeout_the_broker_does_not_allow_is_refused_with_advice() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let transaction_timeout = Duration::from_secs(30 * 24 * 3_600);
    let config = TransactionalConfig { transaction_timeout, ..TransactionalConfig::new(unique("id")) };
    let error = client.transactional_producer(config).await.unwrap_err();
    assert_eq!(error.class(), TransactionErrorClass::InvalidConfiguration);
    assert!(error.to_string().contains("transaction.max.timeout.ms"), "{error}");
    client.shutdown().await;
}
