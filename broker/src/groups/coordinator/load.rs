//! A shard read from its partition: at start, and after a failed append.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, RecordsError, read_batch};
use thiserror::Error;

use super::super::moment::Moment;
use super::super::record_codec::{self, DecodedRecord};
use super::super::shard::GroupShard;
use super::hosted_shard::HostedShard;
use super::shard_state::Phase;
use crate::log::{LogError, ReadFrom};
use crate::partition::{Isolation, Partition};

/// Bytes read at once, unless a batch is larger.
const READ_BYTES: usize = 1024 * 1024;

/// Why a partition of `__consumer_offsets` cannot be read.
#[derive(Debug, Error)]
enum LoadError {
    /// The log cannot be read.
    #[error("cannot read the log")]
    Log(#[from] LogError),
    /// The file cannot be read.
    #[error("cannot read a segment")]
    Segment(#[from] std::io::Error),
    /// A batch is damaged.
    #[error("a batch is damaged")]
    Batch(#[from] RecordsError),
}

impl HostedShard {
    /// Reads the shard once all that was appended is durable, or never will be.
    pub(super) fn load_when_settled(self: &Arc<Self>) {
        let shard = Arc::clone(self);
        let load = move |_| {
            let runtime = shard.runtime.clone();
            runtime.spawn_blocking(move || shard.load());
        };
        self.partition.when_durable(self.partition.offsets().log_end_offset, Box::new(load));
    }

    /// Reads the shard and begins to serve. Blocks.
    pub(super) fn load(self: &Arc<Self>) {
        let incarnation = self.state.lock().incarnation;
        let now = self.clock.now();
        let mut core = GroupShard::new(Arc::clone(&self.limits));
        let loaded = replay(&self.partition, &mut core, now);
        let outbox = {
            let mut state = self.state.lock();
            if state.incarnation != incarnation || state.phase != Phase::Loading {
                return;
            }
            if let Err(error) = loaded {
                let partition = self.partition.index();
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(
                    partition, %error, source,
                    "cannot read __consumer_offsets: its groups are not served; look at the disk, then restart the broker"
                );
                state.phase = Phase::Unreadable;
                return;
            }
            let mut actions = Vec::new();
            core.loaded(self.clock.now(), &mut actions);
            state.core = core;
            state.phase = Phase::Serving;
            state.take_in(actions)
        };
        self.finish(outbox);
    }
}

/// Applies every record below the high watermark.
fn replay(partition: &Partition, core: &mut GroupShard, now: Moment) -> Result<(), LoadError> {
    let offsets = partition.offsets();
    let mut offset = offsets.log_start_offset;
    while offset < offsets.high_watermark {
        let Some(slice) = partition.read(offset, READ_BYTES, ReadFrom::Disk, Isolation::ReadUncommitted)? else {
            break;
        };
        let mut bytes = vec![0; slice.length];
        let read = slice.file.read_at(slice.position, &mut bytes)?;
        bytes.truncate(read);
        let bytes = Bytes::from(bytes);
        let mut position = 0;
        // The last batch may be cut, but never the first.
        while let Some(header) = whole_batch_at(&bytes, position, position == 0)? {
            let next = position + header.size();
            if !header.is_control() {
                apply(partition, core, &bytes.slice(position..next), now)?;
            }
            offset = header.next_offset();
            position = next;
        }
    }
    Ok(())
}

fn whole_batch_at(bytes: &Bytes, position: usize, is_first: bool) -> Result<Option<BatchHeader>, RecordsError> {
    match BatchHeader::parse(&bytes[position..]) {
        Ok(header) if position + header.size() <= bytes.len() => Ok(Some(header)),
        Err(error) if is_first => Err(error),
        Ok(header) if is_first => Err(RecordsError::Truncated { needed: header.size(), left: bytes.len() - position }),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn apply(partition: &Partition, core: &mut GroupShard, batch: &Bytes, now: Moment) -> Result<(), RecordsError> {
    let (_, records) = read_batch(batch)?;
    for record in records {
        let Some(key) = &record.key else { continue };
        match record_codec::decode(key, record.value.as_ref()) {
            Ok(DecodedRecord::Known(known)) => core.replay(known, now),
            Ok(DecodedRecord::Unknown { kind }) => tracing::warn!(
                partition = partition.index(),
                offset = record.offset,
                kind,
                "a record of __consumer_offsets is of a kind this broker does not know: passed over"
            ),
            Err(error) => tracing::error!(
                partition = partition.index(), offset = record.offset, %error,
                "a record of __consumer_offsets does not follow its format: passed over"
            ),
        }
    }
    Ok(())
}
