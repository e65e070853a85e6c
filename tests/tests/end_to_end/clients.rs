//! Clients of other makers: librdkafka's in a group, kcat.

use std::collections::HashSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pillion_tests::waiting::{PATIENCE, wait_for};
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Offset};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::consumed::{Consumed, group_member, read_until};
use super::sidecar::Broker;

async fn produce(broker: &str, topic: &str, range: std::ops::Range<usize>) -> Result<()> {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", broker)
        .set("enable.idempotence", "true")
        .set("compression.type", "lz4")
        .create()?;
    let sent = range.map(|number| {
        let producer = producer.clone();
        let topic = topic.to_owned();
        async move {
            let (key, value) = (format!("key-{number}"), format!("value-{number}"));
            let headers = OwnedHeaders::new().insert(Header { key: "n", value: Some(&number.to_string()) });
            let record = FutureRecord::to(&topic).key(&key).payload(&value).headers(headers);
            producer.send(record, Duration::from_secs(30)).await.map_err(|(error, _)| error)
        }
    });
    for sent in sent.map(tokio::spawn).collect::<Vec<_>>() {
        sent.await??;
    }
    Ok(())
}

fn values(records: &[Consumed]) -> HashSet<String> {
    records.iter().filter_map(|record| record.value.clone()).collect()
}

fn assigned(consumer: &StreamConsumer) -> Result<usize> {
    Ok(consumer.assignment()?.count())
}

#[tokio::test(flavor = "multi_thread")]
async fn librdkafka_produces_and_consumes_keys_values_and_headers() -> Result<()> {
    let broker = Broker::start(&["num.partitions=3"]).await?;
    produce(broker.address(), "orders", 0..200).await?;
    let consumer = group_member(broker.address(), "readers", &["orders"])?;
    let records = read_until(&consumer, |records| records.len() >= 200).await?;
    assert_eq!(values(&records).len(), 200);
    assert!(
        records.iter().map(|record| record.partition).collect::<HashSet<_>>().len() == 3,
        "all partitions are used"
    );
    for record in &records {
        let number = record.header("n").context("the header is there")?;
        assert_eq!(record.key.as_deref(), Some(format!("key-{number}").as_str()));
        assert_eq!(record.value.as_deref(), Some(format!("value-{number}").as_str()));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_shares_partitions_hands_them_over_and_goes_on_after_a_kill_of_the_broker() -> Result<()> {
    let mut broker = Broker::start(&["num.partitions=4"]).await?;
    produce(broker.address(), "orders", 0..100).await?;
    let first = group_member(broker.address(), "workers", &["orders"])?;
    assert_eq!(read_and_commit_everything(&first).await?.len(), 100);

    // Both must be polled for the rebalance to go through.
    let second = group_member(broker.address(), "workers", &["orders"])?;
    wait_for("two members to share four partitions", || async {
        let _ = tokio::time::timeout(Duration::from_millis(50), first.recv()).await;
        let _ = tokio::time::timeout(Duration::from_millis(50), second.recv()).await;
        Ok((assigned(&first)? == 2 && assigned(&second)? == 2).then_some(()))
    })
    .await?;
    drop(second);

    broker.program.kill().await?;
    broker.restart().await?;
    produce(broker.address(), "orders", 100..150).await?;
    let seen = read_and_commit_everything(&first).await?;
    let expected: HashSet<String> = (100..150).map(|number| format!("value-{number}")).collect();
    assert_eq!(seen, expected, "what was committed before the kill does not come again");
    drop(first);

    broker.program.terminate().await?;
    broker.restart().await?;
    produce(broker.address(), "orders", 150..160).await?;
    let third = group_member(broker.address(), "workers", &["orders"])?;
    let seen = read_and_commit_everything(&third).await?;
    let expected: HashSet<String> = (150..160).map(|number| format!("value-{number}")).collect();
    assert_eq!(seen, expected, "committed offsets survive a restart");
    Ok(())
}

/// A member that gives up only the partitions that go to another, and commits by itself what it has read.
fn cooperative_member(broker: &str, name: &str) -> Result<StreamConsumer> {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker)
        .set("group.id", "workers")
        .set("group.instance.id", name)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("auto.offset.reset", "earliest")
        .set("session.timeout.ms", "6000")
        .set("heartbeat.interval.ms", "500")
        .create()?;
    consumer.subscribe(&["orders"])?;
    Ok(consumer)
}

/// Polls the members until they have these numbers of partitions; gives back the values that came meanwhile.
async fn poll_until_assigned(members: &[(&StreamConsumer, usize)]) -> Result<Vec<String>> {
    let mut seen = Vec::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let mut is_assigned = true;
        for (member, partitions) in members {
            while let Ok(Ok(message)) = tokio::time::timeout(Duration::from_millis(50), member.recv()).await {
                seen.extend(Consumed::from(&message).value);
            }
            is_assigned &= assigned(member)? == *partitions;
        }
        if is_assigned {
            return Ok(seen);
        }
        ensure!(tokio::time::Instant::now() < deadline, "the partitions were not shared out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cooperative_static_members_share_partitions_and_a_restarted_one_takes_its_own_again() -> Result<()> {
    let broker = Broker::start(&["num.partitions=4"]).await?;
    produce(broker.address(), "orders", 0..100).await?;
    let first = cooperative_member(broker.address(), "first")?;
    let mut seen = poll_until_assigned(&[(&first, 4)]).await?;
    let second = cooperative_member(broker.address(), "second")?;
    seen.extend(poll_until_assigned(&[(&first, 2), (&second, 2)]).await?);
    let before: HashSet<_> = second.assignment()?.elements().iter().map(|each| each.partition()).collect();

    // A static member does not leave when it closes: nobody takes its partitions while it restarts.
    drop(second);
    let second = cooperative_member(broker.address(), "second")?;
    produce(broker.address(), "orders", 100..200).await?;
    seen.extend(poll_until_assigned(&[(&first, 2), (&second, 2)]).await?);
    let after: HashSet<_> = second.assignment()?.elements().iter().map(|each| each.partition()).collect();
    assert_eq!(after, before, "the restarted member has its partitions again");

    let expected: HashSet<String> = (0..200).map(|number| format!("value-{number}")).collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while seen.iter().cloned().collect::<HashSet<_>>() != expected {
        ensure!(tokio::time::Instant::now() < deadline, "{} of 200 came", seen.len());
        seen.extend(poll_until_assigned(&[(&first, 2), (&second, 2)]).await?);
    }
    Ok(())
}

/// Reads and commits until the group's offsets are the topic's end on every partition; answers the values seen. A
/// rebalance on the way may bring values again, which a set does not show.
async fn read_and_commit_everything(consumer: &StreamConsumer) -> Result<HashSet<String>> {
    let mut seen = HashSet::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        ensure!(tokio::time::Instant::now() < deadline, "the end was not reached; seen: {seen:?}");
        while let Ok(Ok(message)) = tokio::time::timeout(Duration::from_millis(200), consumer.recv()).await {
            seen.extend(Consumed::from(&message).value);
        }
        // Nothing new to commit is an error to librdkafka, and none here.
        let _ = consumer.commit_consumer_state(CommitMode::Sync);
        if is_committed_to_the_end(consumer)? {
            return Ok(seen);
        }
    }
}

fn is_committed_to_the_end(consumer: &StreamConsumer) -> Result<bool> {
    let committed = consumer.committed(Duration::from_secs(10))?;
    let mut all = committed.count() == 4;
    for partition in committed.elements() {
        let (_, end) = consumer.fetch_watermarks(partition.topic(), partition.partition(), Duration::from_secs(10))?;
        all &= partition.offset() == Offset::Offset(end) || end == 0;
    }
    Ok(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn kcat_lists_produces_and_consumes() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let mut producer = Command::new("kcat")
        .args(["-b", broker.address(), "-P", "-t", "cats", "-K", ":", "-H", "colour=black", "-z", "lz4"])
        .stdin(Stdio::piped())
        .spawn()
        .context("kcat is missing: `make test` installs it, or install the package kcat")?;
    producer.stdin.take().context("piped")?.write_all(b"tom:meow\nkitty:purr\n").await?;
    ensure!(producer.wait().await?.success(), "kcat could not produce");
    let consumed = Command::new("kcat")
        .args(["-b", broker.address(), "-C", "-t", "cats", "-e", "-q", "-f", "%o %k %s %h\\n"])
        .output()
        .await?;
    assert_eq!(String::from_utf8_lossy(&consumed.stdout), "0 tom meow colour=black\n1 kitty purr colour=black\n");
    let listed = Command::new("kcat").args(["-b", broker.address(), "-L"]).output().await?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("topic \"cats\" with 1 partitions"), "{listed}");
    Ok(())
}
