//! A consumer whose positions live in the database, beside what it builds from the records: both change in one
//! transaction, so every record counts once, and a replay is a matter of setting the positions back.
//!
//! Invariant: what has been built is what the records below the positions say, at every moment, whoever has moved the
//! positions and however often an instance was killed.

mod positions;

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use deadpool_postgres::Transaction;
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use tokio::task::block_in_place;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use tracing::{Span, error, warn};

use super::spans::{batch_span, process_span};
use super::{Event, EventKind, event};
use crate::database::{Database, begin, commit};
use crate::topics;
use crate::traced::Traced as _;
use positions::Positions;

pub use positions::{POSITIONS_TABLE, rewind};

/// Records of one transaction at most: as many as a span may have links.
const BATCH_MAX: usize = super::LINKS_MAX;

const METADATA_LIMIT: Duration = Duration::from_secs(5);

/// How long nothing may come before it is looked whether somebody has moved the positions.
const IDLE_LIMIT: Duration = Duration::from_secs(1);

/// After an error, before it is read on from the positions in the database.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What is read, and where the positions are kept.
#[derive(Clone, Copy)]
pub struct Projection<'a> {
    /// `host:port[,host:port…]`
    pub bootstrap_servers: &'a str,
    /// The service's name. It is no consumer group: every instance reads every partition, and passes over a record that
    /// another one was quicker with.
    pub name: &'static str,
    /// The events; others on the same topics are passed over. Topics are made when they do not exist; partitions that
    /// are added to them later are read after a restart.
    pub events: &'a [EventKind],
    /// Holds the positions.
    pub database: &'a Database,
}

/// When reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Never,
    OfTopic,
}

/// Why reading ends.
enum Left {
    /// There is no more.
    AtEnd,
    /// Another instance, or a rebuild, has moved the positions.
    Elsewhere,
}

/// Events that are acted upon together.
#[derive(Default)]
struct Batch {
    /// In the order of their partition; those of several partitions in no order at all.
    events: Vec<Event>,
    /// Positions behind all that was read, whatever it was.
    behind: Positions,
    count: usize,
}

/// What the client has said beside records.
#[derive(Default)]
struct Said {
    /// Partitions whose end was reached.
    ended: HashSet<i32>,
    /// Errors since the last record: it recovers by itself, and repeats them until then.
    complaints: Vec<Option<RDKafkaErrorCode>>,
}

impl Projection<'_> {
    /// Calls `build` with the next records, until `stop`. It runs in the transaction that moves the positions: an error
    /// undoes both, and the records come again.
    ///
    /// # Errors
    /// When the client refuses its configuration. An unreachable broker or database is waited for.
    pub async fn follow(
        &self,
        stop: &CancellationToken,
        build: impl AsyncFn(&Transaction<'_>, &[Event]) -> Result<()>,
    ) -> Result<()> {
        stop.run_until_cancelled(self.read(&self.topics(), End::Never, &build)).await.unwrap_or(Ok(()))
    }

    /// The same, until the end of each topic was reached.
    ///
    /// # Errors
    /// As [`Projection::follow`].
    pub async fn catch_up(
        &self,
        stop: &CancellationToken,
        build: impl AsyncFn(&Transaction<'_>, &[Event]) -> Result<()>,
    ) -> Result<()> {
        // One after the other: the client tells a partition's end by its number alone.
        for topic in self.topics() {
            stop.run_until_cancelled(self.read(&[topic], End::OfTopic, &build)).await.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    fn topics(&self) -> Vec<String> {
        let mut topics: Vec<String> = self.events.iter().map(|kind| kind.topic()).collect();
        topics.sort();
        topics.dedup();
        topics
    }

    async fn read(
        &self,
        topics: &[String],
        end: End,
        build: &impl AsyncFn(&Transaction<'_>, &[Event]) -> Result<()>,
    ) -> Result<()> {
        topics::create(self.bootstrap_servers, topics).await?;
        loop {
            let consumer = self.consumer(end)?;
            match self.read_on(&consumer, topics, end, build).await {
                Ok(Left::AtEnd) => return Ok(()),
                Ok(Left::Elsewhere) => (),
                Err(error) => {
                    error!(error = %format_args!("{error:#}"), "reading on from the positions in the database");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// One for each set of positions: a client that is sent elsewhere might hand out records it has fetched before,
    /// and those in between would be skipped.
    fn consumer(&self, end: End) -> Result<StreamConsumer> {
        let consumer = topics::client(self.bootstrap_servers)
            .set("client.id", self.name)
            // The client asks for one; nothing is committed to it.
            .set("group.id", self.name)
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", if end == End::OfTopic { "true" } else { "false" })
            .set("isolation.level", "read_committed")
            .set("auto.offset.reset", "earliest")
            // A partition that joins a running fetch waits for it to end, and one that failed waits for the backoff.
            .set("fetch.wait.max.ms", "100")
            .set("fetch.error.backoff.ms", "100")
            .create()?;
        Ok(consumer)
    }

    /// From the positions in the database until the end, if there is one, or until somebody else has moved them.
    async fn read_on(
        &self,
        consumer: &StreamConsumer,
        topics: &[String],
        end: End,
        build: &impl AsyncFn(&Transaction<'_>, &[Event]) -> Result<()>,
    ) -> Result<Left> {
        let partitions = partitions(consumer, topics)?;
        let mut positions = positions::load(self.database, &partitions).await?;
        assign(consumer, &positions)?;
        let mut said = Said::default();
        while end == End::Never || said.ended.len() < partitions.len() {
            let is_ours = match timeout(IDLE_LIMIT, self.next_batch(consumer, &mut said)).await {
                Ok(batch) if batch.count == 0 => true,
                Ok(batch) => {
                    let is_ours = self.advance(&positions, &batch, build).traced(self.span(&batch)).await?;
                    if is_ours {
                        positions.extend(batch.behind);
                    }
                    is_ours
                }
                // Looking is not worth a span.
                Err(_) => {
                    positions::are_still(self.database, &positions).with_subscriber(NoSubscriber::default()).await?
                }
            };
            if !is_ours {
                return Ok(Left::Elsewhere);
            }
        }
        Ok(Left::AtEnd)
    }

    /// `false`, and nothing has changed, when somebody else has moved the positions: another instance, or a rebuild.
    async fn advance(
        &self,
        positions: &Positions,
        batch: &Batch,
        build: &impl AsyncFn(&Transaction<'_>, &[Event]) -> Result<()>,
    ) -> Result<bool> {
        let mut connection = self.database.connection().await?;
        let transaction = begin(&mut connection).await?;
        if !positions::lock(&transaction, positions).await? {
            return Ok(false);
        }
        build(&transaction, &batch.events).await?;
        positions::advance(&transaction, &batch.behind).await?;
        commit(transaction).await?;
        Ok(true)
    }

    /// Waits for a record or the end of a partition, and takes along what has already arrived.
    async fn next_batch(&self, consumer: &StreamConsumer, said: &mut Said) -> Batch {
        let mut batch = Batch::default();
        let mut received = consumer.recv().await;
        loop {
            match received {
                Ok(message) => {
                    said.complaints.clear();
                    self.take(&mut batch, &message);
                }
                Err(KafkaError::PartitionEOF(partition)) => {
                    said.ended.insert(partition);
                }
                Err(error) if said.complaints.contains(&error.rdkafka_error_code()) => (),
                Err(error) => {
                    warn!("kafka: {error}");
                    said.complaints.push(error.rdkafka_error_code());
                }
            }
            if batch.count == BATCH_MAX {
                return batch;
            }
            match timeout(Duration::ZERO, consumer.recv()).await {
                Ok(next) => received = next,
                Err(_) => return batch,
            }
        }
    }

    fn take(&self, batch: &mut Batch, record: &impl Message) {
        batch.behind.insert((record.topic().to_owned(), record.partition()), record.offset() + 1);
        batch.count += 1;
        match event::read(record, self.events) {
            Ok(event) => batch.events.extend(event),
            // No later attempt can read it; it stays in the topic.
            Err(error) => {
                let (topic, partition, offset) = (record.topic(), record.partition(), record.offset());
                error!("passing over {topic}-{partition} at offset {offset}: {error:#}");
            }
        }
    }

    /// An event alone continues its trace; several have no trace in common.
    fn span(&self, batch: &Batch) -> Span {
        match batch.events.as_slice() {
            [] => Span::none(),
            [event] => process_span(self.name, event),
            events => {
                let mut topics: Vec<&str> = batch.behind.keys().map(|(topic, _)| topic.as_str()).collect();
                topics.dedup();
                batch_span(self.name, &topics.join(","), events.iter())
            }
        }
    }
}

fn partitions(consumer: &StreamConsumer, topics: &[String]) -> Result<Vec<(String, i32)>> {
    let mut partitions = Vec::new();
    for topic in topics {
        let metadata = block_in_place(|| consumer.fetch_metadata(Some(topic), METADATA_LIMIT))
            .with_context(|| format!("the broker does not tell the partitions of {topic}"))?;
        let listed = metadata.topics().iter().flat_map(|topic| topic.partitions());
        let before = partitions.len();
        partitions.extend(listed.map(|partition| (topic.clone(), partition.id())));
        anyhow::ensure!(partitions.len() > before, "topic {topic} has no partitions yet");
    }
    Ok(partitions)
}

fn assign(consumer: &StreamConsumer, positions: &Positions) -> Result<()> {
    let mut assignment = TopicPartitionList::new();
    for ((topic, partition), offset) in positions {
        assignment.add_partition_offset(topic, *partition, Offset::Offset(*offset))?;
    }
    Ok(consumer.assign(&assignment)?)
}
