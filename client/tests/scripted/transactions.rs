//! The transactional producer against a scripted broker that coordinates its transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pillion_client::{
    Client, ClientConfig, ErrorCode, ProduceError, ProducerConfig, ProducerRecord, Transaction, TransactionError,
    TransactionErrorClass, TransactionalConfig, TransactionalProducer,
};

use crate::fake_broker::{Action, FakeBroker};

const PARTITIONS: usize = 2;

async fn start(second: bool, epoch: i16) -> (FakeBroker, Client) {
    let broker = FakeBroker::start(PARTITIONS).await;
    broker.coordinate(second, epoch);
    let config = ClientConfig {
        bootstrap_servers: vec![broker.address()],
        request_timeout: Duration::from_secs(5),
        retry_backoff: Duration::from_millis(2),
        retry_backoff_max: Duration::from_millis(10),
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await.unwrap();
    (broker, client)
}

async fn producer(client: &Client) -> TransactionalProducer {
    let producer = ProducerConfig { batch_size: 200, ..ProducerConfig::default() };
    let config = TransactionalConfig { max_in_flight_transactions: 3, producer, ..TransactionalConfig::new("id") };
    client.transactional_producer(config).await.unwrap()
}

fn record(partition: usize, value: impl ToString) -> ProducerRecord {
    ProducerRecord {
        topic: "events".into(),
        partition: Some(partition as i32),
        value: Some(value.to_string().into()),
        ..ProducerRecord::default()
    }
}

async fn fill(transaction: &Transaction, numbers: std::ops::Range<u64>) {
    for number in numbers {
        for partition in 0..PARTITIONS {
            drop(transaction.send(record(partition, number)).await.unwrap());
        }
    }
}

async fn commit(producer: &TransactionalProducer, numbers: std::ops::Range<u64>) {
    let transaction = producer.begin().await.unwrap();
    fill(&transaction, numbers).await;
    transaction.commit().await.unwrap();
}

/// The coordinator's APIs in the versions they were asked in, each once.
fn versions(broker: &FakeBroker) -> Vec<(i16, i16)> {
    let mut asked = broker.coordinations();
    asked.sort_unstable();
    asked.dedup();
    asked
}

#[tokio::test]
async fn version_2_ends_with_a_new_epoch_and_adds_no_partitions() {
    let (broker, client) = start(true, 0).await;
    let producer = producer(&client).await;
    for round in 0..5 {
        commit(&producer, round * 10..(round + 1) * 10).await;
    }
    assert_eq!(versions(&broker), [(10, 6), (22, 5), (26, 5)]);
    assert_eq!(broker.committed(1).len(), 50);
    client.shutdown().await;
}

#[tokio::test]
async fn version_1_adds_partitions_and_keeps_its_epoch() {
    let (broker, client) = start(false, 0).await;
    let producer = producer(&client).await;
    for round in 0..5 {
        commit(&producer, round * 10..(round + 1) * 10).await;
    }
    assert_eq!(versions(&broker), [(10, 3), (22, 3), (24, 3), (26, 3)]);
    assert_eq!(broker.coordinations().iter().filter(|(key, _)| *key == 22).count(), 1);
    assert_eq!(broker.committed(1).len(), 50);
    client.shutdown().await;
}

#[tokio::test]
async fn used_up_epochs_bring_another_producer_id() {
    let (broker, client) = start(true, i16::MAX - 4).await;
    let producer = producer(&client).await;
    for round in 0..8 {
        commit(&producer, round * 10..(round + 1) * 10).await;
    }
    assert_eq!(broker.committed(0).len(), 80);
    client.shutdown().await;
}

/// Transactions, several at a time and every fourth aborted, while requests and answers are lost and coordinators
/// refuse: what is committed is there once and in order, the rest is not.
async fn check_chaos(second: bool) {
    let (broker, client) = start(second, 0).await;
    broker.on_produce(|request| match request % 11 {
        3 => Action::DropBefore,
        6 => Action::DropAfter,
        8 => Action::Refuse(ErrorCode::NotLeaderOrFollower),
        9 => Action::Refuse(ErrorCode::ConcurrentTransactions),
        _ => Action::Serve,
    });
    broker.on_coordination(|request| match request % 13 {
        2 => Action::DropBefore,
        4 | 11 => Action::DropAfter,
        6 => Action::Refuse(ErrorCode::ConcurrentTransactions),
        8 => Action::Refuse(ErrorCode::NotCoordinator),
        9 => Action::Refuse(ErrorCode::CoordinatorLoadInProgress),
        _ => Action::Serve,
    });
    let producer = producer(&client).await;
    let (mut outcomes, mut expected) = (Vec::new(), Vec::new());
    for round in 0..80_u64 {
        let transaction = producer.begin().await.unwrap();
        fill(&transaction, round * 10..(round + 1) * 10).await;
        if round % 4 == 3 {
            outcomes.push(transaction.abort());
        } else {
            outcomes.push(transaction.commit());
            expected.extend((round * 10..(round + 1) * 10).map(|number| number.to_string()));
        }
    }
    for outcome in outcomes {
        outcome.await.unwrap();
    }
    for partition in 0..PARTITIONS {
        assert_eq!(broker.committed(partition), expected);
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn losses_on_the_way_neither_lose_nor_repeat_what_is_committed_in_version_2() {
    check_chaos(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn losses_on_the_way_neither_lose_nor_repeat_what_is_committed_in_version_1() {
    check_chaos(false).await;
}

/// A record of the second transaction is refused while the third is filled.
async fn check_doom(second: bool) {
    let (broker, client) = start(second, 0).await;
    let producer = producer(&client).await;
    commit(&producer, 0..10).await;
    // Nothing is taken until both are filled.
    let filled = Arc::new(AtomicBool::new(false));
    let (both, mut refuses) = (filled.clone(), true);
    broker.on_produce(move |_| match both.load(Ordering::Acquire) {
        false => Action::Refuse(ErrorCode::NotLeaderOrFollower),
        true if std::mem::take(&mut refuses) => Action::Refuse(ErrorCode::TransactionAbortable),
        true => Action::Serve,
    });
    let failing = producer.begin().await.unwrap();
    fill(&failing, 10..20).await;
    let failing = failing.commit();
    let behind = producer.begin().await.unwrap();
    fill(&behind, 20..30).await;
    let behind = behind.commit();
    filled.store(true, Ordering::Release);
    // Whoever begins the next one before anyone was told is told here.
    let told = loop {
        match producer.begin().await {
            Ok(before_the_failure) => drop(before_the_failure),
            Err(told) => break told,
        }
    };
    assert_eq!(told.class(), TransactionErrorClass::Abortable, "{told}");
    for outcome in [failing.await, behind.await] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, TransactionError::Aborted { .. }), "{error}");
        assert_eq!(error.error_code(), Some(ErrorCode::TransactionAbortable));
    }
    commit(&producer, 10..20).await;
    for partition in 0..PARTITIONS {
        let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(broker.committed(partition), expected);
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_aborts_what_was_begun_behind_it_in_version_2() {
    check_doom(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_aborts_what_was_begun_behind_it_in_version_1() {
    check_doom(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_is_never_committed_without_a_record_that_failed() {
    let (broker, client) = start(true, 0).await;
    let producer = producer(&client).await;
    broker.on_produce(|request| match request % 3 {
        1 => Action::Refuse(ErrorCode::InvalidRecord),
        _ => Action::Serve,
    });
    let mut expected = Vec::new();
    for number in 0..300_u64 {
        let transaction = producer.begin().await.unwrap();
        // Two requests, of which a third is refused, whichever is told first.
        for partition in 0..PARTITIONS {
            drop(transaction.send(record(partition, number)).await);
        }
        match transaction.commit().await {
            Ok(()) => expected.push(number.to_string()),
            Err(error) => assert_eq!(error.class(), TransactionErrorClass::Abortable, "{error}"),
        }
    }
    assert!(!expected.is_empty());
    for partition in 0..PARTITIONS {
        assert_eq!(broker.committed(partition), expected);
    }
    client.shutdown().await;
}

#[tokio::test]
async fn record_into_a_doomed_transaction_is_refused_with_the_cause() {
    let (broker, client) = start(true, 0).await;
    broker.on_produce(|_| Action::Refuse(ErrorCode::InvalidRecord));
    let producer = producer(&client).await;
    let transaction = producer.begin().await.unwrap();
    let first = transaction.send(record(0, "refused")).await.unwrap().await.unwrap_err();
    assert_eq!(first.error_code(), Some(ErrorCode::InvalidRecord));
    let next = transaction.send(record(0, "behind")).await.unwrap_err();
    assert!(matches!(next, ProduceError::TransactionAborted { .. }), "{next}");
    assert_eq!(next.error_code(), Some(ErrorCode::InvalidRecord));
    // Told already, begin does not tell again.
    drop(transaction);
    drop(producer.begin().await.unwrap());
    client.shutdown().await;
}

#[tokio::test]
async fn commit_without_an_answer_ends_with_an_unknown_outcome_and_with_it_the_producer() {
    let (broker, client) = start(true, 0).await;
    let max_block = Duration::from_millis(300);
    let config = TransactionalConfig { max_block, ..TransactionalConfig::new("id") };
    let producer = client.transactional_producer(config).await.unwrap();
    broker.on_coordination(|_| Action::DropAfter);
    let transaction = producer.begin().await.unwrap();
    fill(&transaction, 0..1).await;
    let error = transaction.commit().await.unwrap_err();
    assert!(matches!(error, TransactionError::OutcomeUnknown { .. }), "{error}");
    assert_eq!(error.class(), TransactionErrorClass::ApplicationRecoverable);
    assert!(matches!(producer.begin().await, Err(TransactionError::OutcomeUnknown { .. })));
    client.shutdown().await;
}

#[tokio::test]
async fn coordinator_that_fences_ends_the_producer() {
    let (broker, client) = start(false, 0).await;
    let producer = producer(&client).await;
    broker.on_coordination(|_| Action::Refuse(ErrorCode::ProducerFenced));
    let transaction = producer.begin().await.unwrap();
    let delivery = transaction.send(record(0, "fenced")).await.unwrap();
    assert!(matches!(delivery.await, Err(ProduceError::TransactionAborted { .. })));
    let error = transaction.commit().await.unwrap_err();
    assert!(matches!(error, TransactionError::Fenced { api: "AddPartitionsToTxn", .. }), "{error}");
    client.shutdown().await;
}

#[tokio::test]
async fn producer_without_a_coordinator_is_told_after_its_patience() {
    let (broker, client) = start(true, 0).await;
    broker.on_coordination(|_| Action::Refuse(ErrorCode::CoordinatorNotAvailable));
    let max_block = Duration::from_millis(100);
    let config = TransactionalConfig { max_block, ..TransactionalConfig::new("id") };
    let error = client.transactional_producer(config).await.unwrap_err();
    assert!(matches!(error, TransactionError::TimedOut { .. }), "{error}");
    assert_eq!(error.class(), TransactionErrorClass::Retriable);
    assert_eq!(error.error_code(), Some(ErrorCode::CoordinatorNotAvailable));
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_dropped_with_their_producer_are_ended_all_the_same() {
    let (broker, client) = start(true, 0).await;
    {
        let producer = producer(&client).await;
        let first = producer.begin().await.unwrap();
        fill(&first, 0..10).await;
        drop(first.commit());
        let second = producer.begin().await.unwrap();
        fill(&second, 10..20).await;
    }
    let committed = async {
        while broker.committed(0).len() < 10 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), committed).await.expect("what was ended is carried out");
    client.shutdown().await;
    assert_eq!(broker.committed(0).len(), 10);
}
