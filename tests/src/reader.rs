//! A consumer that reads committed records of the outbox's topic, with librdkafka, and keeps a ledger.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::time::{Instant, timeout};

use crate::ledger::{Breach, Event, Ledger};

/// The topic of the writers' rows.
pub const TOPIC: &str = "outbox.event.order";

/// After an error of librdkafka's, which tries again by itself.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// A consumer from the topic's beginning, and what it has seen.
pub struct Reader {
    consumer: StreamConsumer,
    /// What it has seen.
    pub ledger: Ledger,
}

impl Reader {
    /// Reads so many partitions of the topic, which may not be there yet.
    ///
    /// # Errors
    /// When librdkafka refuses the configuration.
    pub fn of(bootstrap: &str, partitions: i32) -> Result<Self> {
        let consumer: StreamConsumer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("group.id", "reader")
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "false")
            .set("isolation.level", "read_committed")
            .set("reconnect.backoff.max.ms", "500")
            .set("topic.metadata.refresh.interval.ms", "500")
            .create()?;
        let mut assignment = TopicPartitionList::new();
        for partition in 0..partitions {
            assignment.add_partition_offset(TOPIC, partition, Offset::Beginning)?;
        }
        consumer.assign(&assignment)?;
        Ok(Self { consumer, ledger: Ledger::default() })
    }

    /// Takes what comes within this time: breaches, each with where it was found.
    ///
    /// # Errors
    /// When a record is none of the writers'.
    pub async fn read_for(&mut self, time: Duration) -> Result<Vec<String>> {
        let until = Instant::now() + time;
        let mut found = Vec::new();
        while let Ok(received) = tokio::time::timeout_at(until, self.consumer.recv()).await {
            if !take(&mut self.ledger, received, &mut found)? {
                tokio::time::sleep(ERROR_PAUSE).await;
            }
        }
        Ok(found)
    }

    /// Reads until every one of these rows has come.
    ///
    /// # Errors
    /// When there is no new record for `patience`: how many are missing.
    pub async fn read_all(&mut self, rows: &HashSet<Event>, patience: Duration) -> Result<Vec<String>> {
        let mut found = Vec::new();
        while rows.iter().any(|row| !self.ledger.has(row)) {
            // Not asked for each record: there may be many rows.
            let missing = rows.iter().filter(|row| !self.ledger.has(row)).count();
            for _ in 0..missing {
                let received = timeout(patience, self.consumer.recv()).await;
                let Ok(received) = received else {
                    let missing = rows.iter().filter(|row| !self.ledger.has(row)).count();
                    ensure!(missing == 0, "no record for {patience:?}, and {missing} of {} are missing", rows.len());
                    break;
                };
                if !take(&mut self.ledger, received, &mut found)? {
                    tokio::time::sleep(ERROR_PAUSE).await;
                }
            }
        }
        Ok(found)
    }

    /// Reads until these rows, which are all there are, have come; nothing may be wrong.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub async fn expect(&mut self, rows: &HashSet<Event>, patience: Duration) -> Result<()> {
        self.read_all(rows, patience).await?;
        let breaches: Vec<String> = self.ledger.audit(rows).iter().map(Breach::to_string).collect();
        let (count, shown) = (breaches.len(), breaches.len().min(20));
        ensure!(breaches.is_empty(), "{count} breaches:\n{}", breaches[..shown].join("\n"));
        Ok(())
    }
}

/// Whether it was a record.
fn take(
    ledger: &mut Ledger,
    received: Result<BorrowedMessage<'_>, rdkafka::error::KafkaError>,
    found: &mut Vec<String>,
) -> Result<bool> {
    // A topic that is not there yet, a broker that is away: librdkafka goes on by itself.
    let Ok(message) = received else { return Ok(false) };
    let (partition, offset) = (message.partition(), message.offset());
    let breach = ledger.take(event(&message)?);
    found.extend(breach.map(|breach| format!("partition {partition} offset {offset}: {breach}")));
    Ok(true)
}

fn event(message: &BorrowedMessage<'_>) -> Result<Event> {
    let headers = message.headers().context("an event without headers")?;
    let id = headers.iter().find(|header| header.key == "id").and_then(|header| header.value);
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let value: serde_json::Value = serde_json::from_slice(message.payload().context("an event without a payload")?)?;
    Ok(Event {
        id: text(id).context("an event without its id")?,
        key: text(message.key()).unwrap_or_default(),
        number: value["number"].as_i64().context("a payload without its number")?,
    })
}
