//! The cluster under test, and what every test does with it.

use std::collections::BTreeMap;
use std::time::Duration;

use pillion_broker::{Broker, BrokerConfig, RunningBroker};
use pillion_client::{
    Assignment, Client, ClientConfig, ConsumedRecord, ConsumerConfig, IsolationLevel, NewTopic, Offset, ProducerRecord,
};
use tempfile::TempDir;

/// How long a condition may take to come true.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster that lives as long as this.
pub(crate) struct Cluster {
    bootstrap: Vec<String>,
    _broker: Option<(RunningBroker, TempDir)>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        if let Ok(servers) = std::env::var("CLIENT_TEST_BOOTSTRAP") {
            return Self { bootstrap: servers.split(',').map(str::to_owned).collect(), _broker: None };
        }
        let directory = tempfile::tempdir().unwrap();
        let mut config = BrokerConfig::new(directory.path(), "127.0.0.1:0");
        config.set("log.min.free.bytes", "0").unwrap();
        let running = Broker::start(config).await.unwrap();
        Self { bootstrap: vec![running.address().to_string()], _broker: Some((running, directory)) }
    }

    pub(crate) fn config(&self) -> ClientConfig {
        ClientConfig { bootstrap_servers: self.bootstrap.clone(), ..ClientConfig::default() }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.config()).await.unwrap()
    }
}

/// A name no other test or run has.
pub(crate) fn unique(prefix: &str) -> String {
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("{prefix}-{stamp}")
}

/// A new topic, known to its leader.
pub(crate) async fn new_topic(client: &Client, prefix: &str, partitions: i32) -> String {
    let name = unique(prefix);
    let topic = NewTopic { partitions, ..NewTopic::new(name.clone()) };
    for outcome in client.admin().create_topics(vec![topic], PATIENCE).await.unwrap() {
        outcome.result.unwrap();
    }
    // Brokers learn of a topic from the controller, a moment after it was created.
    while client.admin().describe_topics(std::slice::from_ref(&name)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    name
}

pub(crate) fn record(topic: &str, partition: i32, value: impl ToString) -> ProducerRecord {
    ProducerRecord {
        topic: topic.into(),
        partition: Some(partition),
        value: Some(value.to_string().into()),
        ..ProducerRecord::default()
    }
}

pub(crate) fn value(record: &ConsumedRecord) -> String {
    String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap()
}

/// All that lies before the end of each partition as readers of an isolation level see it, by partition.
pub(crate) async fn read_all(
    client: &Client,
    topic: &str,
    isolation_level: IsolationLevel,
) -> BTreeMap<i32, Vec<String>> {
    let ends = client.admin().list_offsets(topic, Offset::Latest).await.unwrap();
    let mut consumer = client.consumer(ConsumerConfig { isolation_level, ..ConsumerConfig::default() });
    let assignment = |end: &pillion_client::ListedOffset| Assignment {
        topic: topic.into(),
        partition: end.partition,
        start: Offset::Earliest,
    };
    consumer.assign(ends.iter().map(assignment).collect()).await.unwrap();
    let mut read: BTreeMap<i32, Vec<String>> = ends.iter().map(|end| (end.partition, Vec::new())).collect();
    let behind = |consumer: &pillion_client::Consumer| {
        ends.iter().any(|end| consumer.position(topic, end.partition).is_none_or(|at| at < end.offset.unwrap()))
    };
    tokio::time::timeout(PATIENCE, async {
        while behind(&consumer) {
            for record in consumer.poll(Duration::from_millis(100)).await.unwrap() {
                read.get_mut(&record.partition).unwrap().push(value(&record));
            }
        }
    })
    .await
    .expect("the end of every partition is reached");
    read
}

/// Values of a run of numbers.
pub(crate) fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}
