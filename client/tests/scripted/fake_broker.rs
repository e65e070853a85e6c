//! A broker of one node for tests: keeps records in memory, checks sequence numbers as Kafka does, and does with each
//! Produce and Fetch request what a script says.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use pillion_wire::messages::api_versions::ApiVersion;
use pillion_wire::messages::fetch::{FetchableTopicResponse, PartitionData};
use pillion_wire::messages::list_offsets::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use pillion_wire::messages::metadata::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use pillion_wire::messages::produce::{PartitionProduceResponse, TopicProduceResponse};
use pillion_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, FetchRequest, FetchResponse, InitProducerIdRequest,
    InitProducerIdResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse, ProduceRequest,
    ProduceResponse,
};
use pillion_wire::records::read_batch;
use pillion_wire::{ApiMessage, Chunk, ErrorCode, Message, Reader, Records, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

mod coordinator;

use coordinator::Coordinator;

const NODE: i32 = 7;

/// What the broker does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// What a broker should.
    Serve,
    /// Refuses with an error.
    Refuse(ErrorCode),
    /// Closes the connection without having looked at the request.
    DropBefore,
    /// Does it and closes the connection without an answer.
    DropAfter,
    /// Does nothing, and nothing more on this connection.
    Silence,
    /// Answers these bytes, length included.
    Raw(Vec<u8>),
}

type Script = Box<dyn FnMut(usize) -> Action + Send>;

/// A batch a producer is known by: first and last sequence number, and offset.
type Known = (i32, i32, i64);

#[derive(Default)]
struct Partition {
    /// Batches as they lie in the log, with their base offsets.
    batches: Vec<(i64, Bytes)>,
    values: Vec<Bytes>,
    producers: HashMap<(i64, i16), VecDeque<Known>>,
}

struct State {
    partitions: Vec<Partition>,
    produce: Script,
    fetch: Script,
    metadata: Script,
    produced: usize,
    fetched: usize,
    asked: usize,
    next_producer_id: i64,
    coordinator: Option<Coordinator>,
}

#[derive(Clone)]
pub(crate) struct FakeBroker {
    port: u16,
    state: Arc<Mutex<State>>,
    _task: Arc<JoinSet<()>>,
}

impl FakeBroker {
    /// Listens on a free port; every topic has `partitions` partitions, which are the same for all.
    pub(crate) async fn start(partitions: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = || -> Script { Box::new(|_| Action::Serve) };
        let state = State {
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            produce: serve(),
            fetch: serve(),
            metadata: serve(),
            produced: 0,
            fetched: 0,
            asked: 0,
            next_producer_id: 1_000,
            coordinator: None,
        };
        let state = Arc::new(Mutex::new(state));
        let mut task = JoinSet::new();
        let shared = state.clone();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve_connection(stream, shared.clone(), port));
            }
        });
        Self { port, state, _task: Arc::new(task) }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What to do with the nth Produce request, from 0.
    pub(crate) fn on_produce(&self, script: impl FnMut(usize) -> Action + Send + 'static) {
        self.state.lock().unwrap().produce = Box::new(script);
    }

    pub(crate) fn on_fetch(&self, script: impl FnMut(usize) -> Action + Send + 'static) {
        self.state.lock().unwrap().fetch = Box::new(script);
    }

    pub(crate) fn on_metadata(&self, script: impl FnMut(usize) -> Action + Send + 'static) {
        self.state.lock().unwrap().metadata = Box::new(script);
    }

    /// Gives every topic so many partitions more.
    pub(crate) fn add_partitions(&self, count: usize) {
        self.state.lock().unwrap().partitions.extend((0..count).map(|_| Partition::default()));
    }

    /// Values in a partition's log.
    pub(crate) fn values(&self, partition: usize) -> Vec<Bytes> {
        self.state.lock().unwrap().partitions[partition].values.clone()
    }

    /// Has it coordinate transactions, of version 2 or 1; the next epoch given is the one behind `epoch`.
    pub(crate) fn coordinate(&self, second: bool, epoch: i16) {
        let mut state = self.state.lock().unwrap();
        state.coordinator = Some(Coordinator::new(second, epoch, state.partitions.len()));
    }

    /// What to do with the nth request to the coordinator, from 0.
    pub(crate) fn on_coordination(&self, script: impl FnMut(usize) -> Action + Send + 'static) {
        self.with_coordinator(|coordinator| coordinator.script = Box::new(script));
    }

    /// Values of committed transactions in a partition.
    pub(crate) fn committed(&self, partition: usize) -> Vec<Bytes> {
        self.with_coordinator(|coordinator| coordinator.committed[partition].clone())
    }

    /// APIs asked of the coordinator, with their versions.
    pub(crate) fn coordinations(&self) -> Vec<(i16, i16)> {
        self.with_coordinator(|coordinator| coordinator.requests.clone())
    }

    fn with_coordinator<T>(&self, look: impl FnOnce(&mut Coordinator) -> T) -> T {
        look(self.state.lock().unwrap().coordinator.as_mut().unwrap())
    }

    pub(crate) fn produce_requests(&self) -> usize {
        self.state.lock().unwrap().produced
    }
}

async fn serve_connection(mut stream: TcpStream, state: Arc<Mutex<State>>, port: u16) {
    stream.set_nodelay(true).unwrap();
    loop {
        let Ok(length) = stream.read_i32().await else { return };
        let mut request = BytesMut::zeroed(length as usize);
        if stream.read_exact(&mut request).await.is_err() {
            return;
        }
        let (action, answer) = state.lock().unwrap().handle(request.freeze(), port);
        match action {
            Action::DropBefore | Action::DropAfter => return,
            Action::Silence => {
                // Until the client gives up.
                let _ = stream.read_to_end(&mut Vec::new()).await;
                return;
            }
            Action::Raw(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Action::Serve | Action::Refuse(_) => {
                for chunk in answer {
                    let Chunk::Bytes(bytes) = chunk else { unreachable!("records are in memory") };
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl State {
    fn handle(&mut self, request: Bytes, port: u16) -> (Action, Vec<Chunk>) {
        let mut reader = Reader::new(&request);
        let header = frame::RequestHeader::decode(&mut reader).unwrap();
        let (version, id) = (header.api_version, header.correlation_id);
        if let Some(coordinator) = &mut self.coordinator {
            if header.api_key == ApiVersionsRequest::KEY {
                return (Action::Serve, coordinator::api_versions(coordinator.is_second(), version, id));
            }
            if let Some(handled) = coordinator.handle((header.api_key, version, id), &mut reader, port) {
                return handled;
            }
        }
        match header.api_key {
            ApiVersionsRequest::KEY => (Action::Serve, api_versions(version, id)),
            MetadataRequest::KEY => {
                self.asked += 1;
                let action = (self.metadata)(self.asked - 1);
                let request = body::<MetadataRequest>(&mut reader, version);
                (action, answer(&self.metadata(&request, port), version, id))
            }
            InitProducerIdRequest::KEY => {
                self.next_producer_id += 1;
                let response = InitProducerIdResponse { producer_id: self.next_producer_id, ..Default::default() };
                (Action::Serve, answer(&response, version, id))
            }
            ListOffsetsRequest::KEY => {
                let response = self.list_offsets(&body::<ListOffsetsRequest>(&mut reader, version));
                (Action::Serve, answer(&response, version, id))
            }
            ProduceRequest::KEY => {
                self.produced += 1;
                let action = (self.produce)(self.produced - 1);
                let request = body::<ProduceRequest>(&mut reader, version);
                let acks = request.acks;
                let response = self.produce(request, version, &action);
                (action, if acks == 0 { Vec::new() } else { answer(&response, version, id) })
            }
            FetchRequest::KEY => {
                self.fetched += 1;
                let action = (self.fetch)(self.fetched - 1);
                let response = self.fetch(&body::<FetchRequest>(&mut reader, version), &action);
                (action, answer(&response, version, id))
            }
            other => panic!("request of API {other}"),
        }
    }

    fn metadata(&self, request: &MetadataRequest, port: u16) -> MetadataResponse {
        let partition = |partition_index| MetadataResponsePartition {
            partition_index,
            leader_id: NODE,
            leader_epoch: 0,
            replica_nodes: vec![NODE],
            isr_nodes: vec![NODE],
            ..Default::default()
        };
        let topic = |name: &Option<String>| MetadataResponseTopic {
            name: name.clone(),
            partitions: (0..self.partitions.len() as i32).map(partition).collect(),
            ..Default::default()
        };
        let broker =
            MetadataResponseBroker { node_id: NODE, host: "127.0.0.1".to_owned(), port: i32::from(port), rack: None };
        MetadataResponse {
            brokers: vec![broker],
            controller_id: NODE,
            topics: request.topics.iter().flatten().map(|wanted| topic(&wanted.name)).collect(),
            ..Default::default()
        }
    }

    fn list_offsets(&self, request: &ListOffsetsRequest) -> ListOffsetsResponse {
        let mut response = ListOffsetsResponse::default();
        for topic in &request.topics {
            let found = |partition: &pillion_wire::messages::list_offsets::ListOffsetsPartition| {
                let log = &self.partitions[partition.partition_index as usize];
                let offset = if partition.timestamp == -2 { 0 } else { log.values.len() as i64 };
                ListOffsetsPartitionResponse {
                    partition_index: partition.partition_index,
                    offset,
                    ..Default::default()
                }
            };
            let partitions = topic.partitions.iter().map(found).collect();
            response.topics.push(ListOffsetsTopicResponse { name: topic.name.clone(), partitions });
        }
        response
    }

    fn produce(&mut self, request: ProduceRequest, version: i16, action: &Action) -> ProduceResponse {
        let mut response = ProduceResponse::default();
        for topic in request.topic_data {
            let mut partition_responses = Vec::new();
            for data in topic.partition_data {
                let Some(Records::Bytes(batch)) = data.records else { panic!("no records in memory") };
                let (code, base_offset) = match action {
                    Action::Refuse(code) => (*code, -1),
                    Action::DropBefore | Action::Silence | Action::Raw(_) => (ErrorCode::None, -1),
                    Action::Serve | Action::DropAfter => self.append(data.index, version, &batch),
                };
                let error_code = code.code();
                partition_responses.push(PartitionProduceResponse {
                    index: data.index,
                    error_code,
                    base_offset,
                    ..Default::default()
                });
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name,
                partition_responses,
                ..Default::default()
            });
        }
        response
    }

    fn append(&mut self, partition: i32, version: i16, batch: &Bytes) -> (ErrorCode, i64) {
        let log = &mut self.partitions[partition as usize];
        let Some(coordinator) = &mut self.coordinator else { return log.append(batch) };
        let admitted = coordinator.admit(partition, version, batch);
        if !admitted.is_ok() {
            return (admitted, -1);
        }
        let before = log.values.len();
        let appended = log.append(batch);
        if log.values.len() > before {
            coordinator.note(partition, batch);
        }
        appended
    }

    fn fetch(&self, request: &FetchRequest, action: &Action) -> FetchResponse {
        let mut response = FetchResponse::default();
        for topic in &request.topics {
            let mut partitions = Vec::new();
            for wanted in &topic.partitions {
                let log = &self.partitions[wanted.partition as usize];
                let end = log.values.len() as i64;
                let code = match action {
                    Action::Refuse(code) => *code,
                    _ if wanted.fetch_offset > end => ErrorCode::OffsetOutOfRange,
                    _ => ErrorCode::None,
                };
                let from = log.batches.iter().rposition(|(base, _)| *base <= wanted.fetch_offset).unwrap_or(0);
                let mut records = BytesMut::new();
                if code.is_ok() && wanted.fetch_offset < end {
                    log.batches[from..].iter().for_each(|(_, batch)| records.extend_from_slice(batch));
                }
                partitions.push(PartitionData {
                    partition_index: wanted.partition,
                    error_code: code.code(),
                    high_watermark: end,
                    records: Some(records.freeze().into()),
                    ..Default::default()
                });
            }
            response.responses.push(FetchableTopicResponse {
                topic: topic.topic.clone(),
                partitions,
                ..Default::default()
            });
        }
        response
    }
}

impl Partition {
    fn append(&mut self, batch: &Bytes) -> (ErrorCode, i64) {
        let (header, records) = read_batch(batch).unwrap();
        let offset = self.values.len() as i64;
        if header.producer_id >= 0 {
            let recent = self.producers.entry((header.producer_id, header.producer_epoch)).or_default();
            let (first, last) = (header.base_sequence, header.last_sequence());
            if let Some(known) = recent.iter().find(|known| (known.0, known.1) == (first, last)) {
                return (ErrorCode::None, known.2);
            }
            let expected = recent.back().map_or(if header.is_transactional() { 0 } else { first }, |known| known.1 + 1);
            if expected != first {
                return (ErrorCode::OutOfOrderSequenceNumber, -1);
            }
            recent.push_back((first, last, offset));
            if recent.len() > 5 {
                recent.pop_front();
            }
        }
        let mut stamped = BytesMut::from(&batch[..]);
        stamped[..16].copy_from_slice(&header.stamp(offset, 0));
        self.batches.push((offset, stamped.freeze()));
        self.values.extend(records.into_iter().map(|record| record.value.unwrap()));
        (ErrorCode::None, offset)
    }
}

/// Knows no ApiVersions newer than 0, as brokers did before 2.4 when asked for too much.
fn api_versions(version: i16, id: i32) -> Vec<Chunk> {
    let api = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
    let error_code = if version > 0 { ErrorCode::UnsupportedVersion } else { ErrorCode::None }.code();
    let api_keys = vec![api(0, 3, 9), api(1, 4, 12), api(2, 1, 7), api(3, 1, 9), api(18, 0, 0), api(22, 0, 2)];
    answer(&ApiVersionsResponse { error_code, api_keys, ..Default::default() }, 0, id)
}

fn body<M: Message>(reader: &mut Reader<'_>, version: i16) -> M {
    if M::is_flexible(version) {
        frame::RequestHeader::skip_tagged_fields(reader).unwrap();
    }
    M::read(reader, version).unwrap()
}

fn answer<M: ApiMessage>(response: &M, version: i16, id: i32) -> Vec<Chunk> {
    frame::encode_response(response, version, id).unwrap()
}
