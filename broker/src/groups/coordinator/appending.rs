//! From a shard's queue into the log, and back when it is durable, or when it never will be.

use std::sync::Arc;

use pillion_wire::EncodeError;
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record, RecordsError};
use thiserror::Error;

use super::super::action::Persist;
use super::super::record_codec;
use super::hosted_shard::HostedShard;
use super::shard_state::Outbox;
use crate::partition::{AppendError, Partition};

/// Why records did not get into the log.
#[derive(Debug, Error)]
enum WriteError {
    /// A value does not fit its field; requests are checked for that before.
    #[error("cannot encode a group's record")]
    Encode(#[from] EncodeError),
    /// The batch could not be built.
    #[error("cannot build a batch")]
    Batch(#[from] RecordsError),
    /// The partition did not take it.
    #[error("cannot append")]
    Append(#[from] AppendError),
}

impl HostedShard {
    /// Does what was left to be done. Appends come first, so that a sync thread is at work while answers are sent.
    pub(super) fn finish(self: &Arc<Self>, outbox: Outbox) {
        if outbox.has_queued {
            if self.partition.is_slow() {
                let shard = Arc::clone(self);
                self.runtime.spawn_blocking(move || shard.append_queued());
            } else {
                self.append_queued();
            }
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
                if state.is_appending || state.queued.is_empty() {
                    return;
                }
                state.is_appending = true;
                (state.take_queued(), state.incarnation)
            };
            let written = write(&self.partition, &taken);
            if let Err(error) = &written {
                let partition = self.partition.index();
                let source = std::error::Error::source(error).map(ToString::to_string);
                tracing::error!(partition, %error, source, "groups of this partition are read again from the log");
            }
            let mut state = self.state.lock();
            state.is_appending = false;
            match written {
                Ok(next_offset) if state.incarnation == incarnation => {
                    let appended = taken.into_iter().map(|(number, persist)| (number, next_offset, persist));
                    state.appended.extend(appended);
                    drop(state);
                    let shard = Arc::clone(self);
                    let settle = move |result: Result<(), AppendError>| match result {
                        Ok(()) => shard.settled(incarnation, next_offset),
                        Err(_) => shard.failed(incarnation),
                    };
                    self.partition.when_durable(next_offset, Box::new(settle));
                }
                // It failed now, or something else did while this was being written.
                Ok(_) | Err(_) => {
                    let outbox = state.give_up(taken, self.clock.now());
                    drop(state);
                    self.finish(outbox);
                    self.load_when_settled();
                    return;
                }
            }
        }
    }

    fn settled(self: &Arc<Self>, incarnation: u64, next_offset: i64) {
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
    fn failed(self: &Arc<Self>, incarnation: u64) {
        let (outbox, is_appending) = {
            let mut state = self.state.lock();
            if state.incarnation != incarnation {
                return;
            }
            (state.give_up(Vec::new(), self.clock.now()), state.is_appending)
        };
        self.finish(outbox);
        if !is_appending {
            self.load_when_settled();
        }
    }
}

/// Writes records as one batch; answers the offset behind it.
fn write(partition: &Arc<Partition>, taken: &[(u64, Persist)]) -> Result<i64, WriteError> {
    let timestamp = crate::clock::now_ms();
    let mut builder = BatchBuilder::new(Compression::None);
    for record in taken.iter().flat_map(|(_, persist)| &persist.records) {
        let encoded = record_codec::encode(record)?;
        let (key, value) = (Some(encoded.key), encoded.value);
        builder.push(&Record { timestamp, key, value, ..Record::default() });
    }
    let batch = builder.build(None)?;
    let header = BatchHeader::parse(&batch)?;
    Ok(partition.append(&batch, header)?.next_offset)
}
