//! Exactly once: every commit is a Kafka transaction that holds the records and the progress record.
//!
//! Invariant: whoever takes over has first fenced the producer before it, so that the progress it then reads is final.

use std::time::Duration;

use bytes::Bytes;
use pillion_client::{
    Client, DeliveryHandle, ProducerConfig, ProducerRecord, Transaction, TransactionOutcome, TransactionalConfig,
    TransactionalProducer,
};

use super::errors::{of_produce, of_reading, of_transaction};
use super::topics::Topics;
use crate::progress::{self, Progress, SourceName};
use crate::publish::PublishError;

/// After this time without an end the broker aborts a transaction: a connector that died holds readers of committed
/// records up no longer than this.
pub(crate) const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a coordinator may be away before the connector says so and starts over.
const MAX_BLOCK: Duration = Duration::from_secs(15);

/// A producer of transactions, and the one being filled.
pub(super) struct Transactions {
    producer: TransactionalProducer,
    open: Option<Transaction>,
    topic: String,
    key: Bytes,
    progress: Option<Progress>,
}

impl Transactions {
    /// Fences whoever had the source before, then reads how far it got.
    ///
    /// # Errors
    /// [`PublishError`].
    pub(super) async fn take_over(
        client: &Client,
        topics: &Topics,
        source: &SourceName,
        producer: ProducerConfig,
    ) -> Result<Transactions, PublishError> {
        let config = TransactionalConfig {
            transaction_timeout: TRANSACTION_TIMEOUT,
            max_block: MAX_BLOCK,
            producer,
            ..TransactionalConfig::new(source.transactional_id())
        };
        let producer = client.transactional_producer(config).await.map_err(of_transaction)?;
        let topic = source.progress_topic();
        topics.ensure_progress(&topic).await?;
        let progress = progress::read(client, &topic).await.map_err(of_reading)?;
        let key = Bytes::copy_from_slice(source.slot.as_bytes());
        Ok(Transactions { producer, open: None, topic, key, progress })
    }

    pub(super) fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    pub(super) async fn send(
        &mut self,
        record: ProducerRecord,
        wants_acknowledgement: bool,
    ) -> Result<Option<DeliveryHandle>, PublishError> {
        let transaction = self.open().await?;
        if wants_acknowledgement {
            return transaction.send(record).await.map(Some).map_err(of_produce);
        }
        transaction.send_untracked(record).await.map(|()| None).map_err(of_produce)
    }

    pub(super) async fn commit(&mut self, progress: &Progress) -> Result<TransactionOutcome, PublishError> {
        let record = ProducerRecord {
            topic: self.topic.clone(),
            partition: Some(0),
            key: Some(self.key.clone()),
            value: Some(progress::encode(progress)),
            ..ProducerRecord::default()
        };
        // Its failure is the transaction's.
        self.open().await?.send_untracked(record).await.map_err(of_produce)?;
        match self.open.take() {
            Some(transaction) => Ok(transaction.commit()),
            None => unreachable!("it was opened above"),
        }
    }

    pub(super) fn abort(&mut self) {
        if let Some(transaction) = self.open.take() {
            // Readers pass over it, and the next transaction waits for its end.
            drop(transaction.abort());
        }
    }

    async fn open(&mut self) -> Result<&mut Transaction, PublishError> {
        if self.open.is_none() {
            self.open = Some(self.producer.begin().await.map_err(of_transaction)?);
        }
        match &mut self.open {
            Some(transaction) => Ok(transaction),
            None => unreachable!("it was begun above"),
        }
    }
}
