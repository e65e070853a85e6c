//! Against a real cluster, which `PILLION_TEST_BOOTSTRAP` names: run with `--ignored`. Restart brokers meanwhile to
//! see that nothing is lost, repeated or reordered.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pillion_client::{
    Assignment, Client, ClientConfig, Compression, Consumer, ConsumerConfig, NewTopic, Offset, Producer,
    ProducerConfig, ProducerRecord,
};

const PARTITIONS: i32 = 6;

async fn connect() -> Result<Client> {
    let servers = std::env::var("PILLION_TEST_BOOTSTRAP").context("PILLION_TEST_BOOTSTRAP is not set")?;
    let bootstrap_servers = servers.split(',').map(str::to_owned).collect();
    Ok(Client::connect(ClientConfig { bootstrap_servers, ..ClientConfig::default() }).await?)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

async fn new_topic(client: &Client, prefix: &str) -> Result<String> {
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    let name = format!("{prefix}-{stamp}");
    let topic = NewTopic { partitions: PARTITIONS, ..NewTopic::new(name.clone()) };
    for outcome in client.admin().create_topics(vec![topic], Duration::from_secs(30)).await? {
        outcome.result?;
    }
    Ok(name)
}

fn record(topic: &str, number: u64) -> ProducerRecord {
    ProducerRecord {
        topic: topic.to_owned(),
        key: Some((number % 64).to_be_bytes().to_vec().into()),
        value: Some(format!("{number:0>100}").into()),
        ..ProducerRecord::default()
    }
}

async fn produce(producer: &Producer, topic: &str, count: u64, pause_every: u64) -> Result<()> {
    let mut deliveries = Vec::new();
    for number in 0..count {
        deliveries.push(producer.send(record(topic, number)).await?);
        if pause_every > 0 && number % pause_every == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for delivery in deliveries {
        let delivered = delivery.await?;
        ensure!(delivered.offset >= 0 || delivered.offset == -1);
    }
    Ok(())
}

/// Reads until `count` records are there, checks that each number is there once and that keys are in order.
async fn consume(consumer: &mut Consumer, topic: &str, count: u64) -> Result<()> {
    let assignment = |partition| Assignment { topic: topic.to_owned(), partition, start: Offset::Earliest };
    consumer.assign((0..PARTITIONS).map(assignment).collect()).await?;
    let mut seen = vec![0_u32; count as usize];
    let mut last_of_key: HashMap<u64, u64> = HashMap::new();
    let mut read = 0;
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 3 {
        let records = consumer.poll(Duration::from_millis(500)).await?;
        quiet = if records.is_empty() && read >= count { quiet + 1 } else { 0 };
        ensure!(started.elapsed() < Duration::from_secs(120), "only {read} of {count} records after two minutes");
        for record in records {
            let number: u64 = std::str::from_utf8(record.value.as_deref().unwrap_or_default())?.parse()?;
            seen[number as usize] += 1;
            if let Some(last) = last_of_key.insert(number % 64, number) {
                let place = format!("{}-{} offset {}", record.topic, record.partition, record.offset);
                ensure!(last < number, "key {} steps back from {last} to {number} at {place}", number % 64);
            }
            read += 1;
        }
    }
    let (missing, repeated) =
        (seen.iter().filter(|times| **times == 0).count(), seen.iter().filter(|times| **times > 1).count());
    println!("read {read} records: {missing} missing, {repeated} repeated, in {:?}", started.elapsed());
    ensure!(missing == 0 && repeated == 0 && read == count);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set PILLION_TEST_BOOTSTRAP"]
async fn every_record_is_read_once_and_in_order() -> Result<()> {
    let client = connect().await?;
    let topic = new_topic(&client, "client-once").await?;
    let count = setting("PILLION_TEST_RECORDS", 100_000);
    let producer = client.producer(ProducerConfig::default());
    let started = Instant::now();
    produce(&producer, &topic, count, setting("PILLION_TEST_PAUSE_EVERY", 0)).await?;
    println!("produced {count} records in {:?}", started.elapsed());
    consume(&mut client.consumer(ConsumerConfig::default()), &topic, count).await?;
    client.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set PILLION_TEST_BOOTSTRAP"]
async fn every_codec_is_read_back() -> Result<()> {
    let client = connect().await?;
    for compression in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let topic = new_topic(&client, "client-codec").await?;
        let producer = client.producer(ProducerConfig { compression, ..ProducerConfig::default() });
        produce(&producer, &topic, 2_000, 0).await?;
        consume(&mut client.consumer(ConsumerConfig::default()), &topic, 2_000).await?;
    }
    client.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set PILLION_TEST_BOOTSTRAP"]
async fn batches_the_topic_refuses_as_too_large_are_split() -> Result<()> {
    let client = connect().await?;
    let name = new_topic(&client, "client-split").await?;
    let small = format!("{name}-small");
    let configs = vec![("max.message.bytes".to_owned(), "20000".to_owned())];
    let topic = NewTopic { partitions: PARTITIONS, configs, ..NewTopic::new(small.clone()) };
    for outcome in client.admin().create_topics(vec![topic], Duration::from_secs(30)).await? {
        outcome.result?;
    }
    let producer = client.producer(ProducerConfig { linger: Duration::from_millis(50), ..ProducerConfig::default() });
    produce(&producer, &small, 10_000, 0).await?;
    let big = ProducerRecord { value: Some(vec![7; 30_000].into()), ..record(&small, 0) };
    let refused = producer.send(big).await?;
    let behind = producer.send(record(&small, 10_000)).await?;
    let error = refused.await.err().context("a record above max.message.bytes was accepted")?;
    ensure!(error.error_code() == Some(pillion_client::ErrorCode::MessageTooLarge), "{error}");
    behind.await?;
    consume(&mut client.consumer(ConsumerConfig::default()), &small, 10_001).await?;
    client.shutdown().await;
    Ok(())
}
