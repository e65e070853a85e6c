//! What a fetch finds: for each partition an error, nothing, or a range of a segment file.
//!
//! A search is made once a request and kept while the fetch is parked: a high watermark that moves costs a look at its
//! partition only. Whatever was found first keeps its room; the order of looking changes from answer to answer, so that
//! partitions behind the limit are not left out for ever. Partitions stay at the places they were asked for in.

use std::sync::Arc;

use pillion_wire::messages::fetch::EpochEndOffset;
use pillion_wire::{ErrorCode, Records};

use super::session::{Marks, Report};
use super::wanted::{Wanted, WantedTopic};
use crate::broker::BrokerState;
use crate::catalogue::{Topic, TopicsSnapshot};
use crate::handlers::leader_epoch::check_leader_epoch;
use crate::log::{AbortedTransaction, LogError, LogSlice, ReadFrom};
use crate::partition::{Isolation, Partition, PartitionOffsets};

/// What one look at a partition finds.
pub(super) enum Found {
    /// Nothing to send, or no room for it.
    Nothing,
    /// Batches; `more` when it was a limit that ended them, or their segment's end.
    Slice { slice: LogSlice, more: bool },
    /// Batches, as they will be sent.
    Records(Records),
    /// Something that is not in memory.
    Cold,
    /// An error.
    Refused(ErrorCode),
    /// The reader's history parts from the log's here (KIP-595).
    Diverging(EpochEndOffset),
}

/// One partition asked for, and what is there.
pub(super) struct Place {
    pub(super) wanted: Wanted,
    /// The partition, or why there is none.
    held: Result<Arc<Partition>, ErrorCode>,
    /// Where it stood when it was looked at.
    pub(super) marks: Marks,
    pub(super) found: Found,
    /// Whether the answer speaks of it.
    pub(super) is_told: bool,
}

/// A fetch's answer before the bytes are read.
pub(super) struct Search {
    /// In the order they were asked for.
    pub(super) places: Vec<Place>,
    /// The place looked at first.
    first: usize,
    pub(super) isolation: Isolation,
    /// The epoch the broker leads in.
    leader_epoch: i32,
    /// Bytes wanted at most; the first batch of an answer is whole nevertheless.
    bytes_max: usize,
    /// Bytes found.
    bytes: usize,
    /// Places with something the client should hear of at once.
    urgent: usize,
    /// Places with something that is not in memory.
    cold: usize,
    /// Something had no room, or waits in a later segment than what was found: it takes another fetch to bring it.
    is_full: bool,
}

/// A topic and what is held of it.
type FoundTopic<'a> = (Arc<WantedTopic>, Result<&'a Arc<Topic>, ErrorCode>);

/// Of a partition that nothing is known of.
const UNKNOWN_MARKS: Marks = Marks { high_watermark: -1, last_stable_offset: -1, log_start_offset: -1 };

impl Search {
    /// Finds the partitions and looks at each.
    pub(super) fn new(
        broker: &BrokerState,
        (wanted, first): (Vec<Wanted>, usize),
        bytes_max: usize,
        isolation: Isolation,
    ) -> Self {
        let topics = broker.topics.snapshot();
        let mut topic: Option<FoundTopic<'_>> = None;
        let place = |wanted: Wanted| {
            let known = topic.as_ref().filter(|(known, _)| Arc::ptr_eq(known, &wanted.topic)).map(|(_, held)| *held);
            let held = known.unwrap_or_else(|| {
                let held = find_topic(&topics, &wanted.topic);
                topic = Some((Arc::clone(&wanted.topic), held));
                held
            });
            let held = held
                .and_then(|topic| topic.partition(wanted.partition).cloned().ok_or(ErrorCode::UnknownTopicOrPartition));
            Place { wanted, held, marks: UNKNOWN_MARKS, found: Found::Nothing, is_told: false }
        };
        let places: Vec<_> = wanted.into_iter().map(place).collect();
        let leader_epoch = broker.leader_epoch();
        let (bytes, urgent, cold, is_full) = (0, 0, 0, false);
        let mut search = Self { places, first, isolation, leader_epoch, bytes_max, bytes, urgent, cold, is_full };
        search.order().for_each(|place| search.look(place, ReadFrom::Memory));
        search
    }

    /// The places in the order of looking.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..self.places.len()).chain(0..self.first)
    }

    /// Whether it may be answered before its deadline.
    pub(super) fn is_enough(&self, bytes_min: usize) -> bool {
        let must = self.urgent > 0 || self.cold > 0 || self.is_full || self.places.is_empty();
        must || self.bytes >= bytes_min
    }

    /// Looks at a partition, once more perhaps.
    pub(super) fn look(&mut self, place: usize, from: ReadFrom) {
        self.put(place, Found::Nothing);
        let left = self.bytes_max.saturating_sub(self.bytes);
        let Place { wanted, held, .. } = &self.places[place];
        let (marks, found) = match held {
            Ok(held) => self.look_at(held, wanted, left, from),
            Err(code) => (UNKNOWN_MARKS, Found::Refused(*code)),
        };
        let found = match found {
            // Only the first batch of an answer may be larger than what is left.
            Found::Slice { slice, .. } if slice.length > left && self.bytes > 0 => Found::Nothing,
            found => found,
        };
        let has_more = wanted.fetch_offset < marks.end(self.isolation);
        let ends_with_segment = |held: &Arc<Partition>| held.is_in_closed_segment(wanted.fetch_offset);
        let found = match (found, held) {
            (Found::Slice { slice, more: false }, Ok(held)) if ends_with_segment(held) => {
                self.is_full = true;
                Found::Slice { slice, more: true }
            }
            (found, _) => found,
        };
        self.is_full |= has_more && matches!(found, Found::Nothing);
        self.places[place].marks = marks;
        self.put(place, found);
    }

    /// Looks once more at the partitions that have changed since they were looked at.
    pub(super) fn refresh(&mut self) {
        for place in self.order() {
            let Ok(held) = &self.places[place].held else { continue };
            if Marks::from(held.offsets()) != self.places[place].marks || held.is_deleted() {
                self.look(place, ReadFrom::Memory);
            }
        }
    }

    /// Whether a look at this place may find more than the last one.
    pub(super) fn may_grow(&self, place: usize) -> bool {
        !matches!(self.places[place].found, Found::Slice { more: true, .. })
            || self.places[place].held.as_ref().is_ok_and(|held| held.is_deleted())
    }

    /// Replaces what was found at a place.
    pub(super) fn put(&mut self, place: usize, found: Found) {
        let before = std::mem::replace(&mut self.places[place].found, found);
        for (found, sign) in [(&before, -1), (&self.places[place].found, 1)] {
            match found {
                Found::Slice { slice, .. } => self.bytes = self.bytes.wrapping_add_signed(sign * slice.length as isize),
                Found::Cold => self.cold = self.cold.wrapping_add_signed(sign),
                Found::Refused(_) | Found::Diverging(_) => self.urgent = self.urgent.wrapping_add_signed(sign),
                Found::Nothing | Found::Records(_) => {}
            }
        }
    }

    /// The partitions asked for that are there, by their places.
    pub(super) fn partitions(&self) -> impl Iterator<Item = (usize, &Arc<Partition>)> {
        self.places.iter().enumerate().filter_map(|(place, asked)| Some((place, asked.held.as_ref().ok()?)))
    }

    /// Whether transaction indexes must be read for what was taken, which may wait for the disk.
    pub(super) fn looks_for_aborted(&self) -> bool {
        let looks = |place: &Place| match (&place.found, &place.held) {
            (Found::Records(_), Ok(held)) => held.tells_of_aborted(place.wanted.fetch_offset),
            _ => false,
        };
        self.isolation == Isolation::ReadCommitted && self.places.iter().any(looks)
    }

    /// The first partition with records that this answer has none of.
    pub(super) fn starved(&self) -> Option<&Wanted> {
        let is_starved = |place: &&Place| {
            let has_more = place.wanted.fetch_offset < place.marks.end(self.isolation);
            has_more && matches!(place.found, Found::Nothing | Found::Cold)
        };
        self.order().map(|place| &self.places[place]).find(is_starved).map(|place| &place.wanted)
    }

    fn look_at(&self, held: &Partition, wanted: &Wanted, left: usize, from: ReadFrom) -> (Marks, Found) {
        let refused = |code| (UNKNOWN_MARKS, Found::Refused(code));
        if let Err(code) = check_leader_epoch(wanted.current_leader_epoch, self.leader_epoch) {
            return refused(code);
        }
        if held.is_deleted() {
            return refused(ErrorCode::UnknownTopicOrPartition);
        }
        if held.is_offline() {
            return refused(ErrorCode::KafkaStorageError);
        }
        // Before the read: a high watermark that moves in between must be seen to have moved.
        let offsets = held.offsets();
        let marks = Marks::from(offsets);
        if let Some(diverging) = diverging_epoch(held, wanted) {
            return (marks, Found::Diverging(diverging));
        }
        let first = if left == 0 && self.bytes > 0 { offsets.log_start_offset } else { marks.end(self.isolation) };
        // Most partitions of a large fetch have nothing new: no second lock is taken to see it.
        if (first..=offsets.log_end_offset).contains(&wanted.fetch_offset) {
            return (marks, Found::Nothing);
        }
        let limit = usize::try_from(wanted.bytes_max).unwrap_or(0).min(left);
        match held.read(wanted.fetch_offset, limit, from, self.isolation) {
            Ok(Some(slice)) => {
                let more = slice.length >= limit;
                (marks, Found::Slice { slice, more })
            }
            Ok(None) => (marks, Found::Nothing),
            Err(LogError::NotCached) => (marks, Found::Cold),
            Err(error) => {
                if !matches!(error, LogError::OffsetOutOfRange { .. } | LogError::Deleted) {
                    tracing::error!(topic = %held.topic(), partition = held.index(), %error, "cannot read a log");
                }
                refused(ErrorCode::from(&error))
            }
        }
    }
}

impl Place {
    /// The aborted transactions that a reader of committed records must skip in what was found; `None` for one who has
    /// not asked. They may reach beyond what was found: a reader takes note of those it comes to.
    pub(super) fn aborted(&self, isolation: Isolation) -> Result<Option<Vec<AbortedTransaction>>, LogError> {
        match (&self.found, &self.held, isolation) {
            (Found::Refused(_), ..) | (.., Isolation::ReadUncommitted) => Ok(None),
            (Found::Records(records), Ok(held), Isolation::ReadCommitted) => {
                let (from, end) = (self.wanted.fetch_offset, self.marks.last_stable_offset);
                held.aborted_transactions(from, records.length(), end).map(Some)
            }
            (.., Isolation::ReadCommitted) => Ok(Some(Vec::new())),
        }
    }

    /// Counts what is sent of it.
    pub(super) fn count_bytes(&self) {
        if let (Found::Records(records), Ok(held)) = (&self.found, &self.held) {
            held.fetched(records.length());
        }
    }

    /// What its session is told.
    pub(super) fn report(&self) -> Report {
        Report {
            marks: self.marks,
            has_records: matches!(self.found, Found::Records(_)),
            has_error: matches!(self.found, Found::Refused(_) | Found::Diverging(_)),
        }
    }
}

impl Marks {
    /// Up to where a reader may read.
    fn end(self, isolation: Isolation) -> i64 {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable_offset,
        }
    }
}

impl From<PartitionOffsets> for Marks {
    fn from(offsets: PartitionOffsets) -> Self {
        let PartitionOffsets { high_watermark, last_stable_offset, log_start_offset, .. } = offsets;
        Self { high_watermark, last_stable_offset, log_start_offset }
    }
}

/// The topic asked for. One that a session knew and that is gone is missed under its name, as Kafka does.
fn find_topic<'a>(topics: &'a TopicsSnapshot, asked: &WantedTopic) -> Result<&'a Arc<Topic>, ErrorCode> {
    if !asked.by_id {
        return topics.by_name(&asked.name).ok_or(ErrorCode::UnknownTopicOrPartition);
    }
    if let Some(topic) = topics.by_id(&asked.id) {
        let _ = asked.found_as.set(Arc::clone(&topic.name));
        return Ok(topic);
    }
    Err(match asked.found_as.get() {
        None => ErrorCode::UnknownTopicId,
        Some(name) if topics.by_name(name).is_some() => ErrorCode::InconsistentTopicId,
        Some(_) => ErrorCode::UnknownTopicOrPartition,
    })
}

/// Where the reader's history parts from the log's, if it says what it read last (KIP-595).
fn diverging_epoch(held: &Partition, wanted: &Wanted) -> Option<EpochEndOffset> {
    if wanted.last_fetched_epoch < 0 {
        return None;
    }
    let (epoch, end_offset) = held.end_of_epoch(wanted.last_fetched_epoch).unwrap_or((-1, 0));
    let diverges = epoch < wanted.last_fetched_epoch || end_offset < wanted.fetch_offset;
    diverges.then_some(EpochEndOffset { epoch, end_offset })
}
