//! A group shard as its host sees it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::records::{BatchHeader, BatchProducer, EndTransactionMarker, Record};
use pillion_wire::{EncodeError, ErrorCode};

use super::super::action::{Action, Answer, Persist};
use super::super::event::{Producer, TransactionEnd};
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::record_codec::{self, DecodedRecord};
use super::super::shard::GroupShard;
use crate::hosting::{Persisted, Shard};
use crate::partition::MarkerGuard;

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

    fn producer(&self) -> Option<BatchProducer> {
        // Offsets have no sequence: a commit made twice is the same as one made once.
        let Producer { id, epoch, .. } = self.producer?;
        Some(BatchProducer { id, epoch, base_sequence: -1, transactional: true })
    }

    fn guard(&self) -> Option<MarkerGuard> {
        self.producer?.guard
    }
}

impl Shard for GroupShard {
    type Limits = GroupLimits;
    type Answer = Answer;
    type Persist = Persist;
    type Effect = Infallible;

    /// `offsets.retention.check.interval.ms`, Kafka's default.
    const LOOK_THROUGH: Duration = Duration::from_secs(600);

    /// Committed offsets can be fetched.
    const SERVES_OFFLINE: bool = true;

    fn new(limits: Arc<GroupLimits>) -> Self {
        Self::new(limits)
    }

    fn replay(&mut self, batch: &BatchHeader, record: &Record, now: Moment) -> Result<(), String> {
        let Some(key) = &record.key else { return Ok(()) };
        match record_codec::decode(key, record.value.as_ref()) {
            Ok(DecodedRecord::Known(known)) => {
                let producer_id = Some(batch.producer_id).filter(|_| batch.is_transactional());
                self.replay(known, record.offset, producer_id, now);
                Ok(())
            }
            Ok(DecodedRecord::Unknown { kind }) => Err(format!("this broker does not know records of kind {kind}")),
            Err(error) => Err(format!("it does not follow its format: {error}")),
        }
    }

    fn replay_marker(&mut self, batch: &BatchHeader, marker: EndTransactionMarker) {
        let end = TransactionEnd { marker_offset: batch.base_offset, is_committed: marker.commit };
        self.replay_marker(batch.producer_id, end);
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

    fn persisted(&mut self, persist: Persist, offset: i64, now: Moment, actions: &mut Vec<Action>) {
        self.persisted(persist, offset, now, actions);
    }

    fn persist_failed(&mut self, persist: Persist, error: ErrorCode, actions: &mut Vec<Action>) {
        self.persist_failed(persist, error, actions);
    }

    fn persist_refused(&mut self, persist: Persist, error: ErrorCode, now: Moment, actions: &mut Vec<Action>) {
        self.persist_refused(persist, error, now, actions);
    }

    fn unload(&mut self, error: ErrorCode, now: Moment, actions: &mut Vec<Action>) {
        self.unload(error, now, actions);
    }
}
