//! A transaction shard as its host sees it.

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::records::{BatchHeader, Record};
use pillion_wire::{EncodeError, ErrorCode};

use super::super::action::{Action, Answer, Effect, Persist, Then};
use super::super::limits::TransactionLimits;
use super::super::record_codec;
use super::super::shard::TransactionShard;
use crate::hosting::moment::{Moment, MonotonicMs};
use crate::hosting::{Persisted, Shard};

impl Persisted for Persist {
    fn approximate_bytes(&self) -> usize {
        self.record.approximate_bytes()
    }

    /// That a transaction's markers are all written is found out again at a start.
    fn can_wait(&self) -> bool {
        self.then == Then::Nothing && self.record.value.is_some()
    }

    fn encode(&self, put: &mut dyn FnMut(Record)) -> Result<(), EncodeError> {
        put(record_codec::encode(&self.record)?);
        Ok(())
    }
}

impl Shard for TransactionShard {
    type Limits = TransactionLimits;
    type Answer = Answer;
    type Persist = Persist;
    type Effect = Effect;

    /// `transaction.remove.expired.transaction.cleanup.interval.ms`, Kafka's default.
    const LOOK_THROUGH: Duration = Duration::from_secs(3600);

    /// Whoever asks wants something written down, and what was decided could not be carried through.
    const SERVES_OFFLINE: bool = false;

    fn new(limits: Arc<TransactionLimits>) -> Self {
        Self::new(limits)
    }

    fn replay(&mut self, _batch: &BatchHeader, record: &Record, _now: Moment) -> Result<(), String> {
        let Some(key) = &record.key else { return Ok(()) };
        let record = record_codec::decode(key, record.value.as_ref()).map_err(|error| error.to_string())?;
        self.replay(record);
        Ok(())
    }

    fn loaded(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.loaded(now, actions);
    }

    fn tick(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.tick(now, actions);
    }

    fn next_deadline(&self) -> Option<MonotonicMs> {
        self.next_deadline()
    }

    fn look_through(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.expire(now, actions);
    }

    fn persisted(&mut self, persist: Persist, _offset: i64, _now: Moment, actions: &mut Vec<Action>) {
        self.persisted(persist, actions);
    }

    fn persist_failed(&mut self, persist: Persist, error: ErrorCode, actions: &mut Vec<Action>) {
        self.persist_failed(&persist, error, actions);
    }

    fn unload(&mut self, error: ErrorCode, _now: Moment, actions: &mut Vec<Action>) {
        self.unload(error, actions);
    }
}
