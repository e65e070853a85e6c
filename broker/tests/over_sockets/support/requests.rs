//! The requests most tests make, in a version that has all they need.

use bytes::Bytes;
use pillion_wire::Records;
use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use pillion_wire::messages::fetch::{FetchPartition, FetchTopic, PartitionData};
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopic};
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::produce::{PartitionProduceData, PartitionProduceResponse, TopicProduceData};
use pillion_wire::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, FetchRequest, InitProducerIdRequest, ListOffsetsRequest, MetadataRequest,
    MetadataResponse, ProduceRequest,
};
use pillion_wire::records::Record;
use uuid::Uuid;

use super::{Client, records_of};

/// Makes a topic; answers its id.
pub(crate) fn create_topic(client: &mut Client, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Uuid {
    let config =
        |(key, value): &(&str, &str)| CreatableTopicConfig { name: (*key).into(), value: Some((*value).into()) };
    let topic = CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: 1,
        configs: configs.iter().map(config).collect(),
        ..CreatableTopic::default()
    };
    let response = client.call(&CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() }, 7);
    assert_eq!(response.topics[0].error_code, 0, "{name}: {:?}", response.topics[0].error_message);
    response.topics[0].topic_id
}

/// Deletes a topic.
pub(crate) fn delete_topic(client: &mut Client, name: &str) {
    let request = DeleteTopicsRequest { topic_names: vec![name.to_owned()], ..DeleteTopicsRequest::default() };
    assert_eq!(client.call(&request, 5).responses[0].error_code, 0);
}

/// Metadata of these topics, which are not made by asking.
pub(crate) fn metadata(client: &mut Client, topics: &[&str]) -> MetadataResponse {
    let topic = |name: &&str| MetadataRequestTopic { name: Some((*name).to_owned()), topic_id: Uuid::nil() };
    let topics = Some(topics.iter().map(topic).collect());
    client.call(&MetadataRequest { topics, allow_auto_topic_creation: false, ..MetadataRequest::default() }, 12)
}

/// A produce of one batch, or of what a test takes for one, to be acknowledged when it is durable.
pub(crate) fn produce_request(topic: &str, partition: i32, records: impl Into<Option<Bytes>>) -> ProduceRequest {
    let records: Option<Bytes> = records.into();
    let data = PartitionProduceData { index: partition, records: records.map(Records::Bytes) };
    let topic = TopicProduceData { name: topic.to_owned(), partition_data: vec![data], ..TopicProduceData::default() };
    ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data: vec![topic], transactional_id: None }
}

/// Produces one batch and waits until it is durable.
pub(crate) fn produce(
    client: &mut Client,
    topic: &str,
    partition: i32,
    records: impl Into<Option<Bytes>>,
) -> PartitionProduceResponse {
    produce_with(client, &produce_request(topic, partition, records), 12)
}

/// The answer for the only partition of a produce.
pub(crate) fn produce_with(client: &mut Client, request: &ProduceRequest, version: i16) -> PartitionProduceResponse {
    let mut response = client.call(request, version);
    response.responses.remove(0).partition_responses.remove(0)
}

/// A fetch of one partition that does not wait.
pub(crate) fn fetch_request(topic: &str, partition: i32, offset: i64) -> FetchRequest {
    let partition =
        FetchPartition { partition, fetch_offset: offset, partition_max_bytes: 8 << 20, ..FetchPartition::default() };
    let topic = FetchTopic { topic: topic.to_owned(), partitions: vec![partition], ..FetchTopic::default() };
    FetchRequest { max_wait_ms: 0, min_bytes: 1, topics: vec![topic], ..FetchRequest::default() }
}

/// An id for an idempotent producer.
pub(crate) fn producer_id(client: &mut Client) -> i64 {
    let request = InitProducerIdRequest { transactional_id: None, ..InitProducerIdRequest::default() };
    let response = client.call(&request, 4);
    assert_eq!(response.error_code, 0);
    response.producer_id
}

/// What a fetch said of a partition.
pub(crate) trait Fetched {
    /// Its record bytes.
    fn bytes(&self) -> Bytes;
}

impl Fetched for PartitionData {
    fn bytes(&self) -> Bytes {
        match &self.records {
            Some(Records::Bytes(bytes)) => bytes.clone(),
            _ => Bytes::new(),
        }
    }
}

/// Fetches from one partition without waiting.
pub(crate) fn fetch(client: &mut Client, topic: &str, partition: i32, offset: i64) -> PartitionData {
    let mut response = client.call(&fetch_request(topic, partition, offset), 12);
    response.responses.remove(0).partitions.remove(0)
}

/// Every record of a partition up to its high watermark.
pub(crate) fn read_all(client: &mut Client, topic: &str, partition: i32) -> Vec<Record> {
    let mut records = Vec::new();
    let mut offset = list_offset(client, topic, partition, -2).offset;
    loop {
        let fetched = fetch(client, topic, partition, offset);
        assert_eq!(fetched.error_code, 0, "fetch of {topic}-{partition} at {offset}");
        if offset == fetched.high_watermark {
            return records;
        }
        records.extend(records_of(&fetched.bytes(), offset));
        let next = records.last().map_or(offset, |record| record.offset + 1);
        assert!(next > offset, "nothing at {offset} below the high watermark {}", fetched.high_watermark);
        offset = next;
    }
}

/// What ListOffsets says of a timestamp or one of its special numbers.
pub(crate) fn list_offset(
    client: &mut Client,
    topic: &str,
    partition: i32,
    timestamp: i64,
) -> ListOffsetsPartitionResponse {
    let partition = ListOffsetsPartition { partition_index: partition, timestamp, ..ListOffsetsPartition::default() };
    let topics = vec![ListOffsetsTopic { name: topic.to_owned(), partitions: vec![partition] }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
    client.call(&request, 11).topics.remove(0).partitions.remove(0)
}
