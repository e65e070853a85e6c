//! A first connection's frames and bodies, and versions newer than the differential test's crate.

use bytes::Bytes;
use pillion_wire::frame::{RequestHeader, encode_request};
use pillion_wire::messages::*;
use pillion_wire::{Chunk, Message, Reader, Records};

use super::{TOPIC_ID, bytes, check, check_lossy};

/// The one batch that the captured produce requests carry: a record `key`, `value`.
const BATCH: &str = "000000000000000000000040ffffffff02db5e9cdd0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffff\
                     ffffffff000000011c000000066b65790a76616c756500";

#[test]
fn api_versions_request_is_what_a_java_client_sends() {
    let mut request = ApiVersionsRequest {
        client_software_name: "apache-kafka-java".to_owned(),
        client_software_version: "4.4.0".to_owned(),
        ..Default::default()
    };
    check(3, "126170616368652d6b61666b612d6a61766106342e342e3000", &request);
    request.cluster_id = Some("cluster".to_owned());
    request.node_id = 7;
    check(5, "126170616368652d6b61666b612d6a61766106342e342e3008636c75737465720000000700", &request);
    check_lossy(0, "", &request, &ApiVersionsRequest::default());
}

#[test]
fn api_versions_response_carries_features_as_tagged_fields() {
    use api_versions::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
    let feature = "transaction.version".to_owned();
    let response = ApiVersionsResponse {
        api_keys: vec![
            ApiVersion { api_key: 0, min_version: 0, max_version: 13 },
            ApiVersion { api_key: 18, min_version: 0, max_version: 5 },
        ],
        supported_features: vec![SupportedFeatureKey { name: feature.clone(), min_version: 0, max_version: 2 }],
        finalized_features_epoch: 3,
        finalized_features: vec![FinalizedFeatureKey { name: feature, max_version_level: 2, min_version_level: 2 }],
        ..Default::default()
    };
    let captured = "00000300000000000d00001200000005000000000003001a02147472616e73616374696f6e2e76657273696f6e000000020001\
                    080000000000000003021a02147472616e73616374696f6e2e76657273696f6e0002000200";
    check(4, captured, &response);
    check(5, captured, &response);
}

#[test]
fn a_refused_api_versions_request_gets_the_oldest_body() {
    let own_range = api_versions::ApiVersion { api_key: 18, min_version: 0, max_version: 4 };
    let response = ApiVersionsResponse { error_code: 35, api_keys: vec![own_range], ..Default::default() };
    check(0, "002300000001001200000004", &response);
}

#[test]
fn metadata_matches_in_flexible_and_old_versions() {
    use metadata::{MetadataRequestTopic, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
    let topic = MetadataRequestTopic { name: Some("orders".to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: false, ..Default::default() };
    check(12, "0200000000000000000000000000000000076f726465727300000000", &request);

    let partition = MetadataResponsePartition {
        leader_id: 1,
        leader_epoch: 4,
        replica_nodes: vec![1, 2],
        isr_nodes: vec![1],
        offline_replicas: vec![2],
        ..Default::default()
    };
    let topic = MetadataResponseTopic {
        name: Some("orders".to_owned()),
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..Default::default()
    };
    let broker = MetadataResponseBroker { node_id: 1, host: "localhost".to_owned(), port: 9092, rack: None };
    let response = MetadataResponse {
        brokers: vec![broker],
        cluster_id: Some("abc".to_owned()),
        controller_id: 1,
        topics: vec![topic],
        ..Default::default()
    };
    check(
        12,
        "0000000002000000010a6c6f63616c686f73740000238400000461626300000001020000076f72646572730102030405060708090a0b\
         0c0d0e0f10000200000000000000000001000000040300000001000000020200000001020000000200800000000000",
        &response,
    );
    // Version 1 has neither leader epochs, topic ids nor the cluster's id.
    let mut oldest = response.clone();
    oldest.cluster_id = None;
    oldest.topics[0].topic_id = uuid::Uuid::nil();
    oldest.topics[0].partitions[0].leader_epoch = -1;
    oldest.topics[0].partitions[0].offline_replicas.clear();
    check_lossy(
        1,
        "000000010000000100096c6f63616c686f737400002384ffff0000000100000001000000066f726465727300000000010000000000000000\
         00010000000200000001000000020000000100000001",
        &response,
        &oldest,
    );
}

#[test]
fn produce_frames_are_what_a_java_client_sends() {
    use produce::{PartitionProduceData, TopicProduceData};
    let partition = PartitionProduceData { index: 2, records: Some(Records::Bytes(bytes(BATCH))) };
    let topic = TopicProduceData { name: "orders".to_owned(), partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data: vec![topic], ..Default::default() };
    let flexible = format!(
        "00000070 0000 0009 00000001 000163 00 00 ffff 00007530 02 076f7264657273 02 00000002 4d {BATCH} 00 00 00"
    );
    let old = format!(
        "00000077 0000 0003 00000001 000163 ffff ffff 00007530 00000001 00066f7264657273 00000001 00000002 0000004c {BATCH}"
    );
    for (version, captured) in [(9, flexible), (3, old)] {
        let captured = bytes(&captured);
        let frame: Bytes = encode_request(&request, version, 1, Some("c"))
            .expect("the request encodes")
            .into_iter()
            .flat_map(|chunk| match chunk {
                Chunk::Bytes(bytes) => bytes,
                Chunk::External { .. } => panic!("the batch is in memory"),
            })
            .collect();
        assert_eq!(frame, captured, "version {version}");

        let body = captured.slice(4..);
        let mut reader = Reader::new(&body);
        let header = RequestHeader::decode(&mut reader).expect("the header decodes");
        let client_id = Some("c".to_owned());
        assert_eq!(header, RequestHeader { api_key: 0, api_version: version, correlation_id: 1, client_id });
        if ProduceRequest::is_flexible(version) {
            reader.set_flexible(true);
            RequestHeader::skip_tagged_fields(&mut reader).expect("the header has no tagged fields");
        }
        assert_eq!(ProduceRequest::read(&mut reader, version).as_ref(), Ok(&request));
        assert_eq!(reader.remaining(), 0);
    }
}

#[test]
fn fetch_request_of_version_18_omits_a_consumers_tagged_fields() {
    let partition = fetch::FetchPartition {
        partition: 3,
        current_leader_epoch: 5,
        fetch_offset: 42,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    let topic = fetch::FetchTopic { topic_id: TOPIC_ID, partitions: vec![partition], ..Default::default() };
    let request = FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 50 << 20,
        isolation_level: 1,
        session_epoch: 0,
        topics: vec![topic],
        rack_id: "r".to_owned(),
        ..Default::default()
    };
    check(
        18,
        "000001f40000000103200000010000000000000000020102030405060708090a0b0c0d0e0f10020000000300000005000000000000002a\
         ffffffffffffffffffffffff00100000000001027200",
        &request,
    );
}

#[test]
fn newest_versions_of_offset_apis_match() {
    let partition = list_offsets::ListOffsetsPartition { partition_index: 3, current_leader_epoch: 5, timestamp: -6 };
    let topic = list_offsets::ListOffsetsTopic { name: "orders".to_owned(), partitions: vec![partition] };
    let request = ListOffsetsRequest { replica_id: -1, isolation_level: 1, topics: vec![topic], timeout_ms: 1500 };
    check(11, "ffffffff0102076f7264657273020000000300000005fffffffffffffffa0000000005dc00", &request);

    let partition = list_offsets::ListOffsetsPartitionResponse {
        partition_index: 3,
        offset: 42,
        leader_epoch: 5,
        ..Default::default()
    };
    let topic = list_offsets::ListOffsetsTopicResponse { name: "orders".to_owned(), partitions: vec![partition] };
    let response = ListOffsetsResponse { throttle_time_ms: 0, topics: vec![topic] };
    check(11, "0000000002076f726465727302000000030000ffffffffffffffff000000000000002a00000005000000", &response);

    let partition = offset_commit::OffsetCommitRequestPartition {
        partition_index: 3,
        committed_offset: 42,
        committed_leader_epoch: 5,
        committed_metadata: Some("note".to_owned()),
    };
    let topic = offset_commit::OffsetCommitRequestTopic {
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: "g".to_owned(),
        generation_id_or_member_epoch: 9,
        member_id: "m".to_owned(),
        group_instance_id: Some("i".to_owned()),
        topics: vec![topic],
        ..Default::default()
    };
    check(
        10,
        "026700000009026d0269020102030405060708090a0b0c0d0e0f100200000003000000000000002a00000005056e6f7465000000",
        &request,
    );

    let topic = offset_fetch::OffsetFetchRequestTopics {
        topic_id: TOPIC_ID,
        partition_indexes: vec![3, 4],
        ..Default::default()
    };
    let group = offset_fetch::OffsetFetchRequestGroup {
        group_id: "g".to_owned(),
        member_id: Some("m".to_owned()),
        member_epoch: 9,
        topics: Some(vec![topic]),
    };
    let request = OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() };
    check(10, "020267026d00000009020102030405060708090a0b0c0d0e0f1003000000030000000400000100", &request);
}

#[test]
fn newest_delete_groups_explains_each_group() {
    check(3, "02026700", &DeleteGroupsRequest { groups_names: vec!["g".to_owned()] });
    let result = delete_groups::DeletableGroupResult {
        group_id: "g".to_owned(),
        error_code: 68,
        error_message: Some("busy".to_owned()),
    };
    let response = DeleteGroupsResponse { throttle_time_ms: 0, results: vec![result] };
    check(3, "00000000020267004405627573790000", &response);
}
