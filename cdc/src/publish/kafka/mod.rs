//! A Kafka cluster through our own client: topics made when missing, records sent in transactions with the progress
//! they amount to (exactly once), or idempotently (at least once).

mod errors;
mod topics;
mod transactional;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pillion_client::{
    Client, ClientConfig, DeliveryHandle, Header, Producer, ProducerConfig, ProducerRecord, TransactionOutcome,
};

use super::{Cluster, Delivered, PublishError, Publisher};
use crate::config::{ConnectorConfig, Delivery, OnPartitionsChanged};
use crate::progress::{Progress, SourceName};
use crate::router::OutboxEvent;
use errors::{of_client, of_produce, of_transaction};
use topics::Topics;
use transactional::Transactions;

#[cfg(test)]
mod tests;

/// The cluster a configuration names.
pub(crate) struct KafkaCluster {
    config: ConnectorConfig,
}

/// A client with its producer.
pub(crate) struct KafkaPublisher {
    client: Client,
    topics: Topics,
    producer: KafkaProducer,
}

enum KafkaProducer {
    Idempotent(Producer),
    Transactional(Box<Transactions>),
}

/// One record's delivery.
pub(crate) struct KafkaAcknowledgement(DeliveryHandle);

/// What becomes of a commit.
pub(crate) enum KafkaOutcome {
    /// Each record's acknowledgement says it all.
    Acknowledged,
    /// The transaction's.
    Transaction(TransactionOutcome),
}

impl KafkaCluster {
    pub(crate) fn new(config: &ConnectorConfig) -> KafkaCluster {
        KafkaCluster { config: config.clone() }
    }

    /// How to reach the cluster.
    pub(crate) fn client_config(&self) -> ClientConfig {
        ClientConfig {
            bootstrap_servers: self.config.bootstrap_servers.clone(),
            client_id: self.config.client_id.clone(),
            security: self.config.security.clone(),
            ..ClientConfig::default()
        }
    }

    /// Memory for what is in flight, or for one row that is larger than all of that.
    fn producer_config(&self) -> ProducerConfig {
        let buffer_memory = self.config.bytes_in_flight_max.max(self.config.row_bytes_max + ROW_OVERHEAD);
        let keeps_partitions = self.config.on_partitions_changed == OnPartitionsChanged::Stop;
        ProducerConfig { buffer_memory, keeps_partitions, ..ProducerConfig::default() }
    }
}

impl Cluster for KafkaCluster {
    type Publisher = KafkaPublisher;

    async fn connect(&self, source: &SourceName) -> Result<KafkaPublisher, PublishError> {
        let client = Client::connect(self.client_config()).await.map_err(of_client)?;
        let topics = Topics::new(client.admin(), &self.config);
        // A producer of its own each time: what an earlier one had queued must not come after what is sent again.
        let producer = match self.config.delivery {
            Delivery::AtLeastOnce => KafkaProducer::Idempotent(client.producer(self.producer_config())),
            Delivery::ExactlyOnce => {
                let transactions = Transactions::take_over(&client, &topics, source, self.producer_config()).await;
                match transactions {
                    Ok(transactions) => KafkaProducer::Transactional(Box::new(transactions)),
                    Err(error) => {
                        client.shutdown().await;
                        return Err(error);
                    }
                }
            }
        };
        Ok(KafkaPublisher { client, topics, producer })
    }
}

impl Publisher for KafkaPublisher {
    type Acknowledgement = KafkaAcknowledgement;
    type Outcome = KafkaOutcome;

    fn progress(&self) -> Option<&Progress> {
        match &self.producer {
            KafkaProducer::Idempotent(_) => None,
            KafkaProducer::Transactional(transactions) => transactions.progress(),
        }
    }

    async fn ensure_topic(&mut self, topic: &str) -> Result<(), PublishError> {
        self.topics.ensure(topic).await
    }

    async fn send(
        &mut self,
        event: OutboxEvent,
        wants_acknowledgement: bool,
    ) -> Result<Option<KafkaAcknowledgement>, PublishError> {
        let record = record(event);
        let handle = match &mut self.producer {
            KafkaProducer::Idempotent(producer) => Some(producer.send(record).await.map_err(of_produce)?),
            KafkaProducer::Transactional(transactions) => transactions.send(record, wants_acknowledgement).await?,
        };
        Ok(handle.map(KafkaAcknowledgement))
    }

    async fn flush(&mut self) -> Result<(), PublishError> {
        match &mut self.producer {
            KafkaProducer::Idempotent(_) => Ok(()),
            KafkaProducer::Transactional(transactions) => transactions.flush().await,
        }
    }

    async fn commit(&mut self, progress: &Progress) -> Result<KafkaOutcome, PublishError> {
        match &mut self.producer {
            KafkaProducer::Idempotent(_) => Ok(KafkaOutcome::Acknowledged),
            KafkaProducer::Transactional(transactions) => {
                transactions.commit(progress).await.map(KafkaOutcome::Transaction)
            }
        }
    }

    fn abort(&mut self) {
        if let KafkaProducer::Transactional(transactions) = &mut self.producer {
            transactions.abort();
        }
    }

    async fn close(self) {
        let KafkaPublisher { client, topics, producer } = self;
        drop((producer, topics));
        client.shutdown().await;
    }
}

fn record(mut event: OutboxEvent) -> ProducerRecord {
    let headers = event.take_record_headers().into_iter();
    let headers = headers.map(|header| Header { key: header.key, value: header.value });
    ProducerRecord {
        headers: headers.collect(),
        topic: event.topic,
        partition: event.partition,
        key: event.key,
        value: event.value,
        timestamp_ms: Some(event.timestamp_ms),
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

impl Future for KafkaOutcome {
    type Output = Result<(), PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            KafkaOutcome::Acknowledged => Poll::Ready(Ok(())),
            KafkaOutcome::Transaction(outcome) => Pin::new(outcome).poll(context).map_err(of_transaction),
        }
    }
}

/// What a record may be larger than the row it is made of: headers, the frame of a dead letter.
const ROW_OVERHEAD: usize = 64 * 1024;
/// How long a broker may take to make a topic.
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
