//! The Kafka side before the first record: how clients connect, and the topics a service reads.

use std::time::Duration;

use anyhow::Result;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::RDKafkaErrorCode;
use tracing::warn;

/// How many instances of one service can share a topic's work.
const PARTITIONS: i32 = 3;

/// The broker's default number of replicas.
const REPLICAS: TopicReplication<'_> = TopicReplication::Fixed(-1);

const REQUEST_LIMIT: Duration = Duration::from_secs(5);

const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What every Kafka client of the service is configured with.
pub fn client(bootstrap_servers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", bootstrap_servers)
        // The default doubles up to 10 s: a broker that has just come up would be noticed late.
        .set("reconnect.backoff.max.ms", "1000")
        // How soon a topic that was deleted and made again is noticed; the default is five minutes.
        .set("topic.metadata.refresh.interval.ms", "5000");
    config
}

/// Creates the topics that do not exist yet. Waits for a broker that cannot be reached.
///
/// # Errors
/// When the client refuses its configuration. A topic the broker refuses to create is logged: somebody else may
/// create it.
pub async fn create(bootstrap_servers: &str, topics: &[String]) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> = client(bootstrap_servers).create()?;
    let options = AdminOptions::new().request_timeout(Some(REQUEST_LIMIT)).operation_timeout(Some(REQUEST_LIMIT));
    let new_topics: Vec<NewTopic<'_>> = topics.iter().map(|name| NewTopic::new(name, PARTITIONS, REPLICAS)).collect();
    loop {
        match admin.create_topics(&new_topics, &options).await {
            Ok(results) => {
                for (topic, code) in results.into_iter().filter_map(Result::err) {
                    if code != RDKafkaErrorCode::TopicAlreadyExists {
                        warn!("topic {topic} is not created: {code}");
                    }
                }
                return Ok(());
            }
            Err(error) => warn!("waiting for the broker at {bootstrap_servers}: {error}"),
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}
