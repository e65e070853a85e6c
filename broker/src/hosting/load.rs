//! A shard read from its partition: at start, and after a failed append.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, RecordsError, read_batch, read_marker};
use thiserror::Error;

use super::Shard;
use super::hosted::Hosted;
use super::moment::Moment;
use super::state::Phase;
use crate::log::{LogError, ReadFrom};
use crate::partition::{Isolation, Partition};

/// Bytes read at once, unless a batch is larger.
const READ_BYTES: usize = 1024 * 1024;

/// Why a partition cannot be read.
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

impl<S: Shard> Hosted<S> {
    /// Reads the shard once all that was appended is durable, or never will be; a while later if that fails again and
    /// again.
    pub(super) fn load_when_settled(self: &Arc<Self>) {
        let shard = Arc::clone(self);
        let load = move |_| {
            let (runtime, pause) = (shard.runtime.clone(), shard.state.lock().pause());
            runtime.spawn(async move {
                tokio::time::sleep(pause).await;
                tokio::task::spawn_blocking(move || shard.load());
            });
        };
        self.partition.when_durable(self.partition.offsets().log_end_offset, Box::new(load));
    }

    /// Reads the shard and begins to serve. Blocks.
    pub(super) fn load(self: &Arc<Self>) {
        let incarnation = self.state.lock().incarnation;
        let mut core = S::new(Arc::clone(&self.limits));
        let mut reached = self.partition.offsets().log_start_offset;
        let outbox = loop {
            let loaded = replay(&self.partition, &mut core, reached, self.clock.now());
            let mut state = self.state.lock();
            if state.incarnation != incarnation || state.phase != Phase::Loading {
                return;
            }
            match loaded {
                // Markers are written by others: whoever is told of one from here on finds the shard serving.
                Ok(end) if self.partition.offsets().high_watermark > end && end > reached => reached = end,
                Ok(_) if !S::SERVES_OFFLINE && self.partition.is_closed() => {
                    let (topic, partition) = (self.partition.topic(), self.partition.index());
                    tracing::error!(
                        %topic, partition,
                        "this partition takes no more records: what it holds is not served; look at the disk, then restart the broker"
                    );
                    state.phase = Phase::Unreadable;
                    return;
                }
                Ok(_) => {
                    let mut actions = Vec::new();
                    core.loaded(self.clock.now(), &mut actions);
                    state.core = core;
                    state.phase = Phase::Serving;
                    break state.take_in(actions);
                }
                Err(error) => {
                    let (topic, partition) = (self.partition.topic(), self.partition.index());
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(
                        %topic, partition, %error, source,
                        "cannot read this partition: what it holds is not served; look at the disk, then restart the broker"
                    );
                    state.phase = Phase::Unreadable;
                    return;
                }
            }
        };
        self.finish(outbox);
    }
}

/// Applies every record from `offset` on below the high watermark; answers how far it came.
fn replay<S: Shard>(partition: &Partition, core: &mut S, mut offset: i64, now: Moment) -> Result<i64, LoadError> {
    let high_watermark = partition.offsets().high_watermark;
    while offset < high_watermark {
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
            apply(partition, core, &header, &bytes.slice(position..next), now)?;
            offset = header.next_offset();
            position = next;
        }
    }
    Ok(offset)
}

fn whole_batch_at(bytes: &Bytes, position: usize, is_first: bool) -> Result<Option<BatchHeader>, RecordsError> {
    match BatchHeader::parse(&bytes[position..]) {
        Ok(header) if position + header.size() <= bytes.len() => Ok(Some(header)),
        Err(error) if is_first => Err(error),
        Ok(header) if is_first => Err(RecordsError::Truncated { needed: header.size(), left: bytes.len() - position }),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn apply<S: Shard>(
    partition: &Partition,
    core: &mut S,
    header: &BatchHeader,
    batch: &Bytes,
    now: Moment,
) -> Result<(), RecordsError> {
    if header.is_control() {
        if let Some(marker) = read_marker(batch)? {
            core.replay_marker(header, marker);
        }
        return Ok(());
    }
    let (_, records) = read_batch(batch)?;
    for record in records {
        if let Err(reason) = core.replay(header, &record, now) {
            let (topic, partition) = (partition.topic(), partition.index());
            tracing::warn!(%topic, partition, offset = record.offset, reason, "a record is passed over");
        }
    }
    Ok(())
}
