//! A connection that asks one thing at a time: for all that is not measured, and for topics.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use pillion_wire::frame::{decode_response, encode_request};
use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest, ListOffsetsRequest, MetadataRequest,
};
use pillion_wire::{ErrorCode, Request};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::batch::into_bytes;

/// How the load generator calls itself.
pub(crate) const CLIENT_ID: &str = "pillion-bench";
/// The version of Produce that is spoken: the last with topic names and without leaders in the answer.
pub(crate) const PRODUCE_VERSION: i16 = 9;
/// The version of Fetch that is spoken: the last with topic names.
pub(crate) const FETCH_VERSION: i16 = 12;
/// How long any answer may take; only a broken broker needs so long.
pub(crate) const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);
/// An answer's size in bytes at most.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A blocking connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    correlation_id: i32,
}

impl Connection {
    /// Connects to `HOST:PORT`.
    pub(crate) fn open(address: &str) -> Result<Self> {
        Ok(Self { stream: connect(address)?, correlation_id: 0 })
    }

    /// Goes on with a connection on which nothing is unanswered.
    pub(crate) fn over(stream: TcpStream) -> Self {
        Self { stream, correlation_id: 0 }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response> {
        self.correlation_id += 1;
        let frame = into_bytes(encode_request(request, version, self.correlation_id, Some(CLIENT_ID))?).concat();
        self.stream.write_all(&frame).with_context(|| format!("cannot send {}", R::API))?;
        let frame = self.read_frame().with_context(|| format!("{} was not answered", R::API))?;
        let (correlation_id, response) = decode_response(&frame, version)?;
        ensure!(correlation_id == self.correlation_id, "{} was answered out of order", R::API);
        Ok(response)
    }

    fn read_frame(&mut self) -> Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_be_bytes(length))?;
        ensure!(length <= ANSWER_BYTES_MAX, "an answer of {length} bytes");
        let mut frame = vec![0; length];
        self.stream.read_exact(&mut frame)?;
        Ok(frame.into())
    }

    /// Greets the broker, as every client does first.
    pub(crate) fn greet(&mut self) -> Result<()> {
        let request = ApiVersionsRequest {
            client_software_name: CLIENT_ID.to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ApiVersionsRequest::default()
        };
        let response = self.ask(&request, 3)?;
        ensure!(response.error_code == 0, "ApiVersions: {}", error_name(response.error_code));
        Ok(())
    }

    /// Creates a topic and waits until each of its partitions takes requests.
    pub(crate) fn create_topic(&mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Result<()> {
        let configs = configs
            .iter()
            .map(|(key, value)| CreatableTopicConfig { name: (*key).to_owned(), value: Some((*value).to_owned()) });
        let topic = CreatableTopic {
            name: name.to_owned(),
            num_partitions: partitions,
            replication_factor: 1,
            configs: configs.collect(),
            ..CreatableTopic::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 60_000, ..CreateTopicsRequest::default() };
        let response = self.ask(&request, 5)?;
        let result = response.topics.first().context("CreateTopics answered nothing")?;
        let message = result.error_message.as_deref().unwrap_or_default();
        ensure!(result.error_code == 0, "cannot create {name}: {} {message}", error_name(result.error_code));
        self.end_offsets(name, partitions).map(drop)
    }

    /// Deletes a topic.
    pub(crate) fn delete_topic(&mut self, name: &str) -> Result<()> {
        let request = DeleteTopicsRequest {
            topic_names: vec![name.to_owned()],
            timeout_ms: 60_000,
            ..DeleteTopicsRequest::default()
        };
        let response = self.ask(&request, 5)?;
        let code = response.responses.first().context("DeleteTopics answered nothing")?.error_code;
        ensure!(code == 0, "cannot delete {name}: {}", error_name(code));
        Ok(())
    }

    /// How many partitions a topic has.
    pub(crate) fn partitions(&mut self, topic: &str) -> Result<i32> {
        let name = MetadataRequestTopic { name: Some(topic.to_owned()), ..MetadataRequestTopic::default() };
        let request = MetadataRequest {
            topics: Some(vec![name]),
            allow_auto_topic_creation: false,
            ..MetadataRequest::default()
        };
        let response = self.ask(&request, 9)?;
        let topic = response.topics.first().context("Metadata answered nothing")?;
        ensure!(topic.error_code == 0, "the topic: {}", error_name(topic.error_code));
        Ok(topic.partitions.len() as i32)
    }

    /// The end offset of each partition; waits while a partition has no leader yet.
    pub(crate) fn end_offsets(&mut self, topic: &str, partitions: i32) -> Result<Vec<i64>> {
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            match self.try_end_offsets(topic, partitions)? {
                Ok(offsets) => return Ok(offsets),
                Err(code) if Instant::now() > deadline => bail!("the end offsets of {topic}: {}", error_name(code)),
                Err(_not_yet) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn try_end_offsets(&mut self, topic: &str, partitions: i32) -> Result<Result<Vec<i64>, i16>> {
        /// ListOffsets' timestamp that stands for the end.
        const LATEST: i64 = -1;
        let partitions = (0..partitions).map(|partition| ListOffsetsPartition {
            partition_index: partition,
            timestamp: LATEST,
            ..ListOffsetsPartition::default()
        });
        let topics = vec![ListOffsetsTopic { name: topic.to_owned(), partitions: partitions.collect() }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
        let mut response = self.ask(&request, 6)?;
        let mut found = response.topics.pop().context("ListOffsets answered nothing")?.partitions;
        found.sort_by_key(|partition| partition.partition_index);
        Ok(found
            .iter()
            .map(|found| if found.error_code == 0 { Ok(found.offset) } else { Err(found.error_code) })
            .collect())
    }
}

/// A connected socket that sends at once and never waits for ever.
pub(crate) fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_WAIT_MAX))?;
    stream.set_write_timeout(Some(ANSWER_WAIT_MAX))?;
    Ok(stream)
}

/// Kafka's name of an error number.
pub(crate) fn error_name(code: i16) -> String {
    format!("{} ({code})", ErrorCode::from_code(code).name())
}

/// Lets this process have as many open descriptors as it may.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, opening a connection says what is the matter.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
