//! Consuming partitions that are assigned by hand: offsets are the caller's to keep.
//!
//! ```text
//! poll: hand out what is fetched → look up starts → one fetch a broker → wait for the first answer → again
//! ```
//!
//! A consumer has no task on a record's way: answers arrive through the connection's task, and fetches are sent by
//! whoever polls. When the last fetched record is handed out the next fetch leaves in the same call, so that the
//! broker works while the caller does.
//!
//! **Invariant:** dropping a `poll` in the middle loses nothing: what is under way is kept in the consumer, and a
//! position moves only together with the records that are handed out.

mod assigned;
mod config;
mod fetched;
mod fetching;
mod request;
mod starts;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub use config::{Assignment, ConsumedRecord, ConsumerConfig, IsolationLevel};

use assigned::Assigned;
use fetching::{Fetch, next_answer};

use crate::client::ClientShared;
use crate::connection::{ConnectionError, Pool};
use crate::error::ClientError;
use crate::metadata::Changes;
use crate::offsets::{ListedOffset, Offset};

/// Reads assigned partitions. One task polls it; it needs no closing.
pub struct Consumer {
    client: Arc<ClientShared>,
    pool: Arc<Pool>,
    config: ConsumerConfig,
    changes: Changes,
    assigned: Vec<Assigned>,
    /// Partition whose records are handed out first, so that none starves.
    turn: usize,
    /// At most one fetch a broker.
    fetches: HashMap<i32, Fetch>,
    /// Connections being made and offsets being looked up.
    side: JoinSet<Side>,
    connecting: HashSet<i32>,
    looking_up: bool,
    /// Failures to tell at the next poll, at most one a partition.
    failed: VecDeque<ClientError>,
    /// The last generation given to a partition.
    generation: u64,
}

/// What a side task has come to.
enum Side {
    Connected { node: i32, failed: bool },
    Found { asked: Vec<u64>, found: Result<Vec<ListedOffset>, ClientError> },
}

impl Consumer {
    pub(crate) fn new(client: Arc<ClientShared>, config: ConsumerConfig) -> Self {
        let pool = Arc::new(Pool::new(client.connector.clone()));
        let changes = client.metadata.changes();
        Self {
            client,
            pool,
            config,
            changes,
            assigned: Vec::new(),
            turn: 0,
            fetches: HashMap::new(),
            side: JoinSet::new(),
            connecting: HashSet::new(),
            looking_up: false,
            failed: VecDeque::new(),
            generation: 0,
        }
    }

    /// Replaces what is read.
    ///
    /// # Errors
    /// [`ClientError::UnknownTopic`], [`ClientError::UnknownPartition`]; what was assigned before stays then.
    pub async fn assign(&mut self, assignments: Vec<Assignment>) -> Result<(), ClientError> {
        let assigned = self.prepare(assignments).await?;
        self.assigned = assigned;
        self.looking_up = false;
        self.failed.clear();
        self.end_fetches();
        Ok(())
    }

    /// Reads more partitions; one that is read already begins anew.
    ///
    /// # Errors
    /// As [`Consumer::assign`].
    pub(crate) async fn add(&mut self, assignments: Vec<Assignment>) -> Result<(), ClientError> {
        let added = self.prepare(assignments).await?;
        let again =
            |known: &Assigned| added.iter().any(|new| new.topic == known.topic && new.partition == known.partition);
        self.assigned.retain(|known| !again(known));
        self.assigned.extend(added);
        self.looking_up = false;
        self.end_fetches();
        Ok(())
    }

    /// Reads on without the partitions that `is_taken` names.
    pub(crate) fn remove(&mut self, is_taken: impl Fn(&str, i32) -> bool) {
        self.assigned.retain(|assigned| !is_taken(&assigned.topic, assigned.partition));
        self.failed.clear();
        self.looking_up = false;
    }

    /// Every assigned partition's topic, number, next offset and last leader epoch, as far as they are known.
    pub(crate) fn positions(&self) -> Vec<(Arc<str>, i32, i64, i32)> {
        let known = |assigned: &Assigned| {
            Some((assigned.topic.clone(), assigned.partition, assigned.position()?, assigned.last_epoch()))
        };
        self.assigned.iter().filter_map(known).collect()
    }

    /// Checks what is to be read.
    async fn prepare(&mut self, assignments: Vec<Assignment>) -> Result<Vec<Assigned>, ClientError> {
        let mut assigned = Vec::with_capacity(assignments.len());
        for Assignment { topic, partition, start } in assignments {
            let known = self.client.metadata.topic(&topic, false, self.client.config.request_timeout).await?;
            if usize::try_from(partition).is_ok_and(|partition| partition < known.partitions.len()) {
                assigned.push(Assigned::new(known.name.clone(), partition, start, self.next_generation()));
            } else {
                return Err(ClientError::UnknownPartition { topic, partition });
            }
        }
        Ok(assigned)
    }

    /// Gives up the fetches under way: they are for other partitions, and their connections would make new ones wait.
    fn end_fetches(&mut self) {
        for (_, fetch) in self.fetches.drain() {
            fetch.connection.close();
        }
    }

    fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Goes on at another offset of an assigned partition.
    ///
    /// # Errors
    /// [`ClientError::UnknownPartition`] when it is not assigned.
    pub fn seek(&mut self, topic: &str, partition: i32, offset: Offset) -> Result<(), ClientError> {
        let generation = self.next_generation();
        let found =
            self.assigned.iter_mut().find(|assigned| *assigned.topic == *topic && assigned.partition == partition);
        let Some(assigned) = found else {
            return Err(ClientError::UnknownPartition { topic: topic.to_owned(), partition });
        };
        assigned.seek(offset, generation);
        Ok(())
    }

    /// The offset behind the last record handed out of an assigned partition; `None` until its start is known.
    #[must_use]
    pub fn position(&self, topic: &str, partition: i32) -> Option<i64> {
        self.find(topic, partition)?.position()
    }

    /// The high watermark (exclusive) of an assigned partition as last seen; `None` before the first answer.
    #[must_use]
    pub fn high_watermark(&self, topic: &str, partition: i32) -> Option<i64> {
        self.find(topic, partition).map(|assigned| assigned.high_watermark).filter(|mark| *mark >= 0)
    }

    /// Records of the assigned partitions, in order within each, as soon as there are some; none after `max_wait`.
    ///
    /// # Errors
    /// [`ClientError::OffsetOutOfRange`] and [`ClientError::LogTruncated`] (again at each poll until
    /// [`Consumer::seek`]), [`ClientError::Records`], [`ClientError::Broker`]. Brokers that cannot be reached are
    /// tried again without an error.
    pub async fn poll(&mut self, max_wait: Duration) -> Result<Vec<ConsumedRecord>, ClientError> {
        let deadline = Instant::now() + max_wait;
        loop {
            self.collect_ready();
            let records = self.hand_out()?;
            if !records.is_empty() {
                self.send_fetches();
                return Ok(records);
            }
            if let Some(failure) = self.failed.pop_front() {
                return Err(failure);
            }
            self.look_up_starts();
            self.send_fetches();
            if Instant::now() >= deadline {
                return Ok(Vec::new());
            }
            if self.client.connector.cancelled.is_cancelled() {
                return Err(ClientError::Closed);
            }
            self.wait(deadline).await;
        }
    }

    /// Waits for whatever comes first: an answer, a connection, an offset, a new leader, the end of a backoff.
    async fn wait(&mut self, deadline: Instant) {
        let now = Instant::now();
        let retries = self.assigned.iter().filter_map(|assigned| assigned.not_before).filter(|at| *at > now);
        let until = retries.min().map_or(deadline, |at| at.min(deadline));
        let cancelled = self.client.connector.cancelled.clone();
        tokio::select! {
            biased;
            (node, fetch, answer) = next_answer(&mut self.fetches) => {
                let answer = answer.unwrap_or(Err(ConnectionError::NotAnswered { what: "Fetch" }));
                self.absorb(node, &fetch, answer);
            }
            Some(done) = self.side.join_next() => self.absorb_side(done.ok()),
            () = self.changes.next() => {}
            () = cancelled.cancelled() => {}
            () = tokio::time::sleep_until(until.into()) => {}
        }
    }

    /// Takes in what has arrived, without waiting.
    fn collect_ready(&mut self) {
        let nodes: Vec<i32> = self.fetches.keys().copied().collect();
        for node in nodes {
            let Some(fetch) = self.fetches.get_mut(&node) else { continue };
            let answer = match fetch.answer.try_recv() {
                Ok(answer) => answer,
                Err(oneshot::error::TryRecvError::Empty) => continue,
                Err(oneshot::error::TryRecvError::Closed) => Err(ConnectionError::NotAnswered { what: "Fetch" }),
            };
            if let Some(fetch) = self.fetches.remove(&node) {
                self.absorb(node, &fetch, answer);
            }
        }
        while let Some(done) = self.side.try_join_next() {
            self.absorb_side(done.ok());
        }
    }

    fn hand_out(&mut self) -> Result<Vec<ConsumedRecord>, ClientError> {
        let mut records = Vec::new();
        let count = self.assigned.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            if let Err(error) = self.assigned[index].hand_out(self.config.max_poll_records.max(1), &mut records) {
                self.pause(index);
                if records.is_empty() {
                    return Err(error);
                }
                self.failed.push_back(error);
            }
        }
        self.turn = if count == 0 { 0 } else { (self.turn + 1) % count };
        Ok(records)
    }

    fn absorb_side(&mut self, done: Option<Side>) {
        match done {
            Some(Side::Connected { node, failed }) => {
                self.connecting.remove(&node);
                if failed {
                    tracing::trace!(broker = node, "connection will be tried again");
                }
            }
            Some(Side::Found { asked, found }) => {
                let places: Vec<_> = asked.iter().map(|generation| self.place_of(*generation)).collect();
                // An answer that is for nothing that is read any more leaves a lookup under way alone.
                if places.iter().any(Option::is_some) {
                    self.looking_up = false;
                }
                match found {
                    Ok(found) => places.into_iter().zip(found).for_each(|(place, found)| self.start(place, found)),
                    Err(error) if places.iter().any(Option::is_some) => {
                        places.into_iter().flatten().for_each(|index| self.pause(index));
                        self.failed.push_back(error);
                    }
                    Err(_) => {}
                }
            }
            None => {}
        }
    }

    /// Leaves a partition alone for a while after a failure.
    fn pause(&mut self, index: usize) {
        if let Some(assigned) = self.assigned.get_mut(index) {
            assigned.failures = assigned.failures.saturating_add(1);
            assigned.not_before = Some(Instant::now() + self.client.connector.backoff.jittered(assigned.failures));
        }
    }

    /// Where the partition of a generation stands, if it is still read and was not moved.
    fn place_of(&self, generation: u64) -> Option<usize> {
        self.assigned.iter().position(|assigned| assigned.generation == generation)
    }

    fn find(&self, topic: &str, partition: i32) -> Option<&Assigned> {
        self.assigned.iter().find(|assigned| *assigned.topic == *topic && assigned.partition == partition)
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Consumer").field("assigned", &self.assigned.len()).finish_non_exhaustive()
    }
}
