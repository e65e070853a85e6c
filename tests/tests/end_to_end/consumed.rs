//! Reading topics with librdkafka, as a user's service would.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, bail};
use pillion_tests::waiting::PATIENCE;
use rdkafka::ClientConfig;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

/// A record as far as tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consumed {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Consumed {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl From<&BorrowedMessage<'_>> for Consumed {
    fn from(message: &BorrowedMessage<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = message.headers().into_iter().flat_map(Headers::iter);
        Self {
            topic: message.topic().to_owned(),
            partition: message.partition(),
            offset: message.offset(),
            key: message.key().map(text),
            value: message.payload().map(text),
            headers: headers
                .map(|header| (header.key.to_owned(), header.value.map(text).unwrap_or_default()))
                .collect(),
        }
    }
}

/// A consumer in a group, from the beginning, committing by hand.
pub(crate) fn group_member(broker: &str, group: &str, topics: &[&str]) -> Result<StreamConsumer> {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker)
        .set("group.id", group)
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .set("isolation.level", "read_committed")
        .set("session.timeout.ms", "6000")
        .set("topic.metadata.refresh.interval.ms", "500")
        .create()?;
    consumer.subscribe(topics)?;
    Ok(consumer)
}

/// Reads until `enough` says so of all that came.
pub(crate) async fn read_until(
    consumer: &StreamConsumer,
    mut enough: impl FnMut(&[Consumed]) -> bool,
) -> Result<Vec<Consumed>> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut all = Vec::new();
    while !enough(&all) {
        match tokio::time::timeout_at(deadline, consumer.recv()).await {
            Ok(Ok(message)) => all.push(Consumed::from(&message)),
            // A topic that is not there yet, a broker that is away: librdkafka goes on by itself.
            Ok(Err(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(_) => bail!("after {} records there were no more: {:?}", all.len(), all.last()),
        }
    }
    Ok(all)
}

/// Everything committed in a topic of so many partitions, to the end of each as it is now.
pub(crate) async fn read_to_end(broker: &str, topic: &str, partitions: i32) -> Result<Vec<Consumed>> {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker)
        .set("group.id", "reads-to-the-end")
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .create()?;
    let mut assignment = TopicPartitionList::new();
    for partition in 0..partitions {
        assignment.add_partition_offset(topic, partition, Offset::Beginning)?;
    }
    consumer.assign(&assignment)?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let (mut all, mut ended) = (Vec::new(), BTreeSet::new());
    while ended.len() < usize::try_from(partitions)? {
        match tokio::time::timeout_at(deadline, consumer.recv()).await {
            Ok(Ok(message)) => all.push(Consumed::from(&message)),
            Ok(Err(KafkaError::PartitionEOF(partition))) => drop(ended.insert(partition)),
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => bail!("{topic} does not end; ended: {ended:?}"),
        }
    }
    Ok(all)
}
