//! The fake broker as a coordinator of transactions: one transactional id, in either version of the protocol, with
//! Kafka's rules where a client could break them.

use std::collections::HashSet;

use bytes::Bytes;
use pillion_wire::messages::add_partitions_to_txn::{AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult};
use pillion_wire::messages::api_versions::{ApiVersion, FinalizedFeatureKey};
use pillion_wire::messages::find_coordinator::Coordinator as Found;
use pillion_wire::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ApiVersionsResponse, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse,
};
use pillion_wire::records::read_batch;
use pillion_wire::{ApiMessage, Chunk, ErrorCode, Reader};

use super::{Action, NODE, Script, answer, body};

/// The epoch that is not given any more: it is the one that fences.
const EPOCH_END: i16 = i16::MAX;

pub(crate) struct Coordinator {
    /// Whether transactions are of version 2.
    second: bool,
    id: i64,
    epoch: i16,
    ongoing: bool,
    partitions: HashSet<i32>,
    /// Values of the open transaction, with their partitions.
    pending: Vec<(i32, Bytes)>,
    /// The last end: its identity and whether it was a commit.
    last_end: Option<(i64, i16, bool)>,
    pub(super) committed: Vec<Vec<Bytes>>,
    pub(super) script: Script,
    asked: usize,
    /// APIs asked, with their versions.
    pub(super) requests: Vec<(i16, i16)>,
}

impl Coordinator {
    pub(super) fn new(second: bool, epoch: i16, partitions: usize) -> Self {
        Self {
            second,
            id: 500,
            epoch,
            ongoing: false,
            partitions: HashSet::new(),
            pending: Vec::new(),
            last_end: None,
            committed: vec![Vec::new(); partitions],
            script: Box::new(|_| Action::Serve),
            asked: 0,
            requests: Vec::new(),
        }
    }

    pub(super) fn is_second(&self) -> bool {
        self.second
    }

    /// Answers a request to a coordinator; `None` when it is another one.
    pub(super) fn handle(
        &mut self,
        (key, version, correlation_id): (i16, i16, i32),
        reader: &mut Reader<'_>,
        port: u16,
    ) -> Option<(Action, Vec<Chunk>)> {
        let keys = [FindCoordinatorRequest::KEY, InitProducerIdRequest::KEY, AddPartitionsToTxnRequest::KEY];
        if !keys.contains(&key) && key != EndTxnRequest::KEY {
            return None;
        }
        self.requests.push((key, version));
        self.asked += 1;
        let action = (self.script)(self.asked - 1);
        let refused = match action {
            Action::Refuse(code) => Some(code),
            Action::DropBefore | Action::Silence | Action::Raw(_) => return Some((action, Vec::new())),
            Action::Serve | Action::DropAfter => None,
        };
        let response = match key {
            FindCoordinatorRequest::KEY => {
                let asked = body::<FindCoordinatorRequest>(reader, version);
                answer(&find_coordinator(asked, version, refused, port), version, correlation_id)
            }
            InitProducerIdRequest::KEY => {
                let asked = body::<InitProducerIdRequest>(reader, version);
                answer(&self.initialize(&asked, refused), version, correlation_id)
            }
            AddPartitionsToTxnRequest::KEY => {
                let asked = body::<AddPartitionsToTxnRequest>(reader, version);
                answer(&self.add_partitions(asked, refused), version, correlation_id)
            }
            _ => {
                let asked = body::<EndTxnRequest>(reader, version);
                answer(&self.end(&asked, refused), version, correlation_id)
            }
        };
        Some((action, response))
    }

    /// Looks at a batch before it is appended.
    pub(super) fn admit(&mut self, partition: i32, version: i16, batch: &Bytes) -> ErrorCode {
        let (header, _) = read_batch(batch).unwrap();
        assert!(header.is_transactional(), "a batch outside transactions");
        assert_eq!(version >= 12, self.second, "Produce {version}");
        if (header.producer_id, header.producer_epoch) != (self.id, self.epoch) {
            return ErrorCode::InvalidProducerEpoch;
        }
        if self.second {
            self.ongoing = true;
        } else {
            assert!(self.partitions.contains(&partition), "{partition} was not added");
        }
        ErrorCode::None
    }

    /// Notes a batch that was appended.
    pub(super) fn note(&mut self, partition: i32, batch: &Bytes) {
        let values = read_batch(batch).unwrap().1.into_iter().map(|record| (partition, record.value.unwrap()));
        self.pending.extend(values);
    }

    fn initialize(&mut self, asked: &InitProducerIdRequest, refused: Option<ErrorCode>) -> InitProducerIdResponse {
        if let Some(code) = refused {
            return InitProducerIdResponse { error_code: code.code(), ..Default::default() };
        }
        // A repetition of a request whose answer was lost gets the same one.
        let repeated = asked.producer_id == self.id && asked.producer_epoch + 1 == self.epoch && !self.ongoing;
        if !repeated {
            self.finish(false);
            self.bump();
        }
        InitProducerIdResponse { producer_id: self.id, producer_epoch: self.epoch, ..Default::default() }
    }

    fn add_partitions(
        &mut self,
        asked: AddPartitionsToTxnRequest,
        refused: Option<ErrorCode>,
    ) -> AddPartitionsToTxnResponse {
        assert!(!self.second, "partitions are added by writing to them");
        let known = (asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch) == (self.id, self.epoch);
        let code = refused.unwrap_or(if known { ErrorCode::None } else { ErrorCode::InvalidProducerEpoch });
        let mut results = Vec::new();
        for topic in asked.v3_and_below_topics {
            let mut results_by_partition = Vec::new();
            for partition_index in topic.partitions {
                if code.is_ok() {
                    self.ongoing = true;
                    self.partitions.insert(partition_index);
                }
                let partition_error_code = code.code();
                results_by_partition.push(AddPartitionsToTxnPartitionResult { partition_index, partition_error_code });
            }
            results.push(AddPartitionsToTxnTopicResult { name: topic.name, results_by_partition });
        }
        AddPartitionsToTxnResponse { results_by_topic_v3_and_below: results, ..Default::default() }
    }

    fn end(&mut self, asked: &EndTxnRequest, refused: Option<ErrorCode>) -> EndTxnResponse {
        let identity = (asked.producer_id, asked.producer_epoch);
        let repeated = self.last_end == Some((identity.0, identity.1, asked.committed)) && !self.ongoing;
        let code = match refused {
            Some(code) => code,
            None if repeated => ErrorCode::None,
            None if identity != (self.id, self.epoch) => ErrorCode::InvalidProducerEpoch,
            // Of version 2 an abort is taken though there is nothing to abort.
            None if !self.ongoing && (asked.committed || !self.second) => ErrorCode::InvalidTxnState,
            None => {
                self.last_end = Some((identity.0, identity.1, asked.committed));
                self.finish(asked.committed);
                if self.second {
                    self.bump();
                }
                ErrorCode::None
            }
        };
        let (producer_id, producer_epoch) = if self.second { (self.id, self.epoch) } else { (-1, -1) };
        EndTxnResponse { error_code: code.code(), producer_id, producer_epoch, ..Default::default() }
    }

    fn finish(&mut self, commit: bool) {
        for (partition, value) in self.pending.drain(..).filter(|_| commit) {
            self.committed[partition as usize].push(value);
        }
        self.ongoing = false;
        self.partitions.clear();
    }

    fn bump(&mut self) {
        self.epoch += 1;
        if self.epoch == EPOCH_END {
            (self.id, self.epoch) = (self.id + 1, 0);
        }
    }
}

fn find_coordinator(
    asked: FindCoordinatorRequest,
    version: i16,
    refused: Option<ErrorCode>,
    port: u16,
) -> FindCoordinatorResponse {
    assert_eq!(asked.key_type, 1);
    let code = refused.unwrap_or(ErrorCode::None).code();
    let (node_id, host, port) = (NODE, "127.0.0.1".to_owned(), i32::from(port));
    if version < 4 {
        return FindCoordinatorResponse { node_id, host, port, error_code: code, ..Default::default() };
    }
    let found = asked.coordinator_keys.into_iter();
    let found =
        found.map(|key| Found { key, node_id, host: host.clone(), port, error_code: code, error_message: None });
    FindCoordinatorResponse { coordinators: found.collect(), ..Default::default() }
}

/// What a broker with transactions says of itself: as Kafka 4 with version 2, as Kafka 2.5 with version 1.
pub(super) fn api_versions(second: bool, version: i16, id: i32) -> Vec<Chunk> {
    let api = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
    let newer = |older, newer| if second { newer } else { older };
    let api_keys = vec![
        api(0, 3, newer(8, 12)),
        api(1, 4, 12),
        api(2, 1, 7),
        api(3, 1, 9),
        api(10, 0, newer(3, 6)),
        api(18, 0, 3),
        api(22, 0, newer(3, 5)),
        api(24, 0, newer(3, 5)),
        api(26, 0, newer(3, 5)),
    ];
    let mut response = ApiVersionsResponse { api_keys, ..Default::default() };
    if second {
        let name = "transaction.version".to_owned();
        response.finalized_features = vec![FinalizedFeatureKey { name, max_version_level: 2, min_version_level: 2 }];
        response.finalized_features_epoch = 1;
    }
    answer(&response, version.min(3), id)
}
