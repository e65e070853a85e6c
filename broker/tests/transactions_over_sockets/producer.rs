//! A transactional producer over one connection, in versions of a test's choice, and a `read_committed` reader.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::messages::add_partitions_to_txn::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use pillion_wire::messages::fetch::PartitionData;
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, EndTxnResponse, FindCoordinatorRequest,
    InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest, ProduceRequest,
};
use pillion_wire::records::{BatchHeader, BatchProducer, Compression, read_batch, read_marker};

use super::support::{
    Client, Fetched, TestBroker, batch_of, eventually, fetch_request, produce_request, record, split,
};

pub(crate) const ID: &str = "payments";
/// Few partitions, so that a broker is made and stopped quickly.
pub(crate) const SETTINGS: [(&str, &str); 2] =
    [("transaction.state.log.num.partitions", "2"), ("offsets.topic.num.partitions", "2")];

/// A producer's id and epoch.
pub(crate) type Identity = (i64, i16);

/// A broker, and a connection to it that knows it for the coordinator.
pub(crate) fn broker() -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&SETTINGS);
    let client = coordinator(&broker);
    (broker, client)
}

/// Finds the coordinator, which makes its topic, and stays connected.
pub(crate) fn coordinator(broker: &TestBroker) -> Client {
    let mut client = broker.client();
    find_coordinator(&mut client);
    client
}

pub(crate) fn find_coordinator(client: &mut Client) {
    for key_type in [0, 1] {
        let found = client.call(&FindCoordinatorRequest { key: "any".to_owned(), key_type, ..Default::default() }, 3);
        assert_eq!(found.error_code, 0);
    }
}

pub(crate) fn init_request(transactional_id: &str) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: Some(transactional_id.to_owned()),
        transaction_timeout_ms: 60_000,
        ..InitProducerIdRequest::default()
    }
}

/// InitProducerId, once what is on disk has been read.
pub(crate) fn init_with(client: &mut Client, request: &InitProducerIdRequest, version: i16) -> InitProducerIdResponse {
    let mut answer = client.call(request, version);
    eventually("reading the transactional ids", || {
        let is_loading = answer.error_code == ErrorCode::CoordinatorLoadInProgress.code();
        if is_loading {
            answer = client.call(request, version);
        }
        !is_loading
    });
    answer
}

/// A producer that takes the id over, or begins with it.
pub(crate) fn init(client: &mut Client, transactional_id: &str, version: i16) -> Identity {
    let answer = init_with(client, &init_request(transactional_id), version);
    assert_eq!(answer.error_code, 0);
    (answer.producer_id, answer.producer_epoch)
}

pub(crate) fn add_request((id, epoch): Identity, topic: &str, partitions: &[i32]) -> AddPartitionsToTxnRequest {
    let topics = vec![AddPartitionsToTxnTopic { name: topic.to_owned(), partitions: partitions.to_vec() }];
    AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: ID.to_owned(),
        v3_and_below_producer_id: id,
        v3_and_below_producer_epoch: epoch,
        v3_and_below_topics: topics,
        ..AddPartitionsToTxnRequest::default()
    }
}

/// The form of AddPartitionsToTxn in version 4 and later.
pub(crate) fn add_several(
    (producer_id, producer_epoch): Identity,
    topic: &str,
    partitions: &[i32],
    verify_only: bool,
) -> AddPartitionsToTxnRequest {
    let topics = vec![AddPartitionsToTxnTopic { name: topic.to_owned(), partitions: partitions.to_vec() }];
    let transactional_id = ID.to_owned();
    let transaction =
        AddPartitionsToTxnTransaction { transactional_id, producer_id, producer_epoch, verify_only, topics };
    AddPartitionsToTxnRequest { transactions: vec![transaction], ..AddPartitionsToTxnRequest::default() }
}

/// Adds partitions of a topic to the transaction, in any version; the code of each.
pub(crate) fn add(client: &mut Client, producer: Identity, topic: &str, partitions: &[i32], version: i16) -> Vec<i16> {
    let topics = if version >= 4 {
        let answer = client.call(&add_several(producer, topic, partitions, false), version);
        assert_eq!(answer.error_code, 0);
        answer.results_by_transaction.into_iter().flat_map(|result| result.topic_results).collect::<Vec<_>>()
    } else {
        client.call(&add_request(producer, topic, partitions), version).results_by_topic_v3_and_below
    };
    let results = topics.into_iter().flat_map(|topic| topic.results_by_partition);
    results.map(|partition| partition.partition_error_code).collect()
}

pub(crate) fn add_offsets(
    client: &mut Client,
    (producer_id, producer_epoch): Identity,
    group: &str,
    version: i16,
) -> i16 {
    let (transactional_id, group_id) = (ID.to_owned(), group.to_owned());
    let request = AddOffsetsToTxnRequest { transactional_id, producer_id, producer_epoch, group_id };
    client.call(&request, version).error_code
}

pub(crate) fn end_request((producer_id, producer_epoch): Identity, committed: bool) -> EndTxnRequest {
    EndTxnRequest { transactional_id: ID.to_owned(), producer_id, producer_epoch, committed }
}

pub(crate) fn end_with(client: &mut Client, producer: Identity, commit: bool, version: i16) -> EndTxnResponse {
    client.call(&end_request(producer, commit), version)
}

/// Ends the transaction; what the producer goes on with.
pub(crate) fn end(client: &mut Client, producer: Identity, commit: bool, version: i16) -> Identity {
    let answer = end_with(client, producer, commit, version);
    assert_eq!(answer.error_code, 0);
    if version >= 5 { (answer.producer_id, answer.producer_epoch) } else { producer }
}

/// A batch of these values in a producer's transaction.
pub(crate) fn batch((id, epoch): Identity, base_sequence: i32, values: &[&str]) -> Bytes {
    batch_at((id, epoch), base_sequence, values, 1_000)
}

pub(crate) fn batch_at((id, epoch): Identity, base_sequence: i32, values: &[&str], timestamp: i64) -> Bytes {
    let records: Vec<_> = values.iter().map(|value| record((*value).to_owned(), timestamp)).collect();
    batch_of(&records, Compression::None, Some(BatchProducer { id, epoch, base_sequence, transactional: true }))
}

pub(crate) fn write_request(topic: &str, partition: i32, batch: Bytes) -> ProduceRequest {
    ProduceRequest { transactional_id: Some(ID.to_owned()), ..produce_request(topic, partition, batch) }
}

/// Produces a batch in a transaction; its code and offset.
pub(crate) fn write(client: &mut Client, topic: &str, partition: i32, batch: Bytes, version: i16) -> (i16, i64) {
    let answer = super::support::produce_with(client, &write_request(topic, partition, batch), version);
    (answer.error_code, answer.base_offset)
}

/// The last stable offset.
pub(crate) fn stable(client: &mut Client, topic: &str, partition: i32) -> i64 {
    list_committed(client, topic, partition, -1).0
}

/// What ListOffsets tells a `read_committed` reader: offset and code.
pub(crate) fn list_committed(client: &mut Client, topic: &str, partition: i32, timestamp: i64) -> (i64, i16) {
    let partition = ListOffsetsPartition { partition_index: partition, timestamp, ..ListOffsetsPartition::default() };
    let topics = vec![ListOffsetsTopic { name: topic.to_owned(), partitions: vec![partition] }];
    let request = ListOffsetsRequest { replica_id: -1, isolation_level: 1, topics, ..ListOffsetsRequest::default() };
    let answer = client.call(&request, 11).topics.remove(0).partitions.remove(0);
    (answer.offset, answer.error_code)
}

pub(crate) fn fetch_committed(client: &mut Client, topic: &str, partition: i32, offset: i64) -> PartitionData {
    let mut request = fetch_request(topic, partition, offset);
    request.isolation_level = 1;
    let mut response = client.call(&request, 12);
    response.responses.remove(0).partitions.remove(0)
}

/// What a `read_committed` consumer makes of a partition from `offset` on: its values, in order.
pub(crate) fn read_committed_from(client: &mut Client, topic: &str, partition: i32, mut offset: i64) -> Vec<String> {
    let mut values = Vec::new();
    loop {
        let fetched = fetch_committed(client, topic, partition, offset);
        assert_eq!(fetched.error_code, 0);
        let mut aborted: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for entry in fetched.aborted_transactions.iter().flatten() {
            aborted.entry(entry.producer_id).or_default().insert(entry.first_offset);
        }
        let before = offset;
        for batch in split(&fetched.bytes()) {
            let header = BatchHeader::parse(&batch).expect("is whole");
            offset = header.next_offset();
            assert!(offset <= fetched.last_stable_offset, "records whose fate is open are not shown");
            let first_offsets = aborted.entry(header.producer_id).or_default();
            let is_aborted =
                header.is_transactional() && first_offsets.first().is_some_and(|first| *first <= header.base_offset);
            if let Some(marker) = read_marker(&batch).expect("reads") {
                if !marker.commit && is_aborted {
                    first_offsets.pop_first();
                }
            } else if !is_aborted {
                let text = |value: &Bytes| String::from_utf8(value.to_vec()).expect("is a text");
                let (_, records) = read_batch(&batch).expect("reads");
                values.extend(records.iter().map(|record| record.value.as_ref().map(text).unwrap_or_default()));
            }
        }
        if offset == before {
            assert_eq!(offset, fetched.last_stable_offset.max(before), "all that is stable is shown");
            return values;
        }
    }
}

pub(crate) fn read_committed(client: &mut Client, topic: &str, partition: i32) -> Vec<String> {
    read_committed_from(client, topic, partition, 0)
}
