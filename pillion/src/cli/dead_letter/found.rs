//! Dead letters as they are found on their topic.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use pillion_cdc::outbox::DeadLetter;
use pillion_client::{Assignment, Client, ConsumedRecord, ConsumerConfig, IsolationLevel, Offset};

/// How long one poll waits for records.
const POLL_WAIT: Duration = Duration::from_millis(500);
/// Dead letters held at a time, at most: they are listed for a person.
const LETTERS_MAX: usize = 100_000;

/// Where a record stands: `PARTITION:OFFSET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    partition: i32,
    offset: i64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let place = text.split_once(':').and_then(|(partition, offset)| {
            let partition = partition.parse().ok().filter(|partition| *partition >= 0)?;
            let offset = offset.parse().ok().filter(|offset| *offset >= 0)?;
            Some(Self { partition, offset })
        });
        place.ok_or_else(|| "expected PARTITION:OFFSET, as `pillion dead-letter list` shows them".to_owned())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.offset)
    }
}

/// A record of the topic.
pub(super) struct Found {
    pub(super) record: ConsumedRecord,
    /// What it says; `None` when it is no dead letter of the connector's.
    pub(super) letter: Option<DeadLetter>,
}

impl Found {
    pub(super) fn place(&self) -> Place {
        Place { partition: self.record.partition, offset: self.record.offset }
    }

    /// The row's id, where its header has it.
    pub(super) fn id(&self) -> Option<String> {
        let header = self.record.headers.iter().find(|header| &*header.key == "id")?;
        Some(String::from_utf8_lossy(header.value.as_deref()?).into_owned())
    }
}

/// The committed records at `places`, or all there are now where none is named, in the order of their times.
pub(super) async fn read(client: &Client, topic: &str, places: &[Place]) -> Result<Vec<Found>> {
    let config = ConsumerConfig { isolation_level: IsolationLevel::ReadCommitted, ..ConsumerConfig::default() };
    let ends = client.admin().list_stable_offsets(topic).await?;
    let mut left: Vec<(i32, i64)> = Vec::new();
    let mut assignments = Vec::new();
    for listed in &ends {
        let wanted: Vec<i64> =
            places.iter().filter(|place| place.partition == listed.partition).map(|place| place.offset).collect();
        let end = listed.offset.unwrap_or(0);
        let (start, stop) = match (wanted.iter().min(), wanted.iter().max()) {
            (Some(first), Some(last)) => (Offset::At(*first), end.min(last + 1)),
            _ if places.is_empty() => (Offset::Earliest, end),
            _ => continue,
        };
        // Behind the end there is nothing to be read.
        if stop > 0 && !matches!(start, Offset::At(first) if first >= stop) {
            left.push((listed.partition, stop));
            assignments.push(Assignment { topic: topic.to_owned(), partition: listed.partition, start });
        }
    }
    let mut consumer = client.consumer(config);
    consumer.assign(assignments).await?;
    let mut found = Vec::new();
    while left.iter().any(|(partition, stop)| consumer.position(topic, *partition).is_none_or(|at| at < *stop)) {
        for record in consumer.poll(POLL_WAIT).await? {
            let one = Place { partition: record.partition, offset: record.offset };
            if !places.is_empty() && !places.contains(&one) {
                continue;
            }
            if found.len() >= LETTERS_MAX {
                bail!("{topic} has more than {LETTERS_MAX} records; `pillion consume {topic}` shows them");
            }
            let letter = record.value.as_deref().and_then(|value| DeadLetter::read(value).ok());
            found.push(Found { record, letter });
        }
        // What was reached is not waited for again.
        left.retain(|(partition, stop)| consumer.position(topic, *partition).is_none_or(|at| at < *stop));
    }
    found.sort_by_key(|one| (one.record.timestamp_ms, one.record.partition, one.record.offset));
    Ok(found)
}
