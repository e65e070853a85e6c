//! From a shard's queue into the log, and back when it is durable, or when it never will be.

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record, RecordsError};
use pillion_wire::{EncodeError, ErrorCode};
use thiserror::Error;

use super::hosted::Hosted;
use super::state::{Appended, Outbox, Queued};
use super::{Incarnation, Persisted, Shard};
use crate::partition::{AppendError, Partition};

/// How long records that can wait are at most in the page cache only.
const UNHURRIED_FOR: Duration = Duration::from_millis(100);

/// Why records did not get into the log.
#[derive(Debug, Error)]
enum WriteError {
    /// A value does not fit its field; requests are checked for that before.
    #[error("cannot encode a record")]
    Encode(#[from] EncodeError),
    /// The batch could not be built.
    #[error("cannot build a batch")]
    Batch(#[from] RecordsError),
    /// The partition did not take it.
    #[error("cannot append")]
    Append(#[from] AppendError),
}

/// Where records went.
struct Written {
    /// Offsets of each [`Queued`]'s first record.
    offsets: Vec<i64>,
    /// Offset behind the batch.
    next_offset: i64,
}

impl<S: Shard> Hosted<S> {
    /// Does what was left to be done. Appends come first, so that a sync thread is at work while answers are sent.
    pub(super) fn finish(self: &Arc<Self>, outbox: Outbox<S>) {
        if outbox.has_queued {
            if self.partition.is_slow() {
                let shard = Arc::clone(self);
                self.runtime.spawn_blocking(move || shard.append_queued());
            } else {
                self.append_queued();
            }
        }
        for effect in outbox.effects {
            (self.outside)(self, outbox.incarnation, effect);
        }
        for (reply, answer) in outbox.answers {
            reply(Ok(answer));
        }
        for call in outbox.calls {
            call();
        }
        if let Some(wake_at) = outbox.wake_at {
            self.alarm.ring_at(wake_at);
        }
    }

    /// Appends what is queued, unless somebody is at it, who then does this too.
    fn append_queued(self: &Arc<Self>) {
        loop {
            let (taken, incarnation) = {
                let mut state = self.state.lock();
                if state.appending.is_some() || state.queued.is_empty() {
                    return;
                }
                (state.take_queued(), state.incarnation)
            };
            let can_wait = taken.iter().all(|queued| queued.persist.can_wait());
            let written = write(&self.partition, &taken, can_wait);
            let mut state = self.state.lock();
            state.appending = None;
            match written {
                Ok(Written { offsets, next_offset }) if state.incarnation == incarnation => {
                    let appended = taken.into_iter().zip(offsets).map(|(queued, offset)| {
                        let Queued { number, persist } = queued;
                        Appended { number, offset, next_offset, persist }
                    });
                    state.appended.extend(appended);
                    if can_wait && state.sync_at.is_none() {
                        let sync_at = self.clock.now().monotonic.after(UNHURRIED_FOR);
                        state.sync_at = Some(sync_at);
                        self.alarm.ring_at(sync_at);
                    }
                    drop(state);
                    self.settle_when_durable(incarnation, next_offset);
                }
                Err(WriteError::Append(ref error)) if state.incarnation == incarnation && is_refusal(error) => {
                    let outbox = state.refuse(taken, refusal(error), self.clock.now());
                    drop(state);
                    self.finish(outbox);
                }
                // It failed now, or something else did while this was being written.
                Ok(_) | Err(_) => {
                    let outbox = state.give_up(taken, self.clock.now());
                    drop(state);
                    if let Err(error) = written {
                        let (topic, partition) = (self.partition.topic(), self.partition.index());
                        let source = std::error::Error::source(&error).map(ToString::to_string);
                        tracing::error!(%topic, partition, %error, source, "what is in this partition is read again");
                    }
                    self.finish(outbox);
                    self.load_when_settled();
                    return;
                }
            }
        }
    }

    fn settle_when_durable(self: &Arc<Self>, incarnation: Incarnation, next_offset: i64) {
        let shard = Arc::clone(self);
        let settle = move |result: Result<(), AppendError>| match result {
            Ok(()) => shard.settled(incarnation, next_offset),
            Err(_) => shard.failed(incarnation),
        };
        self.partition.when_durable(next_offset, Box::new(settle));
    }

    fn settled(self: &Arc<Self>, incarnation: Incarnation, next_offset: i64) {
        let outbox = {
            let mut state = self.state.lock();
            if state.incarnation != incarnation {
                return;
            }
            state.settle(next_offset, self.clock.now())
        };
        self.finish(outbox);
    }

    /// A sync failed. Whoever is appending just now starts the reading instead, so that it misses nothing.
    fn failed(self: &Arc<Self>, incarnation: Incarnation) {
        let (outbox, is_appending) = {
            let mut state = self.state.lock();
            if state.incarnation != incarnation {
                return;
            }
            (state.give_up(Vec::new(), self.clock.now()), state.appending.is_some())
        };
        self.finish(outbox);
        if !is_appending {
            self.load_when_settled();
        }
    }
}

/// Whether it is their producer for whose sake records were refused.
fn is_refusal(error: &AppendError) -> bool {
    matches!(error, AppendError::Sequence(_) | AppendError::TransactionEnded)
}

/// What those are told who asked for it; CONCURRENT_TRANSACTIONS when the transaction's coordinator is to be asked again.
fn refusal(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::TransactionEnded => ErrorCode::ConcurrentTransactions,
        _ => ErrorCode::InvalidProducerEpoch,
    }
}

/// Writes records as one batch.
fn write<S: Shard>(partition: &Arc<Partition>, taken: &[Queued<S>], can_wait: bool) -> Result<Written, WriteError> {
    let timestamp = crate::clock::now_ms();
    let mut builder = BatchBuilder::new(Compression::None);
    let mut places = Vec::with_capacity(taken.len());
    for queued in taken {
        places.push(builder.count());
        queued.persist.encode(&mut |record: Record| builder.push(&Record { timestamp, ..record }))?;
    }
    // All are of one producer; of their guards the first is the oldest.
    let producer = taken.first().and_then(|queued| queued.persist.producer());
    let guard = taken.first().and_then(|queued| queued.persist.guard());
    let batch = builder.build(producer)?;
    let header = BatchHeader::parse(&batch)?;
    let appended = match producer {
        Some(_) => partition.append_in_transaction(&batch, header, guard)?,
        None if can_wait => partition.append_unhurried(&batch, header)?,
        None => partition.append(&batch, header)?,
    };
    let offsets = places.into_iter().map(|place| appended.base_offset + i64::from(place)).collect();
    Ok(Written { offsets, next_offset: appended.next_offset })
}
