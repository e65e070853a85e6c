//! State machines that live in a partition of an internal topic: consumer groups, and transactional producers.
//!
//! ```text
//! handlers ──event──► Hosted ──event, now──► shard              pure: no clock, no I/O, no tasks
//!    ▲                 │  ▲                    │
//!    └──── answer ─────┘  └─ durable ── log ◄──┴─ records
//! ```
//! Each partition of the topic has a shard, the pure part: it takes events, and says what to answer, what to write
//! down, and what else to do. `Hosted` carries that out; `Shards` are all of a topic's.
//!
//! Invariants: records reach the log in the order the shard gave them; an answer that depends on a record leaves once
//! that is durable; a request is answered once.

mod appending;
mod hosted;
mod load;
pub(crate) mod moment;
pub(crate) mod placement;
mod shards;
mod state;
mod timer;

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::records::{BatchHeader, BatchProducer, EndTransactionMarker, Record};
use pillion_wire::{EncodeError, ErrorCode};

pub(crate) use hosted::{Hosted, Reply};
pub(crate) use shards::Shards;

use crate::partition::MarkerGuard;
use moment::{Moment, MonotonicMs};

/// Names one parked request. [`Hosted`] chooses it, unique while the request is unanswered; the state machine
/// answers each exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WaiterId(pub(crate) u64);

/// Counts the times a shard was read, so that what was begun before does not reach what was read after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incarnation(u64);

/// One thing to do, in the order given.
#[derive(Debug)]
pub(crate) enum Action<Answer, Persist, Effect> {
    /// Answer a request now.
    Answer(WaiterId, Answer),
    /// Append the records, and hand the whole back to [`Shard::persisted`] once they are durable.
    Persist(Persist),
    /// Do something outside of the shard and its partition.
    Effect(Effect),
}

/// What a shard of one kind wants done.
pub(crate) type ActionOf<S> = Action<<S as Shard>::Answer, <S as Shard>::Persist, <S as Shard>::Effect>;

/// Records that belong together, in one batch.
pub(crate) trait Persisted: Send + 'static {
    /// About how many bytes they take.
    fn approximate_bytes(&self) -> usize;

    /// Hands each record's key and value to `put`, in order; no value deletes.
    ///
    /// # Errors
    /// When a text is longer than the format's length fields can say; requests are checked for that before.
    fn encode(&self, put: &mut dyn FnMut(Record)) -> Result<(), EncodeError>;

    /// Whether nobody waits for them, and a crash may take them back: they are then synced with what comes next, or after
    /// a while.
    fn can_wait(&self) -> bool {
        false
    }

    /// The producer in whose transaction they are.
    fn producer(&self) -> Option<BatchProducer> {
        None
    }

    /// With a producer: what its transaction's coordinator was asked under, as for `Partition::append_in_transaction`.
    fn guard(&self) -> Option<MarkerGuard> {
        None
    }
}

/// A pure state machine over one partition.
pub(crate) trait Shard: Send + Sized + 'static {
    /// What bounds it.
    type Limits: Send + Sync + 'static;
    /// What a request is answered with.
    type Answer: Send + 'static;
    /// What is written down, and what follows then.
    type Persist: Persisted;
    /// What else it may want done.
    type Effect: Send + 'static;

    /// How often [`Shard::look_through`] is called.
    const LOOK_THROUGH: Duration;

    /// Whether it is of use while its partition takes no records. One that is not is not served once the partition is
    /// offline, and is left alone for a while when its records fail again and again.
    const SERVES_OFFLINE: bool;

    /// One that has seen nothing.
    fn new(limits: Arc<Self::Limits>) -> Self;

    /// Applies a record, in the order of the log and before any event. `batch` is the header of the batch it is in.
    ///
    /// # Errors
    /// Why it is passed over, to be told to people.
    fn replay(&mut self, batch: &BatchHeader, record: &Record, now: Moment) -> Result<(), String>;

    /// Applies a marker that ended a transaction in this partition, as [`Shard::replay`].
    fn replay_marker(&mut self, _batch: &BatchHeader, _marker: EndTransactionMarker) {}

    /// All records are applied.
    fn loaded(&mut self, now: Moment, actions: &mut Vec<ActionOf<Self>>);

    /// Does what is due by now. Calling it early does nothing.
    fn tick(&mut self, now: Moment, actions: &mut Vec<ActionOf<Self>>);

    /// When [`Shard::tick`] is next to be called.
    fn next_deadline(&self) -> Option<MonotonicMs>;

    /// Looks for what is old.
    fn look_through(&mut self, now: Moment, actions: &mut Vec<ActionOf<Self>>);

    /// Records are durable, and so is everything given out before them. The first of them is at `offset`.
    fn persisted(&mut self, persist: Self::Persist, offset: i64, now: Moment, actions: &mut Vec<ActionOf<Self>>);

    /// Records were not, or may not have been, written: answers those that waited for them. [`Shard::unload`] is to
    /// follow.
    fn persist_failed(&mut self, persist: Self::Persist, error: ErrorCode, actions: &mut Vec<ActionOf<Self>>);

    /// The log refused records for their producer's sake: answers those that waited for them. Nothing else is the
    /// matter, and the shard goes on.
    fn persist_refused(
        &mut self,
        persist: Self::Persist,
        error: ErrorCode,
        _now: Moment,
        actions: &mut Vec<ActionOf<Self>>,
    ) {
        self.persist_failed(persist, error, actions);
    }

    /// Answers everyone who waits, and forgets everything.
    fn unload(&mut self, error: ErrorCode, now: Moment, actions: &mut Vec<ActionOf<Self>>);
}
