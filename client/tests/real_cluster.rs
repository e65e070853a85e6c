//! Against a real cluster, which `CLIENT_TEST_BOOTSTRAP` names: run with `--ignored`. Restart brokers meanwhile to
//! see that nothing is lost, repeated or reordered.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pillion_client::{
    Assignment, Client, ClientConfig, Compression, ConfigResource, Consumer, ConsumerConfig, ErrorCode, NewTopic,
    Offset, Producer, ProducerConfig, ProducerRecord,
};

const PARTITIONS: i32 = 6;

async fn connect() -> Result<Client> {
    let servers = std::env::var("CLIENT_TEST_BOOTSTRAP").context("CLIENT_TEST_BOOTSTRAP is not set")?;
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
    // Brokers learn of a topic from the controller, a moment after it was created.
    while client.admin().describe_topics(std::slice::from_ref(&name)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(name)
}

fn record(topic: &str, number: u64) -> ProducerRecord {
    ProducerRecord {
        topic: topic.into(),
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
        ensure!(delivered.offset >= 0, "delivered without an offset");
    }
    Ok(())
}

/// Reads until `count` records are there, checks that each number is there once and that keys are in order.
async fn consume(consumer: &mut Consumer, topic: &str, count: u64) -> Result<()> {
    let assignment = |partition| Assignment { topic: topic.into(), partition, start: Offset::Earliest };
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
#[ignore = "needs a cluster: set CLIENT_TEST_BOOTSTRAP"]
async fn every_record_is_read_once_and_in_order() -> Result<()> {
    let client = connect().await?;
    let topic = new_topic(&client, "client-once").await?;
    let count = setting("CLIENT_TEST_RECORDS", 100_000);
    let producer = client.producer(ProducerConfig::default());
    let started = Instant::now();
    produce(&producer, &topic, count, setting("CLIENT_TEST_PAUSE_EVERY", 0)).await?;
    println!("produced {count} records in {:?}", started.elapsed());
    consume(&mut client.consumer(ConsumerConfig::default()), &topic, count).await?;
    client.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set CLIENT_TEST_BOOTSTRAP"]
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
#[ignore = "needs a cluster: set CLIENT_TEST_BOOTSTRAP"]
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
    ensure!(error.error_code() == Some(ErrorCode::MessageTooLarge), "{error}");
    behind.await?;
    consume(&mut client.consumer(ConsumerConfig::default()), &small, 10_001).await?;
    client.shutdown().await;
    Ok(())
}

/// Prints how long a lone record takes from `send` to its acknowledgement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set CLIENT_TEST_BOOTSTRAP"]
async fn lone_records_are_acknowledged() -> Result<()> {
    let client = connect().await?;
    let topic = new_topic(&client, "client-lone").await?;
    let producer = client.producer(ProducerConfig::default());
    let rounds = setting("CLIENT_TEST_RECORDS", 2_000).min(10_000);
    let sending = tokio::spawn(async move {
        let mut times = Vec::new();
        for number in 0..rounds {
            let started = Instant::now();
            producer.send(record(&topic, number)).await?.await?;
            times.push(started.elapsed());
        }
        anyhow::Ok(times)
    });
    let mut times = sending.await??;
    times.sort_unstable();
    println!("{rounds} lone records: p50 {:?}, p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
    client.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: set CLIENT_TEST_BOOTSTRAP"]
async fn topics_are_created_described_and_deleted() -> Result<()> {
    let client = connect().await?;
    let admin = client.admin();
    let name = new_topic(&client, "client-admin").await?;
    let again = admin.create_topics(vec![NewTopic::new(name.clone())], Duration::from_secs(30)).await?;
    let refused = again[0].result.as_ref().err().context("the topic was created twice")?;
    ensure!(refused.error_code() == Some(ErrorCode::TopicAlreadyExists), "{refused}");

    let described = admin.describe_topics(std::slice::from_ref(&name)).await?;
    ensure!(described[0].partitions.len() == PARTITIONS as usize);
    ensure!(described[0].partitions.iter().all(|partition| partition.leader.is_some()));
    ensure!(admin.list_topics().await?.iter().any(|topic| topic.name == name && topic.partitions == PARTITIONS));

    let cluster = admin.describe_cluster().await?;
    let broker = cluster.brokers.first().context("a cluster without brokers")?.id;
    let resources = vec![ConfigResource::Topic(name.clone()), ConfigResource::Broker(broker)];
    for configs in admin.describe_configs(resources).await? {
        ensure!(
            configs
                .result?
                .iter()
                .any(|entry| entry.name.ends_with("message.max.bytes") || entry.name == "max.message.bytes")
        );
    }

    let producer = client.producer(ProducerConfig::default());
    produce(&producer, &name, 600, 0).await?;
    let ends = admin.list_offsets(&name, Offset::Latest).await?;
    ensure!(ends.iter().filter_map(|end| end.offset).sum::<i64>() == 600, "{ends:?}");
    ensure!(admin.list_offsets(&name, Offset::Earliest).await?.iter().all(|start| start.offset == Some(0)));
    ensure!(admin.list_offsets(&name, Offset::Timestamp(i64::MAX)).await?.iter().all(|found| found.offset.is_none()));

    for outcome in admin.delete_topics(vec![name.clone()], Duration::from_secs(30)).await? {
        outcome.result?;
    }
    // Likewise of its end.
    let unknown = loop {
        match admin.describe_topics(std::slice::from_ref(&name)).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => break error,
        }
    };
    ensure!(unknown.error_code() == Some(ErrorCode::UnknownTopicOrPartition), "{unknown}");
    client.shutdown().await;
    Ok(())
}
