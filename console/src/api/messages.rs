//! Records of a topic, from where and as far as is asked; or one of them.
//!
//! Whoever reads sees what a consumer of committed records does. A search ends with its limit of records found, with the
//! partitions' ends as they were when it began, or with a bound on time, records and bytes; it says which, and where to
//! go on.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Query, State};
use pillion_client::{
    Assignment, Client, ConsumedRecord, Consumer, ConsumerConfig, IsolationLevel, ListedOffset, Offset,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::error::ApiError;
use super::payload;

/// Records shown unless asked otherwise, and at most.
const LIMIT: usize = 50;
const LIMIT_MAX: usize = 200;
/// Longest that a search may take.
const SEARCH_MAX: Duration = Duration::from_secs(5);
/// Records and bytes that a search looks at.
const RECORDS_MAX: usize = 100_000;
const BYTES_MAX: usize = 64 << 20;
/// Records at the ends of all partitions together that a search backwards looks at.
const TAIL_MAX: i64 = 10_000;
/// Partitions read at once.
const PARTITIONS_MAX: usize = 200;
/// Longest wait for one answer.
const POLL_MAX: Duration = Duration::from_millis(250);

/// What is asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    topic: String,
    /// All where it is missing.
    partition: Option<i32>,
    #[serde(default)]
    from: From,
    /// With `from=offset`.
    offset: Option<i64>,
    /// With `from=time`: milliseconds since 1970.
    time: Option<i64>,
    limit: Option<usize>,
    /// Text that the key holds.
    #[serde(default)]
    key: String,
    /// Text that the value holds.
    #[serde(default)]
    value: String,
    /// `name`, or `name=text that its value holds`.
    #[serde(default)]
    header: String,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum From {
    #[default]
    Latest,
    Earliest,
    Offset,
    Time,
}

/// Which record.
#[derive(Debug, Deserialize)]
pub(super) struct One {
    topic: String,
    partition: i32,
    offset: i64,
}

/// A partition's part of a search: from its position to its end as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    partition: i32,
    start: i64,
    end: i64,
}

/// Answers `/api/messages`.
pub(super) async fn browse(State(api): State<Api>, Query(asked): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let limit = asked.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let ranges = ranges(&client, &asked, limit).await?;
    let search = Search { limit, is_from_the_end: asked.from == From::Latest, began: Instant::now() };
    let found = search.run(&client, &asked, ranges).await?;
    let records: Vec<Value> = found.records.iter().map(|record| payload::record(record, payload::IN_LIST)).collect();
    Ok(Json(json!({
        "records": records,
        "scanned": found.scanned,
        "ended": found.ended,
        "next": found.next,
    })))
}

/// Answers `/api/message`.
pub(super) async fn one(State(api): State<Api>, Query(asked): Query<One>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let record = read(&client, asked.topic, asked.partition, asked.offset).await?;
    Ok(Json(payload::record(&record, payload::ALONE)))
}

/// The record at an offset.
pub(super) async fn read(
    client: &Client,
    topic: String,
    partition: i32,
    offset: i64,
) -> Result<ConsumedRecord, ApiError> {
    let mut consumer = client.consumer(settings());
    consumer.assign(vec![Assignment { topic: topic.clone(), partition, start: Offset::At(offset) }]).await?;
    let began = Instant::now();
    while began.elapsed() < SEARCH_MAX {
        match consumer.poll(POLL_MAX).await?.into_iter().find(|record| record.offset >= offset) {
            Some(record) if record.offset == offset => return Ok(record),
            Some(_) => break,
            None if consumer.high_watermark(&topic, partition).is_some_and(|end| end <= offset) => break,
            None => {}
        }
    }
    Err(ApiError::missing("there is no record at this offset: it was deleted, compacted, or is none of a consumer's"))
}

fn settings() -> ConsumerConfig {
    ConsumerConfig {
        fetch_max_wait: POLL_MAX,
        fetch_max_bytes: 4 << 20,
        max_partition_fetch_bytes: 256 << 10,
        max_poll_records: 500,
        isolation_level: IsolationLevel::ReadCommitted,
        ..ConsumerConfig::default()
    }
}

/// From where to where each partition is read.
async fn ranges(client: &Client, asked: &Asked, limit: usize) -> Result<Vec<Range>, ApiError> {
    let admin = client.admin();
    let (starts, ends) =
        tokio::try_join!(admin.list_offsets(&asked.topic, Offset::Earliest), admin.list_stable_offsets(&asked.topic))?;
    let timed = match (asked.from, asked.time) {
        (From::Time, Some(time)) => admin.list_offsets(&asked.topic, Offset::Timestamp(time)).await?,
        (From::Time, None) => return Err(ApiError::bad("from=time needs a time, in milliseconds since 1970")),
        _ => Vec::new(),
    };
    let is_wanted = |partition: i32| asked.partition.is_none_or(|wanted| wanted == partition);
    let wanted = ends.iter().filter(|end| is_wanted(end.partition)).count();
    if wanted == 0 {
        return Err(ApiError::missing("the topic has no partition of this number"));
    }
    if wanted > PARTITIONS_MAX {
        return Err(ApiError::bad(format!("at most {PARTITIONS_MAX} partitions are read at once; choose one")));
    }
    let offset_in = |listed: &[ListedOffset], partition: i32| {
        listed.iter().find(|one| one.partition == partition).and_then(|one| one.offset)
    };
    let tail = if is_filtered(asked) { TAIL_MAX / wanted as i64 } else { limit as i64 };
    let range = |end: &ListedOffset| {
        let partition = end.partition;
        let end = end.offset.unwrap_or(0);
        let first = offset_in(&starts, partition).unwrap_or(0);
        let start = match asked.from {
            From::Latest => end - tail.max(1),
            From::Earliest => first,
            From::Offset => asked.offset.unwrap_or(0),
            From::Time => offset_in(&timed, partition).unwrap_or(end),
        };
        Range { partition, start: start.max(first), end }
    };
    Ok(ends.iter().filter(|end| is_wanted(end.partition)).map(range).filter(|range| range.start < range.end).collect())
}

fn is_filtered(asked: &Asked) -> bool {
    !(asked.key.is_empty() && asked.value.is_empty() && asked.header.is_empty())
}

struct Search {
    limit: usize,
    is_from_the_end: bool,
    began: Instant,
}

/// What a search found.
struct Found {
    records: Vec<ConsumedRecord>,
    scanned: usize,
    /// `limit`, `end` or `bound`.
    ended: &'static str,
    /// Each partition's next offset.
    next: Vec<(i32, i64)>,
}

impl Search {
    async fn run(&self, client: &Client, asked: &Asked, mut left: Vec<Range>) -> Result<Found, ApiError> {
        let (mut found, mut scanned, mut bytes) = (Vec::new(), 0, 0);
        let mut next: Vec<(i32, i64)> = left.iter().map(|range| (range.partition, range.start)).collect();
        let mut consumer = client.consumer(settings());
        let assignment = |range: &Range| {
            let start = Offset::At(range.start);
            Assignment { topic: asked.topic.clone(), partition: range.partition, start }
        };
        consumer.assign(left.iter().map(assignment).collect()).await?;
        let mut is_full = false;
        let mut is_bounded = false;
        while !left.is_empty() && !is_full && !is_bounded {
            for record in consumer.poll(POLL_MAX).await? {
                scanned += 1;
                bytes += size(&record);
                let Some(range) = left.iter().find(|range| range.partition == record.partition) else { continue };
                if record.offset >= range.end || is_full {
                    continue;
                }
                if let Some(place) = next.iter_mut().find(|(partition, _)| *partition == record.partition) {
                    place.1 = record.offset + 1;
                }
                if matches(&record, asked) {
                    found.push(record);
                    is_full = !self.is_from_the_end && found.len() >= self.limit;
                }
            }
            left.retain(|range| position(&consumer, asked, range) < range.end);
            is_bounded = self.began.elapsed() > SEARCH_MAX || scanned > RECORDS_MAX || bytes > BYTES_MAX;
        }
        found.sort_by_key(|record| (record.timestamp_ms, record.partition, record.offset));
        if self.is_from_the_end && found.len() > self.limit {
            found.drain(..found.len() - self.limit);
        }
        let ended = if is_full {
            "limit"
        } else if left.is_empty() {
            "end"
        } else {
            "bound"
        };
        Ok(Found { records: found, scanned, ended, next })
    }
}

fn position(consumer: &Consumer, asked: &Asked, range: &Range) -> i64 {
    consumer.position(&asked.topic, range.partition).unwrap_or(range.start)
}

fn size(record: &ConsumedRecord) -> usize {
    record.key.as_ref().map_or(0, bytes::Bytes::len) + record.value.as_ref().map_or(0, bytes::Bytes::len)
}

fn matches(record: &ConsumedRecord, asked: &Asked) -> bool {
    let holds = |bytes: Option<&[u8]>, text: &str| {
        text.is_empty() || bytes.is_some_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
    };
    let (name, text) = asked.header.split_once('=').unwrap_or((&asked.header, ""));
    let has_header = name.is_empty()
        || record.headers.iter().any(|header| *header.key == *name && holds(header.value.as_deref(), text));
    holds(record.key.as_deref(), &asked.key) && holds(record.value.as_deref(), &asked.value) && has_header
}
