//! A group shard as its host sees it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::records::{BatchHeader, Record};
use pillion_wire::{EncodeError, ErrorCode};

use super::super::action::{Action, Answer, Persist};
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::record_codec::{self, DecodedRecord};
use super::super::shard::GroupShard;
use crate::hosting::{Persisted, Shard};

impl Persisted for Persist {
    fn approximate_bytes(&self) -> usize {
        Self::approximate_bytes(self)
    }

    fn encode(&self, put: &mut dyn FnMut(Record)) -> Result<(), EncodeError> {
        for record in &self.records {
            let encoded = record_codec::encode(record)?;
            put(Record { key: Some(encoded.key), value: encoded.value, ..Record::default() });
        }
        Ok(())
    }
}

impl Shard for GroupShard {
    type Limits = GroupLimits;
    type Answer = Answer;
    type Persist = Persist;
    type Effect = Infallible;

    /// `offsets.retention.check.interval.ms`, Kafka's default.
    const LOOK_THROUGH: Duration = Duration::from_secs(600);

    fn new(limits: Arc<GroupLimits>) -> Self {
        Self::new(limits)
    }

    fn replay(&mut self, _batch: &BatchHeader, record: &Record, now: Moment) -> Result<(), String> {
        let Some(key) = &record.key else { return Ok(()) };
        match record_codec::decode(key, record.value.as_ref()) {
            Ok(DecodedRecord::Known(known)) => {
                self.replay(known, now);
                Ok(())
            }
            Ok(DecodedRecord::Unknown { kind }) => Err(format!("this broker does not know records of kind {kind}")),
            Err(error) => Err(format!("it does not follow its format: {error}")),
        }
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
        self.expire_offsets(now, actions);
    }

    fn persisted(&mut self, persist: Persist, _offset: i64, now: Moment, actions: &mut Vec<Action>) {
        self.persisted(persist, now, actions);
    }

    fn persist_failed(&mut self, persist: Persist, error: ErrorCode, actions: &mut Vec<Action>) {
        self.persist_failed(persist, error, actions);
    }

    fn unload(&mut self, error: ErrorCode, now: Moment, actions: &mut Vec<Action>) {
        self.unload(error, now, actions);
    }
}
