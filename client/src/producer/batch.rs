//! A batch of records of one partition, from its first record to its fate. Pure.

use std::time::Instant;

use bytes::Bytes;
use pillion_wire::records::{
    BatchBuilder, BatchProducer, Compression, Record, RecordsError, advance_sequence, read_batch,
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::ProduceError;

/// Tells a record's fate, its partition and offset, where somebody wants to know.
pub(super) type Delivery = Option<oneshot::Sender<Result<(i32, i64), ProduceError>>>;

/// A record on its way into a batch.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) record: Record,
    pub(super) partition: Option<i32>,
    /// The transaction it belongs to; 0 outside transactions.
    pub(super) transaction: u64,
    /// What it adds to a batch at most.
    pub(super) bytes: usize,
    pub(super) delivery: Delivery,
    /// Its share of the buffer memory, given back on drop.
    pub(super) memory: Option<OwnedSemaphorePermit>,
    pub(super) queued: Instant,
    pub(super) deadline: Instant,
    /// Held until its fate is known: what a flush waits for.
    pub(super) unsettled: TaskTrackerToken,
}

impl Pending {
    /// Tells that it will not be sent.
    pub(super) fn refuse(self, error: ProduceError) {
        if let Some(delivery) = self.delivery {
            // A record nobody waits for has a fate all the same.
            let _ = delivery.send(Err(error));
        }
    }
}

/// Records of one partition that travel together.
#[derive(Debug)]
pub(super) struct Batch {
    /// Place of its first record among all records of its partition: the order batches are kept in.
    pub(super) order: u64,
    /// The transaction its records belong to; 0 outside transactions.
    pub(super) transaction: u64,
    /// What it takes before compression at most.
    pub(super) bytes: usize,
    /// Its place in the producer's sequence; `None` until it is first sent, and after its sequence was given up.
    pub(super) stamp: Option<BatchProducer>,
    /// Attempts that have failed.
    pub(super) failures: u32,
    /// Whether one of them may have put it into the log.
    pub(super) may_be_written: bool,
    pub(super) last_failure: Option<String>,
    pub(super) queued: Instant,
    pub(super) deadline: Instant,
    compression: Compression,
    /// Takes no more records although it is not encoded.
    sealed: bool,
    content: Content,
    deliveries: Vec<Delivery>,
    memory: Option<OwnedSemaphorePermit>,
    unsettled: TaskTrackerToken,
}

#[derive(Debug)]
enum Content {
    /// Not encoded yet.
    Open(BatchBuilder),
    /// Encoded with this stamp.
    Built(Bytes, Option<BatchProducer>),
}

impl Batch {
    /// A batch of one record.
    pub(super) fn new(order: u64, compression: Compression, first: Pending) -> Self {
        let mut builder = BatchBuilder::new(compression);
        builder.push(&first.record);
        Self {
            order,
            transaction: first.transaction,
            bytes: builder.bytes_max(),
            stamp: None,
            failures: 0,
            may_be_written: false,
            last_failure: None,
            queued: first.queued,
            deadline: first.deadline,
            compression,
            sealed: false,
            content: Content::Open(builder),
            deliveries: vec![first.delivery],
            memory: first.memory,
            unsettled: first.unsettled,
        }
    }

    /// Records in it.
    pub(super) fn count(&self) -> i32 {
        self.deliveries.len() as i32
    }

    /// Whether it takes a record of `bytes` of a transaction without growing beyond `limit`.
    pub(super) fn has_room(&self, transaction: u64, bytes: usize, limit: usize) -> bool {
        let open = matches!(self.content, Content::Open(_)) && !self.sealed;
        open && self.transaction == transaction && self.bytes + bytes <= limit
    }

    /// Adds a record behind the others; [`Batch::has_room`] said yes.
    pub(super) fn push(&mut self, pending: Pending) {
        if let Content::Open(builder) = &mut self.content {
            builder.push(&pending.record);
            self.bytes = builder.bytes_max();
        }
        match (&mut self.memory, pending.memory) {
            (Some(memory), Some(more)) => memory.merge(more),
            (memory, more) => *memory = memory.take().or(more),
        }
        self.deliveries.push(pending.delivery);
    }

    /// The encoded batch; encodes it when it is new or its stamp has changed.
    pub(super) fn encode(&mut self) -> Result<Bytes, RecordsError> {
        let builder = match &mut self.content {
            Content::Built(bytes, stamp) if *stamp == self.stamp => return Ok(bytes.clone()),
            Content::Built(bytes, _) => rebuild(self.compression, &read_batch(bytes)?.1),
            Content::Open(builder) => std::mem::replace(builder, BatchBuilder::new(self.compression)),
        };
        let bytes = builder.build(self.stamp)?;
        self.content = Content::Built(bytes.clone(), self.stamp);
        Ok(bytes)
    }

    /// Two batches in its place, which together hold its sequence numbers; it has two or more records.
    ///
    /// The error gives it back, when what was encoded cannot be read.
    pub(super) fn split(mut self) -> Result<(Self, Self), Box<(Self, RecordsError)>> {
        let mut records = match self.encode().and_then(|bytes| read_batch(&bytes)) {
            Ok((_, records)) => records,
            Err(error) => return Err(Box::new((self, error))),
        };
        let first_count = records.len() / 2;
        let (first_half, second_half) = {
            let second_records = records.split_off(first_count);
            (rebuild(self.compression, &records), rebuild(self.compression, &second_records))
        };
        let second_sequence = |stamp: BatchProducer| advance_sequence(stamp.base_sequence, first_count as i32);
        let second = Self {
            order: self.order + first_count as u64,
            bytes: second_half.bytes_max(),
            stamp: self.stamp.map(|stamp| BatchProducer { base_sequence: second_sequence(stamp), ..stamp }),
            last_failure: self.last_failure.clone(),
            sealed: true,
            content: Content::Open(second_half),
            deliveries: self.deliveries.split_off(first_count),
            memory: self.memory.as_mut().and_then(|memory| memory.split(memory.num_permits() / 2)),
            unsettled: self.unsettled.clone(),
            ..self
        };
        self.bytes = first_half.bytes_max();
        self.sealed = true;
        self.content = Content::Open(first_half);
        Ok((self, second))
    }

    /// Tells every record its fate; `Ok` holds the partition and the first record's offset, −1 when unknown.
    pub(super) fn settle(self, fate: Result<(i32, i64), ProduceError>) {
        for (index, delivery) in (0..).zip(self.deliveries) {
            let Some(delivery) = delivery else { continue };
            let fate = match &fate {
                Ok((partition, base_offset)) if *base_offset >= 0 => Ok((*partition, base_offset + index)),
                other => other.clone(),
            };
            // A record nobody waits for has a fate all the same.
            let _ = delivery.send(fate);
        }
    }
}

fn rebuild(compression: Compression, records: &[Record]) -> BatchBuilder {
    let mut builder = BatchBuilder::new(compression);
    for record in records {
        builder.push(record);
    }
    builder
}
