//! A consumer that reads committed records only, as services are told to: it counts them, and reads them where asked.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use pillion_wire::Records;
use pillion_wire::messages::FetchRequest;
use pillion_wire::messages::fetch::{FetchPartition, FetchTopic, PartitionData};
use pillion_wire::records::{BatchHeader, BatchRecords, read_marker};

use super::backlog::TOPIC;
use crate::connection::{Connection, FETCH_VERSION, error_name};

/// Bytes of an answer.
const ANSWER_BYTES: i32 = 1 << 20;
/// Milliseconds that a fetch waits for the first byte.
const WAIT_MS: i32 = 100;
/// The isolation level that leaves out what is undecided and what was aborted.
const READ_COMMITTED: i8 = 1;

/// A consumer of the events' topic, which has one partition.
#[derive(Debug)]
pub(super) struct Consumer {
    connection: Connection,
    next_offset: i64,
    /// Producers in the midst of an aborted transaction.
    aborting: HashSet<i64>,
}

impl Consumer {
    /// Makes the topic, and a consumer at its beginning.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub(super) fn of_new_topic(address: &str) -> Result<Self> {
        let mut connection = Connection::open(address)?;
        connection.greet()?;
        connection.create_topic(TOPIC, 1, &[])?;
        Ok(Self { connection, next_offset: 0, aborting: HashSet::new() })
    }

    /// Reads what is there, waiting for it shortly: how many committed records there were. `each` gets their values'
    /// batches, still as they came.
    ///
    /// # Errors
    /// When the broker refuses, or sends what is no batch.
    pub(super) fn poll(&mut self, mut each: impl FnMut(&BatchHeader, &Bytes) -> Result<()>) -> Result<u64> {
        let partition = FetchPartition {
            partition: 0,
            fetch_offset: self.next_offset,
            partition_max_bytes: ANSWER_BYTES,
            ..FetchPartition::default()
        };
        let topic = FetchTopic { topic: TOPIC.to_owned(), partitions: vec![partition], ..FetchTopic::default() };
        let request = FetchRequest {
            max_wait_ms: WAIT_MS,
            min_bytes: 1,
            max_bytes: ANSWER_BYTES,
            isolation_level: READ_COMMITTED,
            topics: vec![topic],
            ..FetchRequest::default()
        };
        let mut response = self.connection.ask(&request, FETCH_VERSION)?;
        ensure!(response.error_code == 0, "Fetch: {}", error_name(response.error_code));
        let topic = response.responses.pop().context("Fetch answered no topic")?;
        let partition = topic.partitions.into_iter().next().context("Fetch answered no partition")?;
        ensure!(partition.error_code == 0, "{TOPIC}: {}", error_name(partition.error_code));
        self.take(partition, &mut each)
    }

    fn take(
        &mut self,
        partition: PartitionData,
        each: &mut impl FnMut(&BatchHeader, &Bytes) -> Result<()>,
    ) -> Result<u64> {
        let Some(Records::Bytes(mut bytes)) = partition.records else { return Ok(0) };
        let mut aborted = partition.aborted_transactions.unwrap_or_default();
        aborted.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        let mut count = 0;
        // The last batch may be cut short.
        while let Ok(header) = BatchHeader::parse(&bytes)
            && header.size() <= bytes.len()
        {
            let batch = bytes.split_to(header.size());
            while let Some(transaction) = aborted.pop_if(|aborted| aborted.first_offset <= header.last_offset()) {
                self.aborting.insert(transaction.producer_id);
            }
            let is_new = header.base_offset >= self.next_offset;
            self.next_offset = header.next_offset();
            if header.is_control() {
                if read_marker(&batch)?.is_some_and(|marker| !marker.commit) {
                    self.aborting.remove(&header.producer_id);
                }
            } else if is_new && !(header.is_transactional() && self.aborting.contains(&header.producer_id)) {
                count += u64::from(header.record_count.unsigned_abs());
                each(&header, &batch)?;
            }
        }
        Ok(count)
    }
}

/// One event, as far as loads look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The record's key: the writer.
    pub(super) key: Bytes,
    /// The number in its payload.
    pub(super) number: u64,
}

/// The events of a batch.
///
/// # Errors
/// When it is no batch of events.
pub(super) fn events(header: &BatchHeader, batch: &Bytes) -> Result<Vec<Event>> {
    let records = BatchRecords::decompress(header, batch)?;
    let event = |record: pillion_wire::records::Record| {
        let value = record.value.context("an event without a payload")?;
        Ok(Event { key: record.key.unwrap_or_default(), number: number(&value)? })
    };
    records.iter().map(|record| event(record?)).collect()
}

/// The number `n` at the front of a payload, whether or not JSON was written with blanks.
fn number(payload: &[u8]) -> Result<u64> {
    let front = String::from_utf8_lossy(&payload[..payload.len().min(64)]);
    let digits = front.split_once(r#""n":"#).map(|(_, rest)| rest.trim_start());
    let digits: Option<String> = digits.map(|digits| digits.chars().take_while(char::is_ascii_digit).collect());
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("a payload without its number: {front}"))
}

#[cfg(test)]
mod tests;
