//! The producer against a scripted broker.

use std::time::Duration;

use crate::fake_broker::{Action, FakeBroker};
use bytes::Bytes;
use pillion_client::{Acks, Client, ClientConfig, ErrorCode, ProduceError, ProducerConfig, ProducerRecord};

async fn connect(broker: &FakeBroker) -> Client {
    let config = ClientConfig {
        bootstrap_servers: vec![broker.address()],
        request_timeout: Duration::from_secs(5),
        retry_backoff: Duration::from_millis(2),
        retry_backoff_max: Duration::from_millis(10),
        ..ClientConfig::default()
    };
    Client::connect(config).await.unwrap()
}

fn record(partition: i32, value: impl Into<Bytes>) -> ProducerRecord {
    ProducerRecord {
        topic: "events".into(),
        partition: Some(partition),
        value: Some(value.into()),
        ..ProducerRecord::default()
    }
}

/// Sends `count` records to each of two partitions while the broker does what `script` says, and checks that each
/// log holds every record once and in order, at the offsets that were told.
async fn check_delivery(count: i64, script: impl FnMut(usize) -> Action + Send + 'static) {
    let broker = FakeBroker::start(2).await;
    broker.on_produce(script);
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig { batch_size: 200, ..ProducerConfig::default() });
    let mut deliveries = Vec::new();
    for number in 0..count {
        for partition in 0..2 {
            deliveries.push((number, producer.send(record(partition, number.to_string())).await.unwrap()));
        }
    }
    for (number, delivery) in deliveries {
        assert_eq!(delivery.await.unwrap().offset, number);
    }
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    for partition in 0..2 {
        assert_eq!(broker.values(partition), expected);
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_arrive_once_and_in_order() {
    check_delivery(500, |_| Action::Serve).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_neither_lose_nor_repeat_nor_reorder_records() {
    let script = |request| match request % 7 {
        2 => Action::DropBefore,
        5 => Action::DropAfter,
        _ => Action::Serve,
    };
    check_delivery(300, script).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_leaders_neither_lose_nor_reorder_records() {
    let script = |request| match request % 5 {
        0 | 3 if request < 100 => Action::Refuse(ErrorCode::NotLeaderOrFollower),
        _ => Action::Serve,
    };
    check_delivery(300, script).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_no_frames_end_the_connection_and_the_records_go_out_again() {
    let script = |request| match request {
        1 => Action::Raw(vec![0x7f, 0xff, 0xff, 0xff, 0, 0]),
        3 => Action::Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        5 => Action::Raw(vec![0xff; 64]),
        7 => Action::Raw([&[0, 0, 0, 8][..], &[0x55; 8]].concat()),
        _ => Action::Serve,
    };
    check_delivery(100, script).await;
}

#[tokio::test]
async fn send_waits_while_the_buffer_memory_is_exhausted() {
    let broker = FakeBroker::start(1).await;
    let (release, mut released) = tokio::sync::watch::channel(false);
    released.mark_unchanged();
    broker.on_produce(move |_| if *released.borrow() { Action::Serve } else { Action::Silence });
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig { buffer_memory: 2_000, ..ProducerConfig::default() });
    let first = producer.send(record(0, vec![1; 1_500])).await.unwrap();
    let mut second = Box::pin(producer.send(record(0, vec![2; 1_500])));
    for _ in 0..100 {
        tokio::select! {
            biased;
            _ = &mut second => panic!("a record was taken beyond the buffer memory"),
            () = tokio::task::yield_now() => {}
        }
    }
    release.send_replace(true);
    let second = second.await.unwrap();
    assert_eq!(first.await.unwrap().offset, 0);
    assert_eq!(second.await.unwrap().offset, 1);
    let too_large = producer.send(record(0, vec![0; 2_001])).await.unwrap_err();
    assert!(matches!(too_large, ProduceError::RecordTooLarge { limit: 2_000, .. }), "{too_large}");
    client.shutdown().await;
}

#[tokio::test]
async fn record_fails_when_the_delivery_timeout_is_over() {
    let broker = FakeBroker::start(1).await;
    broker.on_produce(|_| Action::Silence);
    let client = connect(&broker).await;
    let delivery_timeout = Duration::from_millis(200);
    let producer = client.producer(ProducerConfig { delivery_timeout, ..ProducerConfig::default() });
    let delivery = producer.send(record(0, "lost")).await.unwrap();
    let error = delivery.await.unwrap_err();
    assert!(matches!(error, ProduceError::DeliveryTimeout { may_be_written: true, .. }), "{error}");
    assert_eq!(error.error_code(), Some(ErrorCode::RequestTimedOut));
    client.shutdown().await;
}

#[tokio::test]
async fn record_the_broker_refuses_fails_and_the_next_one_is_delivered() {
    let broker = FakeBroker::start(1).await;
    broker.on_produce(|request| if request == 0 { Action::Refuse(ErrorCode::InvalidRecord) } else { Action::Serve });
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig::default());
    let refused = producer.send(record(0, "refused")).await.unwrap().await.unwrap_err();
    assert_eq!(refused.error_code(), Some(ErrorCode::InvalidRecord));
    let delivered = producer.send(record(0, "delivered")).await.unwrap().await.unwrap();
    assert_eq!((&*delivered.topic, delivered.partition, delivered.offset), ("events", 0, 0));
    client.shutdown().await;
}

#[tokio::test]
async fn acks_none_is_delivered_without_an_answer_and_without_an_offset() {
    let broker = FakeBroker::start(1).await;
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig { acks: Acks::None, ..ProducerConfig::default() });
    for number in 0..20 {
        let delivered = producer.send(record(0, number.to_string())).await.unwrap().await.unwrap();
        assert_eq!(delivered.offset, -1);
    }
    while broker.values(0).len() < 20 {
        tokio::task::yield_now().await;
    }
    client.shutdown().await;
}

#[tokio::test]
async fn flush_waits_for_every_record_queued_before() {
    let broker = FakeBroker::start(2).await;
    broker.on_produce(|request| if request % 2 == 0 { Action::DropBefore } else { Action::Serve });
    let client = connect(&broker).await;
    let linger = Duration::from_secs(3_600);
    let producer = client.producer(ProducerConfig { linger, ..ProducerConfig::default() });
    for number in 0..100 {
        drop(producer.send(record(number % 2, number.to_string())).await.unwrap());
    }
    producer.flush().await.unwrap();
    assert_eq!(broker.values(0).len() + broker.values(1).len(), 100);
    client.shutdown().await;
}

#[tokio::test]
async fn what_is_queued_together_travels_together() {
    let broker = FakeBroker::start(1).await;
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig::default());
    producer.send(record(0, "first")).await.unwrap().await.unwrap();
    let before = broker.produce_requests();
    let mut deliveries = Vec::new();
    for number in 0..100 {
        deliveries.push(producer.send(record(0, number.to_string())).await.unwrap());
    }
    for delivery in deliveries {
        delivery.await.unwrap();
    }
    assert_eq!(broker.produce_requests() - before, 1);
    client.shutdown().await;
}

#[tokio::test]
async fn partition_that_does_not_exist_is_told() {
    let broker = FakeBroker::start(1).await;
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig::default());
    let outcome = match producer.send(record(5, "lost")).await {
        Ok(delivery) => delivery.await,
        Err(error) => Err(error),
    };
    assert!(matches!(outcome, Err(ProduceError::UnknownPartition { partition: 5, .. })), "{outcome:?}");
    client.shutdown().await;
}

#[tokio::test]
async fn shutdown_fails_what_is_not_delivered() {
    let broker = FakeBroker::start(1).await;
    broker.on_produce(|_| Action::Silence);
    let client = connect(&broker).await;
    let producer = client.producer(ProducerConfig::default());
    let delivery = producer.send(record(0, "lost")).await.unwrap();
    client.shutdown().await;
    assert!(matches!(delivery.await, Err(ProduceError::Closed)));
    assert!(matches!(producer.send(record(0, "late")).await, Err(ProduceError::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_used_for_the_first_time_does_not_wait_for_the_backoff_of_another() {
    let broker = FakeBroker::start(2).await;
    let hour = Duration::from_secs(3600);
    let config = ClientConfig {
        bootstrap_servers: vec![broker.address()],
        retry_backoff: hour,
        retry_backoff_max: hour,
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await.unwrap();
    let producer = client.producer(ProducerConfig::default());
    for topic in ["events", "others", "more"] {
        let record = ProducerRecord { topic: topic.into(), ..record(0, topic) };
        let delivery = producer.send(record).await.unwrap();
        let delivered = tokio::time::timeout(Duration::from_secs(30), delivery).await;
        assert_eq!(delivered.expect("no backoff of an hour").unwrap().topic, topic.into());
    }
}

#[tokio::test]
async fn keys_stay_in_their_partitions_where_they_must_when_partitions_are_added() {
    let broker = FakeBroker::start(2).await;
    let config = ClientConfig {
        bootstrap_servers: vec![broker.address()],
        retry_backoff: Duration::from_millis(2),
        metadata_max_age: Duration::from_millis(10),
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await.unwrap();
    let producer = client.producer(ProducerConfig { keeps_partitions: true, ..ProducerConfig::default() });
    let keyed = || ProducerRecord { partition: None, key: Some(Bytes::from_static(b"k")), ..record(0, "v") };
    producer.send(keyed()).await.unwrap().await.unwrap();
    broker.add_partitions(1);
    let error = loop {
        match producer.send(keyed()).await {
            Ok(handle) => drop(handle.await.unwrap()),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let ProduceError::PartitionsChanged { before: 2, now: 3, .. } = error else { panic!("{error}") };
    // A partition that is named does not depend on their number.
    producer.send(record(1, "v")).await.unwrap().await.unwrap();
    assert!(broker.values(2).is_empty());
    // A new producer goes by what there is.
    let next = client.producer(ProducerConfig { keeps_partitions: true, ..ProducerConfig::default() });
    next.send(keyed()).await.unwrap().await.unwrap();
    client.shutdown().await;
}
