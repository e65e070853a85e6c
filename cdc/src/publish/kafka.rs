//! A Kafka cluster through our own client: idempotent, acks=all, topics made when missing.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pillion_client::{
    Admin, AdminError, Client, ClientConfig, ClientError, DeliveryHandle, ErrorCode, Header, NewTopic, ProduceError,
    Producer, ProducerConfig, ProducerRecord,
};

use super::{Cluster, Delivered, PublishError, Publisher};
use crate::config::ConnectorConfig;
use crate::router::OutboxEvent;

#[cfg(test)]
mod tests;

/// How long a broker may take to make a topic.
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);

/// The cluster a configuration names.
pub(crate) struct KafkaCluster {
    client: ClientConfig,
    /// A topic to make, but for its name.
    topic: NewTopic,
}

/// A client with its producer. The producer's own memory is larger than what the connector lets fly.
pub(crate) struct KafkaPublisher {
    client: Client,
    producer: Producer,
    admin: Admin,
    topic: NewTopic,
}

/// One record's delivery.
pub(crate) struct KafkaAcknowledgement(DeliveryHandle);

impl KafkaCluster {
    pub(crate) fn new(config: &ConnectorConfig) -> KafkaCluster {
        KafkaCluster {
            client: ClientConfig {
                bootstrap_servers: config.bootstrap_servers.clone(),
                client_id: config.client_id.clone(),
                security: config.security.clone(),
                ..ClientConfig::default()
            },
            topic: NewTopic {
                partitions: config.topic_partitions,
                replication_factor: config.topic_replication_factor,
                ..NewTopic::new("")
            },
        }
    }
}

impl Cluster for KafkaCluster {
    type Publisher = KafkaPublisher;

    async fn connect(&self) -> Result<KafkaPublisher, PublishError> {
        let client = Client::connect(self.client.clone()).await.map_err(of_client)?;
        // A producer of its own each time: what an earlier one had queued must not come after what is sent again.
        let producer = client.producer(ProducerConfig::default());
        let admin = client.admin();
        Ok(KafkaPublisher { client, producer, admin, topic: self.topic.clone() })
    }
}

impl Publisher for KafkaPublisher {
    type Acknowledgement = KafkaAcknowledgement;

    async fn ensure_topic(&self, topic: &str) -> Result<(), PublishError> {
        let wanted = NewTopic { name: topic.to_owned(), ..self.topic.clone() };
        let mut outcomes = self.admin.create_topics(vec![wanted], CREATE_TIMEOUT).await.map_err(of_admin)?;
        let Some(Err(error)) = outcomes.pop().map(|outcome| outcome.result) else { return Ok(()) };
        match error.error_code() {
            Some(ErrorCode::TopicAlreadyExists) => Ok(()),
            // Producing may be allowed where making topics is not.
            Some(ErrorCode::TopicAuthorizationFailed | ErrorCode::ClusterAuthorizationFailed)
                if self.admin.describe_topics(&[topic.to_owned()]).await.is_ok_and(|found| !found.is_empty()) =>
            {
                Ok(())
            }
            _ => Err(of_admin(error)),
        }
    }

    async fn send(&self, event: OutboxEvent) -> Result<KafkaAcknowledgement, PublishError> {
        let headers = event.record_headers().into_iter().map(|header| Header { key: header.key, value: header.value });
        let record = ProducerRecord {
            headers: headers.collect(),
            topic: event.topic,
            partition: event.partition,
            key: event.key,
            value: event.value,
            timestamp_ms: Some(event.timestamp_ms),
        };
        self.producer.send(record).await.map(KafkaAcknowledgement).map_err(of_produce)
    }

    async fn close(self) {
        let KafkaPublisher { client, producer, admin, .. } = self;
        drop((producer, admin));
        client.shutdown().await;
    }
}

impl Future for KafkaAcknowledgement {
    type Output = Result<Delivered, PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| match result {
            Ok(delivered) => Ok(Delivered { partition: delivered.partition, offset: delivered.offset }),
            Err(error) => Err(of_produce(error)),
        })
    }
}

fn of_client(error: ClientError) -> PublishError {
    match &error {
        error if error.needs_other_settings() => PublishError::Refused(error.clone().into()),
        _ => of_code(error.error_code(), error),
    }
}

fn of_admin(error: AdminError) -> PublishError {
    match error.error_code() {
        // These need another configuration, of ours or of the broker's. A replication factor may be impossible only
        // as long as a broker is away.
        Some(ErrorCode::InvalidPartitions | ErrorCode::InvalidConfig | ErrorCode::PolicyViolation) => {
            PublishError::Refused(error.into())
        }
        code => of_code(code, error),
    }
}

fn of_produce(error: ProduceError) -> PublishError {
    match error {
        ProduceError::RecordTooLarge { .. } | ProduceError::UnknownPartition { .. } | ProduceError::Records(_) => {
            PublishError::RecordRefused(error.into())
        }
        _ => of_code(error.error_code(), error),
    }
}

fn of_code<E: std::error::Error + Send + Sync + 'static>(code: Option<ErrorCode>, error: E) -> PublishError {
    match code {
        Some(ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidTopicException) => {
            PublishError::RecordRefused(error.into())
        }
        // The broker refuses a whole batch for one bad record, so on.error=skip would drop good ones with it.
        Some(ErrorCode::InvalidRecord | ErrorCode::InvalidTimestamp) => PublishError::Refused(error.into()),
        Some(
            ErrorCode::TopicAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::SaslAuthenticationFailed
            | ErrorCode::UnsupportedSaslMechanism
            | ErrorCode::UnsupportedVersion,
        ) => PublishError::Refused(error.into()),
        _ => PublishError::Unavailable(error.into()),
    }
}
