//! A partition that a consumer reads: where it is, what it has fetched and not handed out. Pure.

use std::sync::Arc;
use std::time::Instant;

use pillion_wire::ErrorCode;

use super::ConsumedRecord;
use super::fetched::{Fetched, Position};
use super::request::Answer;
use crate::error::ClientError;
use crate::metadata::wants_refresh;
use crate::offsets::Offset;

/// Where reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The offset has to be looked up.
    Start(Offset),
    /// It is known.
    At(Position),
}

/// A partition that is read.
#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    /// Of its own among all that the consumer ever had; another one after a seek. Tells answers to what was asked.
    pub(super) generation: u64,
    pub(super) place: Place,
    pub(super) fetched: Option<Fetched>,
    /// −1 until the first answer.
    pub(super) high_watermark: i64,
    /// Not asked for before this time, after a failure.
    pub(super) not_before: Option<Instant>,
    pub(super) failures: u32,
}

/// What to do about an answer.
#[derive(Debug)]
pub(super) enum Reaction {
    /// Nothing: records were taken in, or there were none.
    Taken,
    /// Wait before the next attempt; look the leader up when `refresh`.
    Wait { refresh: bool },
    /// Wait, and tell who polls.
    Fail(ClientError),
}

impl Assigned {
    pub(super) fn new(topic: Arc<str>, partition: i32, start: Offset, generation: u64) -> Self {
        Self {
            topic,
            partition,
            generation,
            place: place(start),
            fetched: None,
            high_watermark: -1,
            not_before: None,
            failures: 0,
        }
    }

    /// Goes on at another offset.
    pub(super) fn seek(&mut self, start: Offset, generation: u64) {
        self.generation = generation;
        self.place = place(start);
        self.fetched = None;
        self.not_before = None;
    }

    /// The offset of the next record handed out, once known.
    pub(super) fn position(&self) -> Option<i64> {
        match self.place {
            Place::At(position) => Some(position.offset),
            Place::Start(_) => None,
        }
    }

    /// The leader epoch of the batch read last; −1 when unknown.
    pub(super) fn last_epoch(&self) -> i32 {
        match self.place {
            Place::At(position) => position.last_epoch,
            Place::Start(_) => -1,
        }
    }

    /// The position to fetch from now; `None` while there is something to hand out, or reason to wait.
    pub(super) fn fetch_from(&self, now: Instant) -> Option<Position> {
        match self.place {
            Place::At(position) if self.fetched.is_none() && self.not_before.is_none_or(|at| at <= now) => {
                Some(position)
            }
            _ => None,
        }
    }

    /// Takes in an answer to a fetch from the present position.
    pub(super) fn take_in(&mut self, answer: Answer) -> Reaction {
        let (topic, partition) = (self.topic.to_string(), self.partition);
        let offset = self.position().unwrap_or(-1);
        if let Some(end_offset) = answer.truncated_to {
            return Reaction::Fail(ClientError::LogTruncated { topic, partition, offset, end_offset });
        }
        match answer.code {
            ErrorCode::None => {
                self.failures = 0;
                self.high_watermark = answer.high_watermark;
                self.fetched = Some(answer.fetched).filter(|fetched| !fetched.is_exhausted());
                Reaction::Taken
            }
            ErrorCode::OffsetOutOfRange => Reaction::Fail(ClientError::OffsetOutOfRange { topic, partition, offset }),
            code if code.is_retriable() => Reaction::Wait { refresh: wants_refresh(code) },
            code => Reaction::Fail(ClientError::Broker { api: "Fetch", code, message: None }),
        }
    }

    /// Hands out up to `limit` records.
    ///
    /// # Errors
    /// [`ClientError::Records`] when a batch is damaged; the position stays before it, and what stood in front of it
    /// has been handed out.
    pub(super) fn hand_out(&mut self, limit: usize, records: &mut Vec<ConsumedRecord>) -> Result<(), ClientError> {
        let (Some(fetched), Place::At(position)) = (&mut self.fetched, &mut self.place) else { return Ok(()) };
        let before = records.len();
        while records.len() < limit {
            match fetched.next(position) {
                Ok(Some(found)) => records.push(ConsumedRecord {
                    topic: self.topic.clone(),
                    partition: self.partition,
                    offset: found.record.offset,
                    leader_epoch: found.leader_epoch,
                    timestamp_ms: found.record.timestamp,
                    timestamp_type: found.timestamp_type,
                    key: found.record.key,
                    value: found.record.value,
                    headers: found.record.headers,
                }),
                Ok(None) => {
                    self.fetched = None;
                    return Ok(());
                }
                // Told at the next call, when nothing stands in front of it any more.
                Err(_) if records.len() > before => return Ok(()),
                Err(source) => {
                    let offset = position.offset;
                    self.fetched = None;
                    let (topic, partition) = (self.topic.to_string(), self.partition);
                    return Err(ClientError::Records { topic, partition, offset, source: source.into() });
                }
            }
        }
        Ok(())
    }
}

fn place(start: Offset) -> Place {
    match start {
        Offset::At(offset) => Place::At(Position { offset, last_epoch: -1 }),
        start => Place::Start(start),
    }
}
