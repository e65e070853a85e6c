//! Record batches made before the clock runs, so that sending one costs no more than copying it into a socket.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bytes::Bytes;
use pillion_wire::frame::encode_request;
use pillion_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use pillion_wire::records::{BatchBuilder, BatchProducer, Compression, Record};
use pillion_wire::{Chunk, Records};

use crate::connection::{CLIENT_ID, PRODUCE_VERSION};

/// Bytes of batches that a load goes round: they stay in the processor's cache.
const POOL_BYTES: usize = 2 << 20;
/// Batches that a load goes round at most.
const POOL_BATCHES_MAX: usize = 64;
/// Where the correlation id stands in a request, behind its length, API key and version.
const CORRELATION_ID_AT: std::ops::Range<usize> = 8..12;

/// What a batch holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchShape {
    /// Records in it.
    pub(crate) records: u32,
    /// Random bytes of each record's value; there are no keys.
    pub(crate) value_bytes: usize,
}

impl BatchShape {
    /// One batch, uncompressed, by a producer without an id.
    pub(crate) fn build(self) -> Result<Bytes> {
        self.build_by(None)
    }

    /// One batch, uncompressed, by this producer.
    pub(crate) fn build_by(self, producer: Option<BatchProducer>) -> Result<Bytes> {
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
        let mut builder = BatchBuilder::new(Compression::None);
        for _ in 0..self.records {
            let mut value = vec![0; self.value_bytes];
            rand::fill(&mut value[..]);
            builder.push(&Record { value: Some(value.into()), timestamp, ..Record::default() });
        }
        Ok(builder.build(producer)?)
    }

    /// Different batches of the same size, few enough to stay in the processor's cache.
    pub(crate) fn pool(self) -> Result<Vec<Bytes>> {
        let first = self.build()?;
        let count = (POOL_BYTES / first.len()).clamp(2, POOL_BATCHES_MAX);
        let rest = (1..count).map(|_| self.build());
        std::iter::once(Ok(first)).chain(rest).collect()
    }
}

/// A produce request of one batch, encoded; only its correlation id is still to be set.
#[derive(Debug, Clone)]
pub(crate) struct ProduceFrame {
    parts: Vec<Bytes>,
}

impl ProduceFrame {
    /// The request that appends `batch` to one partition.
    pub(crate) fn new(topic: &str, partition: i32, acks: i16, batch: &Bytes) -> Result<Self> {
        let records = Some(Records::from(batch.clone()));
        let partition_data = vec![PartitionProduceData { index: partition, records }];
        let topic_data =
            vec![TopicProduceData { name: topic.to_owned(), partition_data, ..TopicProduceData::default() }];
        let request = ProduceRequest { acks, timeout_ms: 30_000, topic_data, ..ProduceRequest::default() };
        Ok(Self { parts: into_bytes(encode_request(&request, PRODUCE_VERSION, 0, Some(CLIENT_ID))?) })
    }

    /// The request's parts in sending order, under this correlation id.
    pub(crate) fn parts(&self, correlation_id: i32) -> impl Iterator<Item = Bytes> + '_ {
        let mut head = self.parts[0].to_vec();
        head[CORRELATION_ID_AT].copy_from_slice(&correlation_id.to_be_bytes());
        std::iter::once(Bytes::from(head)).chain(self.parts[1..].iter().cloned())
    }
}

/// What a produce request for one partition was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProduceAnswer {
    /// The request's.
    pub(crate) correlation_id: i32,
    /// The partition's number.
    pub(crate) partition: i32,
    /// Kafka error number; 0 means none.
    pub(crate) error_code: i16,
    /// The offset the batch's first record received.
    pub(crate) base_offset: i64,
}

impl ProduceAnswer {
    /// Reads the answer (version 9) to a request for one partition of a topic whose name has at most 126 bytes:
    /// then every field has its place. `None` when the frame is too short for it.
    ///
    /// ```text
    /// int32 correlation id | tags 0 | topics 2 | length + 1, name | partitions 2 | int32 | int16 error | int64 base offset
    /// ```
    pub(crate) fn parse(frame: &[u8], topic: &str) -> Option<Self> {
        let at = 8 + topic.len();
        let field = |from: usize, length: usize| frame.get(from..from + length);
        Some(Self {
            correlation_id: i32::from_be_bytes(field(0, 4)?.try_into().ok()?),
            partition: i32::from_be_bytes(field(at, 4)?.try_into().ok()?),
            error_code: i16::from_be_bytes(field(at + 4, 2)?.try_into().ok()?),
            base_offset: i64::from_be_bytes(field(at + 6, 8)?.try_into().ok()?),
        })
    }
}

/// The parts of a frame that is wholly in memory.
pub(crate) fn into_bytes(chunks: Vec<Chunk>) -> Vec<Bytes> {
    let bytes = chunks.into_iter().filter_map(|chunk| match chunk {
        Chunk::Bytes(bytes) => Some(bytes),
        Chunk::External { .. } => None,
    });
    bytes.collect()
}

#[cfg(test)]
mod tests;
