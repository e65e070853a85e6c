//! Requests that are small and ask for much: by naming one thing thousands of times, by bytes that decompress to
//! millions of records. The broker's memory grows with what there is, not with how often it is asked for.

use pillion_wire::messages::alter_partition_reassignments::{ReassignablePartition, ReassignableTopic};
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::describe_producers::TopicRequest;
use pillion_wire::messages::elect_leaders::TopicPartitions;
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use pillion_wire::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use pillion_wire::messages::{
    AlterPartitionReassignmentsRequest, DescribeConfigsRequest, DescribeGroupsRequest, DescribeProducersRequest,
    DescribeTransactionsRequest, ElectLeadersRequest, FetchRequest, FindCoordinatorRequest, ListOffsetsRequest,
    ListTransactionsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
};
use pillion_wire::records::{BatchBuilder, Compression, Record};
use tempfile::TempDir;

use crate::support::{
    Client, ServedProcess, create_topic, eventually, fetch_request, list_offset, produce, produce_request,
};

/// What the broker may grow by; without bounds each of these makes it some hundred megabytes.
const SPARE_BYTES: u64 = 48 << 20;
const INVALID_REQUEST: i16 = 42;

/// A broker whose memory is looked at when a test ends.
struct Weighed {
    served: ServedProcess,
    client: Client,
    before: u64,
    _directory: TempDir,
}

impl Weighed {
    fn with_topic(partitions: i32) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let served = ServedProcess::start(directory.path(), &["offsets.topic.num.partitions=1"]);
        let mut client = Client::connect(served.address);
        create_topic(&mut client, "t", partitions, &[]);
        let before = served.memory("VmHWM");
        Self { served, client, before, _directory: directory }
    }

    fn has_not_grown(self) {
        let grown = self.served.memory("VmHWM") - self.before;
        assert!(grown < SPARE_BYTES, "the broker grew by {grown} bytes");
    }
}

#[test]
fn a_topic_named_again_and_again_is_described_once() {
    let mut weighed = Weighed::with_topic(200);
    for version in [1, 12] {
        let topic = MetadataRequestTopic { name: Some("t".to_owned()), ..MetadataRequestTopic::default() };
        let request = MetadataRequest { topics: Some(vec![topic; 10_000]), ..MetadataRequest::default() };
        let answer = weighed.client.call(&request, version);
        assert_eq!((answer.topics.len(), answer.topics[0].partitions.len()), (1, 200), "version {version}");
    }
    weighed.has_not_grown();
}

#[test]
fn settings_asked_for_again_and_again_are_told_once() {
    let mut weighed = Weighed::with_topic(1);
    for (resource_type, resource_name) in [(2, "t"), (4, "1")] {
        let resource = DescribeConfigsResource {
            resource_type,
            resource_name: resource_name.to_owned(),
            configuration_keys: None,
        };
        let request = DescribeConfigsRequest {
            resources: vec![resource; 10_000],
            include_synonyms: true,
            include_documentation: true,
        };
        let answer = weighed.client.call(&request, 4);
        assert_eq!(answer.results.len(), 1);
        assert!(answer.results[0].configs.len() > 10, "and it is told");
    }
    weighed.has_not_grown();
}

#[test]
fn offsets_asked_for_again_and_again_are_told_once() {
    let mut weighed = Weighed::with_topic(1);
    let found = weighed.client.call(&FindCoordinatorRequest { key: "g".to_owned(), ..Default::default() }, 3);
    assert_eq!(found.error_code, 0);
    let partition = OffsetCommitRequestPartition { committed_metadata: Some("m".repeat(4_000)), ..Default::default() };
    let topic = OffsetCommitRequestTopic { name: "t".to_owned(), partitions: vec![partition], ..Default::default() };
    let commit = OffsetCommitRequest { group_id: "g".to_owned(), topics: vec![topic], ..Default::default() };
    eventually("the group being loaded", || weighed.client.call(&commit, 8).topics[0].partitions[0].error_code == 0);

    let topic = |count| OffsetFetchRequestTopics {
        name: "t".to_owned(),
        partition_indexes: vec![0; count],
        ..OffsetFetchRequestTopics::default()
    };
    let group = |topics| OffsetFetchRequestGroup { group_id: "g".to_owned(), topics, ..Default::default() };
    let ways =
        [vec![group(Some(vec![topic(100_000)]))], vec![group(Some(vec![topic(1); 10_000]))], vec![group(None); 10_000]];
    for groups in ways {
        let answer = weighed.client.call(&OffsetFetchRequest { groups, ..Default::default() }, 8);
        let partitions = answer.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| &topic.partitions);
        assert_eq!(partitions.count(), 1);
    }
    weighed.has_not_grown();
}

#[test]
fn fetches_that_wait_hold_each_partition_once() {
    let mut weighed = Weighed::with_topic(1);
    let mut request = fetch_request("t", 0, 0);
    let partition = request.topics[0].partitions.remove(0);
    request.topics[0].partitions = vec![partition; 20_000];
    request.max_wait_ms = 1_500;
    for _ in 0..100 {
        weighed.client.send(&request, 4);
    }
    for _ in 0..100 {
        let answer = weighed.client.receive::<FetchRequest>(4);
        assert_eq!(answer.responses.iter().map(|topic| topic.partitions.len()).sum::<usize>(), 1);
    }
    weighed.has_not_grown();
}

#[test]
fn a_partition_named_twice_is_not_looked_into_twice() {
    let mut weighed = Weighed::with_topic(2);
    let partition = |index| ListOffsetsPartition { partition_index: index, timestamp: 7, ..Default::default() };
    let topic = ListOffsetsTopic { name: "t".to_owned(), partitions: [0, 1, 0].map(partition).to_vec() };
    let request = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
    let answer = weighed.client.call(&request, 11);
    let codes: Vec<i16> = answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [INVALID_REQUEST, 0, INVALID_REQUEST], "as Kafka answers");
}

#[test]
fn a_long_name_is_not_repeated_for_each_partition() {
    let mut weighed = Weighed::with_topic(1);
    let name = "n".repeat(20_000);
    let partitions: Vec<i32> = (0..20_000).collect();
    let topic = TopicPartitions { topic: name.clone(), partitions };
    let request = ElectLeadersRequest { topic_partitions: Some(vec![topic]), ..ElectLeadersRequest::default() };
    let answer = weighed.client.call(&request, 2);
    assert_eq!(answer.replica_election_results[0].partition_result.len(), 20_000);

    let partition = |partition_index| ReassignablePartition { partition_index, replicas: None };
    let topic = ReassignableTopic { name, partitions: (0..20_000).map(partition).collect() };
    let request = AlterPartitionReassignmentsRequest { topics: vec![topic], ..Default::default() };
    let answer = weighed.client.call(&request, 0);
    assert_eq!(answer.responses[0].partitions.len(), 20_000);
    weighed.has_not_grown();
}

#[test]
fn a_partition_is_written_once_however_often_a_commit_names_it() {
    let mut weighed = Weighed::with_topic(1);
    let group_id = "g".repeat(16_000);
    let found = weighed.client.call(&FindCoordinatorRequest { key: group_id.clone(), ..Default::default() }, 3);
    assert_eq!(found.error_code, 0);
    let topic = |count| OffsetCommitRequestTopic {
        name: "t".to_owned(),
        partitions: vec![OffsetCommitRequestPartition::default(); count],
        ..OffsetCommitRequestTopic::default()
    };
    let mut commit = OffsetCommitRequest { group_id, topics: vec![topic(1)], ..Default::default() };
    eventually("the group being loaded", || weighed.client.call(&commit, 8).topics[0].partitions[0].error_code == 0);
    commit.topics = vec![topic(20_000)];
    let answer = weighed.client.call(&commit, 8);
    assert_eq!(answer.topics[0].partitions.len(), 20_000);
    assert!(answer.topics[0].partitions.iter().all(|partition| partition.error_code == 0), "as Kafka answers");
    weighed.has_not_grown();
}

#[test]
fn groups_producers_and_transactions_named_again_and_again_are_told_once() {
    let mut weighed = Weighed::with_topic(1);
    let request = DescribeGroupsRequest { groups: vec!["g".to_owned(); 10_000], ..Default::default() };
    assert_eq!(weighed.client.call(&request, 5).groups.len(), 1);
    let topic = TopicRequest { name: "t".to_owned(), partition_indexes: vec![0; 10_000] };
    let request = DescribeProducersRequest { topics: vec![topic] };
    assert_eq!(weighed.client.call(&request, 0).topics[0].partitions.len(), 1);
    let request = DescribeTransactionsRequest { transactional_ids: vec!["x".to_owned(); 10_000] };
    assert_eq!(weighed.client.call(&request, 0).transaction_states.len(), 1);
    weighed.has_not_grown();
}

#[test]
fn a_short_pattern_with_thousands_of_states_is_no_pattern() {
    let mut weighed = Weighed::with_topic(1);
    for (pattern, code) in [("orders-[0-9]{1,8}", 0), ("(.{1000}){300}", 128), ("((a{100}){100}){100}", 128)] {
        let transactional_id_pattern = Some(pattern.to_owned());
        let request = ListTransactionsRequest { transactional_id_pattern, ..ListTransactionsRequest::default() };
        assert_eq!(weighed.client.call(&request, 2).error_code, code, "{pattern}");
    }
    weighed.has_not_grown();
}

#[test]
fn records_at_fault_are_named_up_to_a_limit_for_the_whole_request() {
    let mut weighed = Weighed::with_topic(1);
    create_topic(&mut weighed.client, "compacted", 1, &[("cleanup.policy", "compact")]);
    let mut builder = BatchBuilder::new(Compression::Zstd);
    (0..1_001).for_each(|_| builder.push(&Record { timestamp: 1_000, ..Record::default() }));
    let keyless = builder.build(None).expect("the codec works");
    let mut request = produce_request("compacted", 0, keyless);
    let partition = request.topic_data[0].partition_data.remove(0);
    request.topic_data[0].partition_data = vec![partition; 300];
    let answer = weighed.client.call(&request, 12);
    let partitions = &answer.responses[0].partition_responses;
    assert!(partitions.len() == 300 && partitions.iter().all(|partition| partition.error_code == 87));
    let named: Vec<usize> = partitions.iter().map(|partition| partition.record_errors.len()).collect();
    assert_eq!((named[0], named.iter().sum::<usize>()), (1_000, 1_000));
    weighed.has_not_grown();
}

#[test]
fn a_search_in_a_batch_of_millions_holds_one_record_at_a_time() {
    let mut weighed = Weighed::with_topic(1);
    let mut builder = BatchBuilder::new(Compression::Zstd);
    let record = Record { timestamp: 1_000, ..Record::default() };
    (0..1_000_000).for_each(|_| builder.push(&record));
    builder.push(&Record { timestamp: 2_000, ..Record::default() });
    let batch = builder.build(None).expect("the codec works");
    assert_eq!(produce(&mut weighed.client, "t", 0, batch).error_code, 0);
    let found = list_offset(&mut weighed.client, "t", 0, 1_500);
    assert_eq!((found.error_code, found.offset), (0, 1_000_000));
    weighed.has_not_grown();
}
