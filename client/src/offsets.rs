//! Offsets by name or time (ListOffsets), asked for at the partitions' leaders.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::{ListOffsetsRequest, ListOffsetsResponse};

use crate::client::ClientShared;
use crate::error::ClientError;

/// ListOffsets' timestamp that stands for the log's end.
const LATEST: i64 = -1;
/// ListOffsets' timestamp that stands for the log's start.
const EARLIEST: i64 = -2;
/// How long a broker may search tiered storage.
const TIMEOUT_MS: i32 = 30_000;

/// A place in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// The log start offset: the first record there is.
    Earliest,
    /// Behind the last record (reading committed: the last stable offset).
    Latest,
    /// This offset.
    At(i64),
    /// The first record with this timestamp or a later one, in milliseconds since 1970; behind the last record when
    /// there is none.
    Timestamp(i64),
}

/// What a partition answered to an [`Offset`] asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The partition's number.
    pub partition: i32,
    /// The offset; `None` when no record has the timestamp or a later one.
    pub offset: Option<i64>,
    /// The found record's timestamp in milliseconds since 1970; −1 for the log's start or end.
    pub timestamp_ms: i64,
    /// The leader epoch of the record at the offset; −1 when unknown.
    pub leader_epoch: i32,
}

/// A partition to look up.
pub(crate) type Lookup = (Arc<str>, i32, Offset);

impl Offset {
    /// What ListOffsets takes for it; `None` for an offset that needs no looking up.
    fn timestamp(self) -> Option<i64> {
        match self {
            Self::Earliest => Some(EARLIEST),
            Self::Latest => Some(LATEST),
            Self::Timestamp(timestamp) => Some(timestamp.max(0)),
            Self::At(_) => None,
        }
    }
}

/// Looks offsets up at the partitions' leaders, trying again within `wait`; the answers come in the order of `lookups`.
///
/// # Errors
/// [`ClientError::Broker`] when a leader refuses for good, [`ClientError::TimedOut`].
pub(crate) async fn list(
    client: &ClientShared,
    lookups: Vec<Lookup>,
    isolation_level: i8,
    wait: Duration,
) -> Result<Vec<(Arc<str>, ListedOffset)>, ClientError> {
    let started = Instant::now();
    let mut found: Vec<Option<ListedOffset>> =
        lookups.iter().map(|(_, partition, offset)| known(*partition, *offset)).collect();
    let mut failures = 0;
    loop {
        let missing: Vec<usize> = (0..lookups.len()).filter(|index| found[*index].is_none()).collect();
        if missing.is_empty() {
            let names = lookups.into_iter().map(|(topic, ..)| topic);
            return Ok(names.zip(found.into_iter().flatten()).collect());
        }
        let round = ask_leaders(client, &lookups, &missing, isolation_level, &mut found);
        let failure = match tokio::time::timeout(wait.saturating_sub(started.elapsed()), round).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) if !is_transient(&error) => return Err(error),
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        failures += 1;
        let pause = client.connector.backoff.jittered(failures);
        if started.elapsed() + pause >= wait {
            return Err(ClientError::TimedOut { what: "ListOffsets", waited: wait, source: failure.map(Box::new) });
        }
        // A leader found wrong is looked up anew before the next round.
        let refreshed = client.metadata.served(client.metadata.request());
        let _ = tokio::time::timeout(wait.saturating_sub(started.elapsed()), refreshed).await;
        tokio::time::sleep(pause.min(wait.saturating_sub(started.elapsed()))).await;
    }
}

fn known(partition: i32, offset: Offset) -> Option<ListedOffset> {
    match offset {
        Offset::At(offset) => {
            Some(ListedOffset { partition, offset: Some(offset), timestamp_ms: -1, leader_epoch: -1 })
        }
        _ => None,
    }
}

fn is_transient(error: &ClientError) -> bool {
    match error {
        ClientError::Broker { code, .. } => code.is_retriable(),
        ClientError::Connection(error) => error.is_retriable(),
        _ => false,
    }
}

/// Asks each leader once for what is missing; gives the last failure when not everything was found.
async fn ask_leaders(
    client: &ClientShared,
    lookups: &[Lookup],
    missing: &[usize],
    isolation_level: i8,
    found: &mut [Option<ListedOffset>],
) -> Result<(), ClientError> {
    let cluster = client.metadata.cluster();
    let mut by_leader: BTreeMap<i32, Vec<(usize, i32)>> = BTreeMap::new();
    let mut failure = None;
    for index in missing {
        let (topic, partition, _) = &lookups[*index];
        client.metadata.track(topic, false);
        match cluster.leader(topic, *partition) {
            Some((leader, epoch)) => by_leader.entry(leader).or_default().push((*index, epoch)),
            None => failure = Some(broker_error(ErrorCode::LeaderNotAvailable)),
        }
    }
    for (leader, wanted) in by_leader {
        let Some(broker) = cluster.brokers.get(&leader) else { continue };
        let request = request(lookups, &wanted, isolation_level);
        match client.ask(broker, &request).await {
            Ok(response) => {
                if let Some(code) = read(response, lookups, &wanted, found) {
                    failure = Some(broker_error(code));
                }
            }
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(()), Err)
}

fn broker_error(code: ErrorCode) -> ClientError {
    ClientError::Broker { api: "ListOffsets", code, message: None }
}

fn request(lookups: &[Lookup], wanted: &[(usize, i32)], isolation_level: i8) -> ListOffsetsRequest {
    let mut topics: Vec<ListOffsetsTopic> = Vec::new();
    for (index, current_leader_epoch) in wanted {
        let (topic, partition_index, offset) = &lookups[*index];
        let partition = ListOffsetsPartition {
            partition_index: *partition_index,
            current_leader_epoch: *current_leader_epoch,
            timestamp: offset.timestamp().unwrap_or(LATEST),
        };
        match topics.iter_mut().find(|known| known.name == **topic) {
            Some(known) => known.partitions.push(partition),
            None => topics.push(ListOffsetsTopic { name: topic.to_string(), partitions: vec![partition] }),
        }
    }
    ListOffsetsRequest { replica_id: -1, isolation_level, topics, timeout_ms: TIMEOUT_MS }
}

/// Notes what was found; gives an error code when something was not.
fn read(
    response: ListOffsetsResponse,
    lookups: &[Lookup],
    wanted: &[(usize, i32)],
    found: &mut [Option<ListedOffset>],
) -> Option<ErrorCode> {
    let mut failure = None;
    for topic in response.topics {
        for answer in topic.partitions {
            let asked = wanted.iter().map(|(index, _)| *index).find(|index| {
                let (name, partition, _) = &lookups[*index];
                **name == *topic.name && *partition == answer.partition_index
            });
            let Some(index) = asked else { continue };
            match ErrorCode::from_code(answer.error_code) {
                ErrorCode::None => {
                    found[index] = Some(ListedOffset {
                        partition: answer.partition_index,
                        offset: (answer.offset >= 0).then_some(answer.offset),
                        timestamp_ms: answer.timestamp,
                        leader_epoch: answer.leader_epoch,
                    });
                }
                code if !code.is_retriable() => return Some(code),
                code => failure = Some(code),
            }
        }
    }
    // A partition left out of the answer is asked for again.
    let complete = wanted.iter().all(|(index, _)| found[*index].is_some());
    failure.or((!complete).then_some(ErrorCode::LeaderNotAvailable))
}
