//! What a fetch finds: for each partition an error, nothing, or a range of a segment file.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::FetchRequest;
use pillion_wire::messages::fetch::{
    EpochEndOffset, FetchPartition, FetchTopic, FetchableTopicResponse, PartitionData,
};

use crate::broker::BrokerState;
use crate::catalogue::{Topic, TopicsSnapshot};
use crate::handlers::leader_epoch::check_leader_epoch;
use crate::log::{LogError, LogSlice, ReadFrom};
use crate::partition::{Isolation, Partition};

const READ_COMMITTED: i8 = 1;

/// A fetch's answer before the bytes are read.
pub(super) struct Evaluation {
    pub(super) topics: Vec<FetchableTopicResponse>,
    /// What partitions send, in the order of the response.
    pub(super) slices: Vec<(usize, usize, LogSlice)>,
    /// Bytes in the slices.
    bytes: usize,
    /// Something that the client should hear of at once.
    urgent: bool,
    /// Something was not in memory.
    pub(super) not_cached: bool,
}

impl Evaluation {
    /// Whether it may be answered before its deadline.
    pub(super) fn is_enough(&self, bytes_min: i32) -> bool {
        self.urgent || self.not_cached || self.topics.is_empty() || self.bytes as i64 >= i64::from(bytes_min)
    }
}

/// Looks at every partition asked for, in order, until `max_bytes` are found. The first batch found is whole.
pub(super) fn evaluate(broker: &BrokerState, request: &FetchRequest, version: i16, from: ReadFrom) -> Evaluation {
    let topics = broker.topics.snapshot();
    let mut evaluation = Evaluation {
        topics: Vec::with_capacity(request.topics.len()),
        slices: Vec::new(),
        bytes: 0,
        urgent: false,
        not_cached: false,
    };
    for asked in &request.topics {
        let topic = find_topic(&topics, asked);
        let partitions = Vec::with_capacity(asked.partitions.len());
        let response = FetchableTopicResponse { topic: asked.topic.clone(), topic_id: asked.topic_id, partitions };
        evaluation.topics.push(response);
        for partition in &asked.partitions {
            evaluation.add(broker, request, topic, version, partition, from);
        }
    }
    evaluation
}

/// The topic asked for, by id from version 13.
pub(super) fn find_topic<'a>(topics: &'a TopicsSnapshot, asked: &FetchTopic) -> Option<&'a Arc<Topic>> {
    if asked.topic_id.is_nil() { topics.by_name(&asked.topic) } else { topics.by_id(&asked.topic_id) }
}

impl Evaluation {
    fn add(
        &mut self,
        broker: &BrokerState,
        request: &FetchRequest,
        topic: Option<&Arc<Topic>>,
        version: i16,
        asked: &FetchPartition,
        from: ReadFrom,
    ) {
        let unknown = if version >= 13 { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        let held = match topic {
            None => Err(unknown),
            Some(topic) => topic.partition(asked.partition).ok_or(ErrorCode::UnknownTopicOrPartition),
        };
        let held =
            held.and_then(|held| check_leader_epoch(asked.current_leader_epoch, broker.leader_epoch()).map(|()| held));
        let data = match held {
            Ok(held) => self.read(request, held, asked, from),
            Err(code) => {
                self.urgent = true;
                failed(asked.partition, code)
            }
        };
        if let Some(response) = self.topics.last_mut() {
            response.partitions.push(data);
        }
    }

    fn read(
        &mut self,
        request: &FetchRequest,
        held: &Partition,
        asked: &FetchPartition,
        from: ReadFrom,
    ) -> PartitionData {
        let offsets = held.offsets();
        let mut data = PartitionData {
            partition_index: asked.partition,
            high_watermark: offsets.high_watermark,
            last_stable_offset: offsets.last_stable_offset,
            log_start_offset: offsets.log_start_offset,
            // Transactions are not written yet, so none are aborted; null means that the client did not ask.
            aborted_transactions: (request.isolation_level == READ_COMMITTED).then(Vec::new),
            records: Some(bytes::Bytes::new().into()),
            ..PartitionData::default()
        };
        if let Some(diverging) = diverging_epoch(held, asked) {
            self.urgent = true;
            data.diverging_epoch = diverging;
            return data;
        }
        let isolation = match request.isolation_level {
            READ_COMMITTED => Isolation::ReadCommitted,
            _ => Isolation::ReadUncommitted,
        };
        let left = usize::try_from(request.max_bytes).unwrap_or(0).saturating_sub(self.bytes);
        let limit = usize::try_from(asked.partition_max_bytes).unwrap_or(0).min(left);
        match held.read(asked.fetch_offset, limit, from, isolation) {
            // Only the first batch of an answer may be larger than what is left.
            Ok(Some(slice)) if slice.length <= left || self.slices.is_empty() => {
                self.bytes += slice.length;
                let (topic, place) =
                    (self.topics.len() - 1, self.topics.last().map_or(0, |topic| topic.partitions.len()));
                self.slices.push((topic, place, slice));
            }
            Ok(_) => {}
            Err(LogError::NotCached) => self.not_cached = true,
            Err(error) => {
                self.urgent = true;
                if !matches!(error, LogError::OffsetOutOfRange { .. }) {
                    tracing::error!(topic = %held.topic(), partition = held.index(), %error, "cannot read a log");
                }
                data.error_code = ErrorCode::from(&error).code();
                data.records = None;
            }
        }
        data
    }
}

/// Where the reader's history parts from the log's, if it says what it read last (KIP-595).
fn diverging_epoch(held: &Partition, asked: &FetchPartition) -> Option<EpochEndOffset> {
    if asked.last_fetched_epoch < 0 {
        return None;
    }
    let (epoch, end_offset) = held.end_of_epoch(asked.last_fetched_epoch).unwrap_or((-1, 0));
    let diverges = epoch < asked.last_fetched_epoch || end_offset < asked.fetch_offset;
    diverges.then_some(EpochEndOffset { epoch, end_offset })
}

fn failed(partition_index: i32, code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index,
        error_code: code.code(),
        high_watermark: -1,
        aborted_transactions: None,
        records: None,
        ..PartitionData::default()
    }
}
