//! Finds the last committed progress record of a slot, through the Kafka client.
//!
//! Called after the producer before us was fenced, whose open transaction the coordinator has ended: from then on
//! nobody but us writes to the topic, and its last stable offset is its end.

use std::time::Duration;

use pillion_client::{AdminError, Assignment, Client, ClientError, ConsumerConfig, IsolationLevel, Offset};
use thiserror::Error;
use tokio::time::Instant;

use super::Progress;
use super::record::{self, RecordError};

/// Records are looked for this far before the end at first: a record and a marker a transaction, some of them aborted.
const WINDOW: i64 = 64;
/// Each further look goes this many times farther back.
const WINDOW_GROWTH: i64 = 16;
/// How long one poll waits, and how long reading may take in all.
const POLL: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(60);

/// The progress could not be read.
#[derive(Debug, Error)]
pub(crate) enum ReadingError {
    /// The cluster.
    #[error("topic {topic} cannot be read")]
    Client {
        /// The topic.
        topic: String,
        /// Why.
        #[source]
        source: ClientError,
    },
    /// The cluster, asked where the topic ends.
    #[error("where topic {topic} ends is not known")]
    Offsets {
        /// The topic.
        topic: String,
        /// Why.
        #[source]
        source: AdminError,
    },
    /// It took too long.
    #[error("topic {topic} could not be read to its end in {} s", TIMEOUT.as_secs())]
    TimedOut {
        /// The topic.
        topic: String,
    },
    /// Its last record is none of ours.
    #[error("the progress record at offset {offset} of topic {topic} cannot be used")]
    Record {
        /// The topic.
        topic: String,
        /// The record's offset.
        offset: i64,
        /// Why.
        #[source]
        source: RecordError,
    },
}

/// The last committed progress record of topic `topic`, which exists; `None` when it has none.
///
/// # Errors
/// [`ReadingError`].
pub(crate) async fn read(client: &Client, topic: &str) -> Result<Option<Progress>, ReadingError> {
    let deadline = Instant::now() + TIMEOUT;
    let offsets = |source| ReadingError::Offsets { topic: topic.to_owned(), source };
    let first =
        |listed: Vec<pillion_client::ListedOffset>| listed.first().and_then(|listed| listed.offset).unwrap_or(0);
    let end = first(client.admin().list_stable_offsets(topic).await.map_err(offsets)?);
    let start = first(client.admin().list_offsets(topic, Offset::Earliest).await.map_err(offsets)?);
    let mut window = WINDOW;
    let mut until = end;
    while until > start {
        let from = start.max(end.saturating_sub(window));
        if let Some((offset, value)) = last_between(client, topic, (from, until), deadline).await? {
            let decoded = record::decode(&value);
            return decoded.map(Some).map_err(|source| ReadingError::Record {
                topic: topic.to_owned(),
                offset,
                source,
            });
        }
        until = from;
        window = window.saturating_mul(WINDOW_GROWTH);
    }
    Ok(None)
}

/// The last committed record at offset `from` or later and before `until`.
async fn last_between(
    client: &Client,
    topic: &str,
    (from, until): (i64, i64),
    deadline: Instant,
) -> Result<Option<(i64, bytes::Bytes)>, ReadingError> {
    let failed = |source| ReadingError::Client { topic: topic.to_owned(), source };
    let config = ConsumerConfig {
        isolation_level: IsolationLevel::ReadCommitted,
        fetch_max_wait: POLL,
        ..ConsumerConfig::default()
    };
    let mut consumer = client.consumer(config);
    let assignment = Assignment { topic: topic.to_owned(), partition: 0, start: Offset::At(from) };
    consumer.assign(vec![assignment]).await.map_err(failed)?;
    let mut last = None;
    loop {
        let records = consumer.poll(POLL).await.map_err(failed)?;
        for record in records.into_iter().filter(|record| record.offset < until) {
            last = Some((record.offset, record.value.unwrap_or_default()));
        }
        if consumer.position(topic, 0).is_some_and(|position| position >= until) {
            return Ok(last);
        }
        if Instant::now() >= deadline {
            return Err(ReadingError::TimedOut { topic: topic.to_owned() });
        }
    }
}
