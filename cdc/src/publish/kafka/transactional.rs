//! Exactly once: every commit is a Kafka transaction that holds the records and the progress record.
//!
//! Invariant: whoever takes over has first fenced the producer before it, so that the progress it then reads is final.

use std::sync::Arc;
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

/// Records gathered at most, and bytes of their values, before they are handed over: a few rows' worth of the stream's
/// buffer, so that the cluster has something to do while the next are read.
const GATHERED_MAX: usize = 256;
const GATHERED_BYTES_MAX: usize = 64 * 1024;

/// A producer of transactions, and the one being filled.
pub(super) struct Transactions {
    producer: TransactionalProducer,
    open: Option<Transaction>,
    /// Records of it that nobody watches, not handed to the producer yet: many at a time cost less.
    gathered: Vec<ProducerRecord>,
    gathered_bytes: usize,
    topic: Arc<str>,
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
        Ok(Transactions {
            producer,
            open: None,
            gathered: Vec::new(),
            gathered_bytes: 0,
            topic: topic.into(),
            key,
            progress,
        })
    }

    pub(super) fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    pub(super) async fn send(
        &mut self,
        record: ProducerRecord,
        wants_acknowledgement: bool,
    ) -> Result<Option<DeliveryHandle>, PublishError> {
        if wants_acknowledgement {
            self.flush().await?;
            return Ok(Some(self.open().await?.send(record).await.map_err(of_produce)?));
        }
        self.gathered_bytes += record.value.as_ref().map_or(0, Bytes::len);
        self.gathered.push(record);
        if self.gathered.len() >= GATHERED_MAX || self.gathered_bytes >= GATHERED_BYTES_MAX {
            self.flush().await?;
        }
        Ok(None)
    }

    /// Hands what is gathered to the producer, which sends it as soon as it may.
    ///
    /// # Errors
    /// [`PublishError`]; never one record's, for which it was is not known.
    pub(super) async fn flush(&mut self) -> Result<(), PublishError> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        self.open().await?.send_all(records).await.map_err(|error| match of_produce(error) {
            PublishError::RecordRefused(reason) => PublishError::TransactionRefused(reason),
            error => error,
        })
    }

    pub(super) async fn commit(&mut self, progress: &Progress) -> Result<TransactionOutcome, PublishError> {
        let record = ProducerRecord {
            topic: self.topic.clone(),
            partition: Some(0),
            key: Some(self.key.clone()),
            value: Some(progress::encode(progress)),
            ..ProducerRecord::default()
        };
        self.gathered.push(record);
        self.flush().await?;
        match self.open.take() {
            Some(transaction) => Ok(transaction.commit()),
            None => unreachable!("it was opened above"),
        }
    }

    pub(super) fn abort(&mut self) {
        self.gathered.clear();
        self.gathered_bytes = 0;
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
