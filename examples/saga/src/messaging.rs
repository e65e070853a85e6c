//! Events reach a service as records of Kafka topics: those of one key one after another, those of different keys at
//! the same time, each acted upon once, and only then is its offset committed.
//!
//! ```text
//! topics → dispatch by key → workers → one transaction with the inbox → finished offsets → commit
//!                                └ what nothing can be done with → parked
//! ```
//! Invariant: an offset is committed only when every record before it is durably acted upon, parked, or none of this
//! service's business. Delivery is at least once; the inbox makes the effect happen once.

mod event;
mod producer;
mod progress;
mod projection;
mod spans;
mod transactional;
mod worker;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{BorrowedMessage, Message as _};
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::settings::{Settings, variable};
use crate::topics;
use progress::{Place, Progress};
use worker::{Task, Worker};

pub use event::{Event, EventKind, Parked};
pub use producer::Producer;
pub use projection::{POSITIONS_TABLE, Projection, rewind};
pub use spans::{LINKS_MAX, batch_span};
pub use transactional::{InTransaction, React};

/// Records that wait for one worker. More stay in the broker.
const QUEUE_MAX: usize = 64;

/// How often finished offsets are committed; a killed service sees the records of as long again.
const COMMIT_EVERY_MS: &str = "200";

/// What a service listens to.
#[derive(Debug, Clone, Copy)]
pub struct Subscription {
    /// The consumer group: instances of one service share it, and so the partitions.
    pub group: &'static str,
    /// The events it reacts to; others on the same topics are passed over.
    pub events: &'static [EventKind],
}

/// Acts upon events.
pub trait Process: Send + Sync + 'static {
    /// Acts upon one event, durably; called again with the same event after an error, and after a crash.
    fn process(&self, event: &Event) -> impl Future<Output = Result<()>> + Send;

    /// Acts upon several events at once: all of them, durably, or none. `false` when this cannot be done; then each is
    /// processed by itself, as after an error.
    fn process_together(&self, group: &str, events: &[&Event]) -> impl Future<Output = Result<bool>> + Send {
        let _ = (group, events);
        async { Ok(false) }
    }

    /// Puts aside, durably, what [`Process::process`] refuses each time, or what is no event at all.
    fn park(&self, parked: &Parked) -> impl Future<Output = Result<()>> + Send;
}

/// Gives each event to `process`: in the order of its partition among those of one key, until `stop`.
///
/// # Errors
/// When the client refuses its configuration. An unreachable broker or database is waited for.
pub async fn consume(
    subscription: Subscription,
    settings: &Settings,
    process: impl Process,
    stop: CancellationToken,
) -> Result<()> {
    let Some(consumer) = stop.run_until_cancelled(subscribe(subscription, settings)).await.transpose()? else {
        return Ok(());
    };
    let finished = Arc::new(Finished { consumer, progress: Mutex::default() });
    let process = Arc::new(process);
    let mut workers = JoinSet::new();
    let queues: Vec<mpsc::Sender<Task>> = (0..settings.workers)
        .map(|_| {
            let (sender, queue) = mpsc::channel(QUEUE_MAX);
            let worker = Worker { group: subscription.group, process: process.clone(), finished: finished.clone() };
            workers.spawn(stop.clone().run_until_cancelled_owned(worker.run(queue)));
            sender
        })
        .collect();
    let outcome = tokio::select! {
        () = stop.cancelled() => Ok(()),
        () = dispatch(subscription, &finished, &queues) => Ok(()),
        ended = workers.join_next() => match ended {
            Some(Err(panic)) => Err(panic).context("a worker broke off"),
            _ => Ok(()),
        },
    };
    workers.shutdown().await;
    // Dropped, the client commits what is finished and leaves the group.
    outcome
}

/// Gives every record to the worker of its key; never ends.
async fn dispatch(subscription: Subscription, finished: &Finished, queues: &[mpsc::Sender<Task>]) {
    let mut complaints: Vec<Option<RDKafkaErrorCode>> = Vec::new();
    loop {
        let record = match finished.consumer.recv().await {
            Ok(record) => record,
            // The client recovers by itself from a broker that is away or a topic that does not exist yet, and
            // reports it again and again.
            Err(error) => {
                if !complaints.contains(&error.rdkafka_error_code()) {
                    warn!("kafka: {error}");
                    complaints.push(error.rdkafka_error_code());
                }
                continue;
            }
        };
        complaints.clear();
        let place = finished.begin(&record);
        let work = match event::read(&record, subscription.events) {
            Ok(Some(event)) => Ok(event),
            Ok(None) => {
                finished.finish(place);
                continue;
            }
            Err(reason) => Err(event::unreadable(&record, &reason)),
        };
        let mut hasher = DefaultHasher::new();
        record.key().unwrap_or_default().hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % queues.len() as u64).unwrap_or_default();
        // Closed only by a worker that has panicked: then nothing is left to do but to wait for the end.
        if queues[index].send(Task { place, work }).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn subscribe(subscription: Subscription, settings: &Settings) -> Result<StreamConsumer> {
    let mut topics: Vec<String> = subscription.events.iter().map(|kind| kind.topic()).collect();
    topics.sort();
    topics.dedup();
    let session_ms: u32 = variable("KAFKA_SESSION_TIMEOUT_MS", 10_000)?;
    // Before subscribing: a consumer notices a topic that appears later only at its next metadata refresh.
    topics::create(&settings.bootstrap_servers, &topics).await?;
    let consumer: StreamConsumer = topics::client(&settings.bootstrap_servers)
        .set("group.id", subscription.group)
        .set("client.id", subscription.group)
        // What is finished is stored here and committed by the client, also when partitions go to another instance.
        .set("enable.auto.commit", "true")
        .set("enable.auto.offset.store", "false")
        .set("auto.commit.interval.ms", COMMIT_EVERY_MS)
        .set("isolation.level", "read_committed")
        .set("auto.offset.reset", "earliest")
        // A killed instance's partitions go to another one after this time; the default is 45 s.
        .set("session.timeout.ms", session_ms.to_string())
        .set("heartbeat.interval.ms", (session_ms / 3).to_string())
        // A partition that joins a running fetch waits for it to end, and one that failed waits for the backoff.
        .set("fetch.wait.max.ms", "100")
        .set("fetch.error.backoff.ms", "100")
        .create()?;
    consumer.subscribe(&topics.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(consumer)
}

/// What is under way and what is finished, and the client that commits it.
struct Finished {
    consumer: StreamConsumer,
    progress: Mutex<Progress>,
}

impl Finished {
    fn begin(&self, record: &BorrowedMessage<'_>) -> Place {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.begin(record.topic(), record.partition(), record.offset())
    }

    fn finish(&self, place: Place) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(next) = progress.finish(&place) else { return };
        // Under the lock: a smaller offset must not overtake a larger one.
        let mut offsets = TopicPartitionList::new();
        let stored = offsets
            .add_partition_offset(&place.topic, place.partition, Offset::Offset(next))
            .and_then(|()| self.consumer.store_offsets(&offsets));
        if let Err(error) = stored {
            // The partition went to another instance, which does the same again; the inbox knows.
            debug!("offset {next} of {}-{} is not stored: {error}", place.topic, place.partition);
        }
    }
}
