//! Connecting and consuming against a scripted broker.

use std::time::Duration;

use crate::fake_broker::{Action, FakeBroker};
use pillion_client::{
    Assignment, Client, ClientConfig, ClientError, ConnectionError, ConsumedRecord, Consumer, ConsumerConfig,
    ErrorCode, Offset, ProducerConfig, ProducerRecord,
};

const LONG: Duration = Duration::from_secs(60);

fn config(address: String) -> ClientConfig {
    ClientConfig {
        bootstrap_servers: vec![address],
        request_timeout: Duration::from_secs(5),
        retry_backoff: Duration::from_millis(2),
        retry_backoff_max: Duration::from_millis(10),
        ..ClientConfig::default()
    }
}

/// A broker whose partition 0 holds `count` records, in batches of up to ten.
async fn filled(count: usize) -> (FakeBroker, Client) {
    let broker = FakeBroker::start(2).await;
    let client = Client::connect(config(broker.address())).await.unwrap();
    let producer = client.producer(ProducerConfig::default());
    let numbers: Vec<usize> = (0..count).collect();
    for ten in numbers.chunks(10) {
        for number in ten {
            let value = Some(number.to_string().into());
            let record = ProducerRecord { topic: "events".into(), partition: Some(0), value, ..Default::default() };
            drop(producer.send(record).await.unwrap());
        }
        producer.flush().await.unwrap();
    }
    (broker, client)
}

async fn assigned(client: &Client, config: ConsumerConfig, start: Offset) -> Consumer {
    let mut consumer = client.consumer(config);
    consumer.assign(vec![Assignment { topic: "events".into(), partition: 0, start }]).await.unwrap();
    consumer
}

async fn read(consumer: &mut Consumer, count: usize) -> Vec<ConsumedRecord> {
    let mut records = Vec::new();
    while records.len() < count {
        records.extend(consumer.poll(LONG).await.unwrap());
    }
    records
}

#[tokio::test]
async fn reading_begins_at_the_offset_asked_for_also_inside_a_batch() {
    let (_broker, client) = filled(30).await;
    for (start, first) in [(Offset::Earliest, 0), (Offset::At(0), 0), (Offset::At(17), 17), (Offset::At(29), 29)] {
        let mut consumer = assigned(&client, ConsumerConfig::default(), start).await;
        let records = read(&mut consumer, 30 - first).await;
        let offsets: Vec<i64> = records.iter().map(|record| record.offset).collect();
        assert_eq!(offsets, (first as i64..30).collect::<Vec<_>>(), "{start:?}");
        assert_eq!(records[0].value.as_deref(), Some(first.to_string().as_bytes()));
        assert_eq!(consumer.position("events", 0), Some(30));
        assert_eq!(consumer.high_watermark("events", 0), Some(30));
    }
    client.shutdown().await;
}

#[tokio::test]
async fn poll_gives_no_more_than_asked_for_and_the_rest_next_time() {
    let (_broker, client) = filled(30).await;
    let config = ConsumerConfig { max_poll_records: 7, ..ConsumerConfig::default() };
    let mut consumer = assigned(&client, config, Offset::Earliest).await;
    let mut next = 0;
    while next < 30 {
        let records = consumer.poll(LONG).await.unwrap();
        assert!((1..=7).contains(&records.len()));
        for record in records {
            assert_eq!(record.offset, next);
            next += 1;
        }
        assert_eq!(consumer.position("events", 0), Some(next));
    }
    client.shutdown().await;
}

#[tokio::test]
async fn polls_given_up_in_the_middle_lose_nothing() {
    let (_broker, client) = filled(30).await;
    let mut consumer =
        assigned(&client, ConsumerConfig { max_poll_records: 3, ..Default::default() }, Offset::Earliest).await;
    let mut offsets = Vec::new();
    while offsets.len() < 30 {
        tokio::select! {
            biased;
            records = consumer.poll(LONG) => offsets.extend(records.unwrap().into_iter().map(|record| record.offset)),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(offsets, (0..30).collect::<Vec<_>>());
    client.shutdown().await;
}

#[tokio::test]
async fn lost_connections_and_moved_leaders_are_got_over() {
    let (broker, client) = filled(30).await;
    broker.on_fetch(|fetch| match fetch {
        0 => Action::DropBefore,
        1 => Action::Refuse(ErrorCode::NotLeaderOrFollower),
        2 => Action::Raw(vec![0xff; 16]),
        _ => Action::Serve,
    });
    let mut consumer = assigned(&client, ConsumerConfig::default(), Offset::Earliest).await;
    assert_eq!(read(&mut consumer, 30).await.len(), 30);
    client.shutdown().await;
}

#[tokio::test]
async fn offset_out_of_range_is_told_until_the_consumer_seeks() {
    let (_broker, client) = filled(5).await;
    let mut consumer = assigned(&client, ConsumerConfig::default(), Offset::At(99)).await;
    for _ in 0..2 {
        let error = consumer.poll(LONG).await.unwrap_err();
        assert!(matches!(error, ClientError::OffsetOutOfRange { offset: 99, partition: 0, .. }), "{error}");
        assert_eq!(error.error_code(), Some(ErrorCode::OffsetOutOfRange));
    }
    consumer.seek("events", 0, Offset::At(4)).unwrap();
    assert_eq!(read(&mut consumer, 1).await[0].offset, 4);
    assert!(matches!(consumer.seek("events", 9, Offset::Latest), Err(ClientError::UnknownPartition { .. })));
    client.shutdown().await;
}

#[tokio::test]
async fn partition_that_does_not_exist_cannot_be_assigned() {
    let (_broker, client) = filled(0).await;
    let mut consumer = client.consumer(ConsumerConfig::default());
    let wrong = Assignment { topic: "events".into(), partition: 2, start: Offset::Earliest };
    assert!(matches!(consumer.assign(vec![wrong]).await, Err(ClientError::UnknownPartition { partition: 2, .. })));
    client.shutdown().await;
}

#[tokio::test]
async fn poll_of_nothing_new_is_empty() {
    let (_broker, client) = filled(3).await;
    let mut consumer = assigned(&client, ConsumerConfig::default(), Offset::Latest).await;
    while consumer.position("events", 0) != Some(3) {
        assert!(consumer.poll(Duration::from_millis(1)).await.unwrap().is_empty());
    }
    assert!(consumer.poll(Duration::ZERO).await.unwrap().is_empty());
    client.shutdown().await;
}

#[tokio::test]
async fn server_that_does_not_speak_kafka_is_told_apart() {
    let broker = FakeBroker::start(1).await;
    broker.on_metadata(|_| Action::Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let request_timeout = Duration::from_millis(200);
    let error = Client::connect(ClientConfig { request_timeout, ..config(broker.address()) }).await.unwrap_err();
    let ClientError::NoBootstrapServer { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(source, Some(ConnectionError::FrameLength { .. })), "{source:?}");
}

#[tokio::test]
async fn metadata_that_cannot_be_read_is_refused() {
    let broker = FakeBroker::start(1).await;
    // A correlation id that is right, then an array of two thousand million brokers.
    broker.on_metadata(|_| Action::Raw(vec![0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]));
    let request_timeout = Duration::from_millis(200);
    let error = Client::connect(ClientConfig { request_timeout, ..config(broker.address()) }).await.unwrap_err();
    let ClientError::NoBootstrapServer { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(source, Some(ConnectionError::Decode { what: "Metadata", .. })), "{source:?}");
}

#[tokio::test]
async fn silent_bootstrap_server_is_given_up_for_the_next_one() {
    let silent = FakeBroker::start(1).await;
    silent.on_metadata(|_| Action::Silence);
    let broker = FakeBroker::start(1).await;
    let bootstrap_servers = vec![silent.address(), broker.address()];
    let request_timeout = Duration::from_secs(1);
    let client =
        Client::connect(ClientConfig { bootstrap_servers, request_timeout, ..ClientConfig::default() }).await.unwrap();
    client.shutdown().await;
}

#[tokio::test]
async fn bootstrap_server_without_a_port_is_told_at_once() {
    for server in ["no-port", ":9092", "host:0", "host:99999", "::1:9092", ""] {
        let outcome = Client::connect(config(server.to_owned())).await;
        assert!(matches!(outcome, Err(ClientError::InvalidBootstrapServer { .. })), "{server:?}");
    }
}
