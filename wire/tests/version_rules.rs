//! What a version cannot carry: refused when it would change the meaning, dropped when the schema says it may be.

use bytes::Bytes;
use pillion_wire::messages::fetch::{FetchPartition, FetchTopic, ForgottenTopic};
use pillion_wire::messages::*;
use pillion_wire::{ApiMessage, DecodeError, EncodeError, Message, Reader, Records, Request, Writer};

fn encode<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    message.write(&mut writer, version)?;
    Ok(writer.into_bytes())
}

fn decode<M: Message>(bytes: &Bytes, version: i16) -> Result<M, DecodeError> {
    M::read(&mut Reader::new(bytes), version)
}

#[test]
fn a_value_in_a_field_the_version_lacks_is_refused() {
    let forgotten = ForgottenTopic { topic: "orders".to_owned(), partitions: vec![0], ..Default::default() };
    let request = FetchRequest { forgotten_topics_data: vec![forgotten], ..Default::default() };
    let refused = EncodeError::FieldNotInVersion { field: "forgotten_topics_data", version: 6 };
    assert_eq!(encode(&request, 6), Err(refused));
    assert!(encode(&request, 7).is_ok());

    let partition = FetchPartition { last_fetched_epoch: 3, ..Default::default() };
    let topic = FetchTopic { topic: "orders".to_owned(), partitions: vec![partition], ..Default::default() };
    let request = FetchRequest { topics: vec![topic], ..Default::default() };
    let refused = EncodeError::FieldNotInVersion { field: "last_fetched_epoch", version: 11 };
    assert_eq!(encode(&request, 11), Err(refused), "also within nested structs");

    let request = HeartbeatRequest { group_instance_id: Some("i".to_owned()), ..Default::default() };
    let refused = EncodeError::FieldNotInVersion { field: "group_instance_id", version: 2 };
    assert_eq!(encode(&request, 2), Err(refused));
}

#[test]
fn an_ignorable_field_the_version_lacks_is_dropped() {
    let request = FetchRequest { rack_id: "r".to_owned(), session_id: 7, ..Default::default() };
    let decoded = decode::<FetchRequest>(&encode(&request, 4).expect("ignorable fields are dropped"), 4);
    assert_eq!(decoded, Ok(FetchRequest::default()));
}

#[test]
fn null_is_refused_where_the_version_has_none() {
    let everything = MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(encode(&everything, 0), Err(EncodeError::UnexpectedNull { field: "topics", version: 0 }));
    let bytes = encode(&everything, 1).expect("version 1 has null");
    assert_eq!(decode(&bytes, 1), Ok(everything));
    assert_eq!(decode::<MetadataRequest>(&bytes, 0), Err(DecodeError::InvalidLength(-1)));

    // A null group id, which no version allows.
    for (frame, version) in [([0xff, 0xff, 0, 0, 0, 0, 0, 0], 0), ([0, 0, 0, 0, 0, 1, 0, 0], 4)] {
        let read = decode::<HeartbeatRequest>(&Bytes::copy_from_slice(&frame), version);
        assert_eq!(read, Err(DecodeError::InvalidLength(-1)), "version {version}");
    }
}

#[test]
fn versions_outside_the_range_are_unknown() {
    for version in [-1, 2, 11, i16::MAX] {
        let message = "OffsetFetchRequest";
        let request = OffsetFetchRequest::default();
        let known = OffsetFetchRequest::VERSIONS.contains(&version);
        let refused = EncodeError::UnknownVersion { message, version };
        assert_eq!(encode(&request, version).err(), (!known).then_some(refused));
        let bytes = encode(&request, 2).expect("version 2 is known");
        let refused = DecodeError::UnknownVersion { message, version };
        assert_eq!(decode::<OffsetFetchRequest>(&bytes, version).err(), (!known).then_some(refused));
    }
}

#[test]
fn strings_too_long_for_their_length_field_are_refused() {
    let request = HeartbeatRequest { group_id: "g".repeat(40_000), ..Default::default() };
    assert_eq!(encode(&request, 3), Err(EncodeError::TooLong(40_000)));
    assert!(encode(&request, 4).is_ok(), "compact lengths have room");
}

#[test]
fn a_tagged_field_is_sent_only_when_it_is_not_its_default() {
    let default = encode(&ApiVersionsResponse::default(), 3).expect("encodes");
    assert_eq!(default.last(), Some(&0), "no tagged fields");
    let response = ApiVersionsResponse { finalized_features_epoch: 0, ..Default::default() };
    let bytes = encode(&response, 3).expect("encodes");
    assert_eq!(bytes.slice(default.len() - 1..), Bytes::from_static(&[1, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(decode(&bytes, 3), Ok(response));
}

#[test]
fn records_are_null_empty_or_bytes() {
    for records in [None, Some(Records::Bytes(Bytes::new())), Some(Records::Bytes(Bytes::from_static(b"batch")))] {
        let partition = fetch::PartitionData { records, ..Default::default() };
        let topic = fetch::FetchableTopicResponse { partitions: vec![partition], ..Default::default() };
        let response = FetchResponse { responses: vec![topic], ..Default::default() };
        for version in FetchResponse::VERSIONS {
            let bytes = encode(&response, version).expect("encodes");
            assert_eq!(decode(&bytes, version).as_ref(), Ok(&response), "version {version}");
        }
    }
}

/// A request and its response share the key, the name, the versions and where they turn flexible.
fn check_pair<R: Request>(key: i16, api: &str) {
    assert_eq!((R::KEY, R::API), (key, api));
    assert_eq!((R::Response::KEY, R::Response::API), (key, api));
    assert_eq!(R::NAME, format!("{api}Request"));
    assert_eq!(R::Response::NAME, format!("{api}Response"));
    assert_eq!(R::VERSIONS, R::Response::VERSIONS, "{api}");
    assert_eq!(R::FLEXIBLE_FROM, R::Response::FLEXIBLE_FROM, "{api}");
}

#[test]
fn requests_and_responses_belong_to_the_same_api() {
    check_pair::<ProduceRequest>(0, "Produce");
    check_pair::<FetchRequest>(1, "Fetch");
    check_pair::<ListOffsetsRequest>(2, "ListOffsets");
    check_pair::<MetadataRequest>(3, "Metadata");
    check_pair::<OffsetCommitRequest>(8, "OffsetCommit");
    check_pair::<OffsetFetchRequest>(9, "OffsetFetch");
    check_pair::<FindCoordinatorRequest>(10, "FindCoordinator");
    check_pair::<JoinGroupRequest>(11, "JoinGroup");
    check_pair::<HeartbeatRequest>(12, "Heartbeat");
    check_pair::<LeaveGroupRequest>(13, "LeaveGroup");
    check_pair::<SyncGroupRequest>(14, "SyncGroup");
    check_pair::<DescribeGroupsRequest>(15, "DescribeGroups");
    check_pair::<ListGroupsRequest>(16, "ListGroups");
    check_pair::<SaslHandshakeRequest>(17, "SaslHandshake");
    check_pair::<ApiVersionsRequest>(18, "ApiVersions");
    check_pair::<CreateTopicsRequest>(19, "CreateTopics");
    check_pair::<DeleteTopicsRequest>(20, "DeleteTopics");
    check_pair::<DeleteRecordsRequest>(21, "DeleteRecords");
    check_pair::<InitProducerIdRequest>(22, "InitProducerId");
    check_pair::<OffsetForLeaderEpochRequest>(23, "OffsetForLeaderEpoch");
    check_pair::<AddPartitionsToTxnRequest>(24, "AddPartitionsToTxn");
    check_pair::<AddOffsetsToTxnRequest>(25, "AddOffsetsToTxn");
    check_pair::<EndTxnRequest>(26, "EndTxn");
    check_pair::<WriteTxnMarkersRequest>(27, "WriteTxnMarkers");
    check_pair::<TxnOffsetCommitRequest>(28, "TxnOffsetCommit");
    check_pair::<DescribeConfigsRequest>(32, "DescribeConfigs");
    check_pair::<AlterConfigsRequest>(33, "AlterConfigs");
    check_pair::<SaslAuthenticateRequest>(36, "SaslAuthenticate");
    check_pair::<CreatePartitionsRequest>(37, "CreatePartitions");
    check_pair::<DeleteGroupsRequest>(42, "DeleteGroups");
    check_pair::<IncrementalAlterConfigsRequest>(44, "IncrementalAlterConfigs");
    check_pair::<OffsetDeleteRequest>(47, "OffsetDelete");
    check_pair::<DescribeClusterRequest>(60, "DescribeCluster");
    check_pair::<DescribeProducersRequest>(61, "DescribeProducers");
    check_pair::<DescribeTransactionsRequest>(65, "DescribeTransactions");
    check_pair::<ListTransactionsRequest>(66, "ListTransactions");
}

#[test]
fn tokens_of_authentication_are_not_in_the_debug_output() {
    let request = SaslAuthenticateRequest { auth_bytes: bytes::Bytes::from_static(b"\0alice\0s3cr3t") };
    assert!(!format!("{request:?}").contains("115, 51"));
    assert!(format!("{request:?}").contains("13"));
}
