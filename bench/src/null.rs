//! A broker that answers Produce and stores nothing: what the load generator, the kernel and waking a core cost alone.
//!
//! A thread a connection reads each request into memory it has already, and answers. Everything else that the loads
//! ask before they measure is answered as if there were any topic with any partitions.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Args;
use pillion_wire::frame::{RequestHeader, encode_response};
use pillion_wire::messages::create_topics::CreatableTopicResult;
use pillion_wire::messages::delete_topics::DeletableTopicResult;
use pillion_wire::messages::list_offsets::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use pillion_wire::messages::produce::{PartitionProduceResponse, TopicProduceResponse};
use pillion_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest,
    DeleteTopicsResponse, ListOffsetsRequest, ListOffsetsResponse, ProduceRequest, ProduceResponse,
};
use pillion_wire::{ApiMessage, Message, Reader, Records};

use crate::batch::into_bytes;

/// Partitions that have an end offset of their own; higher numbers share them.
const PARTITIONS: usize = 64;
/// A request's size in bytes at most.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Answer Produce and store nothing
#[derive(Debug, Clone, Args)]
pub(crate) struct NullBroker {
    /// Listen here
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9199")]
    pub(crate) listen: String,
}

/// End offsets by partition.
type Ends = Arc<[AtomicI64; PARTITIONS]>;

impl NullBroker {
    /// Serves until the process ends.
    pub(crate) fn run(&self) -> Result<()> {
        let listener = TcpListener::bind(&self.listen).with_context(|| format!("cannot listen on {}", self.listen))?;
        println!("{}", listener.local_addr()?);
        let ends: Ends = Arc::new(std::array::from_fn(|_| AtomicI64::new(0)));
        loop {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            let ends = Arc::clone(&ends);
            thread::spawn(move || {
                // A client that goes away ends its thread; it says itself if it missed an answer.
                let _ = serve(stream, &ends);
            });
        }
    }
}

fn serve(mut stream: TcpStream, ends: &Ends) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > REQUEST_BYTES_MAX {
            bail!("a request of {length} bytes");
        }
        buffer.resize(length, 0);
        stream.read_exact(&mut buffer)?;
        // `Bytes` takes the memory over for the time of the decoding and gives it back.
        let frame = Bytes::from(buffer);
        let answer = answer(&frame, ends)?;
        buffer = frame.try_into_mut().map(Vec::from).unwrap_or_default();
        stream.write_all(&answer)?;
    }
}

fn answer(frame: &Bytes, ends: &Ends) -> Result<Vec<u8>> {
    let mut reader = Reader::new(frame);
    let header = RequestHeader::decode(&mut reader)?;
    match header.api_key {
        ProduceRequest::KEY => respond(&produce(&read(reader, &header)?, ends), &header),
        ListOffsetsRequest::KEY => respond(&list_offsets(&read(reader, &header)?, ends), &header),
        CreateTopicsRequest::KEY => respond(&create_topics(&read(reader, &header)?), &header),
        DeleteTopicsRequest::KEY => respond(&delete_topics(&read(reader, &header)?), &header),
        ApiVersionsRequest::KEY => respond(&ApiVersionsResponse::default(), &header),
        other => bail!("the null broker does not speak API {other}"),
    }
}

fn read<M: Message>(mut reader: Reader<'_>, header: &RequestHeader) -> Result<M> {
    if M::is_flexible(header.api_version) {
        RequestHeader::skip_tagged_fields(&mut reader)?;
    }
    Ok(M::read(&mut reader, header.api_version)?)
}

fn respond<M: ApiMessage>(response: &M, header: &RequestHeader) -> Result<Vec<u8>> {
    Ok(into_bytes(encode_response(response, header.api_version, header.correlation_id)?).concat())
}

fn produce(request: &ProduceRequest, ends: &Ends) -> ProduceResponse {
    let responses = request.topic_data.iter().map(|topic| {
        let partition_responses = topic.partition_data.iter().map(|data| PartitionProduceResponse {
            index: data.index,
            base_offset: end(ends, data.index).fetch_add(record_count(data.records.as_ref()), Ordering::Relaxed),
            ..PartitionProduceResponse::default()
        });
        let partition_responses = partition_responses.collect();
        TopicProduceResponse { name: topic.name.clone(), partition_responses, ..TopicProduceResponse::default() }
    });
    ProduceResponse { responses: responses.collect(), ..ProduceResponse::default() }
}

fn list_offsets(request: &ListOffsetsRequest, ends: &Ends) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| ListOffsetsPartitionResponse {
            partition_index: partition.partition_index,
            offset: end(ends, partition.partition_index).load(Ordering::Relaxed),
            ..ListOffsetsPartitionResponse::default()
        });
        ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect() }
    });
    ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() }
}

fn create_topics(request: &CreateTopicsRequest) -> CreateTopicsResponse {
    let created = |name: &str| CreatableTopicResult { name: name.to_owned(), ..CreatableTopicResult::default() };
    let topics = request.topics.iter().map(|topic| created(&topic.name)).collect();
    CreateTopicsResponse { topics, ..CreateTopicsResponse::default() }
}

fn delete_topics(request: &DeleteTopicsRequest) -> DeleteTopicsResponse {
    let deleted = |name: &String| DeletableTopicResult { name: Some(name.clone()), ..DeletableTopicResult::default() };
    let responses = request.topic_names.iter().map(deleted).collect();
    DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() }
}

fn end(ends: &Ends, partition: i32) -> &AtomicI64 {
    &ends[partition.unsigned_abs() as usize % PARTITIONS]
}

/// Records of a batch: its last offset delta stands at byte 23.
fn record_count(records: Option<&Records>) -> i64 {
    let Some(Records::Bytes(batch)) = records else { return 0 };
    let delta = batch.get(23..27).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    delta.map_or(0, |delta| i64::from(delta) + 1)
}
