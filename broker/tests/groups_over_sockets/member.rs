//! A member of a group over one connection, in versions of a test's choice.

use pillion_wire::ErrorCode;
use pillion_wire::messages::join_group::JoinGroupRequestProtocol;
use pillion_wire::messages::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use pillion_wire::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics, OffsetFetchResponsePartitions,
};
use pillion_wire::messages::sync_group::SyncGroupRequestAssignment;
use pillion_wire::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, OffsetCommitRequest,
    OffsetFetchRequest, SyncGroupRequest, SyncGroupResponse,
};
use uuid::Uuid;

use super::support::{Client, TestBroker};

/// Finds the coordinator, which makes the offsets topic, and stays connected.
pub(crate) fn coordinator(broker: &TestBroker) -> Client {
    let mut client = broker.client();
    let found = client.call(&FindCoordinatorRequest { key: "any".to_owned(), ..Default::default() }, 3);
    assert_eq!(found.error_code, 0);
    client
}

pub(crate) fn join_request(group_id: &str, member_id: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group_id.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        member_id: member_id.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".to_owned(), metadata: "all".into() }],
        ..JoinGroupRequest::default()
    }
}

/// Joins a group nobody else is in, with a second request where the first only tells the member id.
pub(crate) fn join(client: &mut Client, group_id: &str, version: i16) -> JoinGroupResponse {
    let first = client.call(&join_request(group_id, ""), version);
    if version < 4 {
        return first;
    }
    assert_eq!(first.error_code, ErrorCode::MemberIdRequired.code());
    client.call(&join_request(group_id, &first.member_id), version)
}

/// Brings an assignment for oneself.
pub(crate) fn sync(client: &mut Client, group_id: &str, joined: &JoinGroupResponse, version: i16) -> SyncGroupResponse {
    let assignment =
        SyncGroupRequestAssignment { member_id: joined.member_id.clone(), assignment: "everything".into() };
    let request = SyncGroupRequest {
        group_id: group_id.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        assignments: vec![assignment],
        ..SyncGroupRequest::default()
    };
    client.call(&request, version)
}

pub(crate) fn heartbeat(client: &mut Client, group_id: &str, joined: &JoinGroupResponse, version: i16) -> i16 {
    let request = HeartbeatRequest {
        group_id: group_id.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        ..HeartbeatRequest::default()
    };
    client.call(&request, version).error_code
}

/// A commit of one partition, by a consumer without membership.
pub(crate) fn commit_request(
    group_id: &str,
    topic: &str,
    topic_id: Uuid,
    partition: i32,
    offset: i64,
) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition {
        partition_index: partition,
        committed_offset: offset,
        committed_leader_epoch: 0,
        committed_metadata: Some("noted".to_owned()),
    };
    let topic = OffsetCommitRequestTopic { name: topic.to_owned(), topic_id, partitions: vec![partition] };
    OffsetCommitRequest { group_id: group_id.to_owned(), topics: vec![topic], ..OffsetCommitRequest::default() }
}

/// Commits without membership; the partition's result.
pub(crate) fn commit(client: &mut Client, group_id: &str, topic: &str, partition: i32, offset: i64) -> i16 {
    let request = commit_request(group_id, topic, Uuid::nil(), partition, offset);
    client.call(&request, 8).topics[0].partitions[0].error_code
}

/// Fetches one partition's offset in any version, in the form of the later ones.
pub(crate) fn fetch(
    client: &mut Client,
    group_id: &str,
    (topic, topic_id): (&str, Uuid),
    partition: i32,
    version: i16,
) -> OffsetFetchResponsePartitions {
    if version < 8 {
        let topic = OffsetFetchRequestTopic { name: topic.to_owned(), partition_indexes: vec![partition] };
        let request = OffsetFetchRequest {
            group_id: group_id.to_owned(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequest::default()
        };
        let response = client.call(&request, version);
        assert_eq!(response.error_code, 0);
        let fetched = &response.topics[0].partitions[0];
        return OffsetFetchResponsePartitions {
            partition_index: fetched.partition_index,
            committed_offset: fetched.committed_offset,
            committed_leader_epoch: fetched.committed_leader_epoch,
            metadata: fetched.metadata.clone(),
            error_code: fetched.error_code,
        };
    }
    let topic = OffsetFetchRequestTopics { name: topic.to_owned(), topic_id, partition_indexes: vec![partition] };
    let group = OffsetFetchRequestGroup {
        group_id: group_id.to_owned(),
        topics: Some(vec![topic]),
        ..OffsetFetchRequestGroup::default()
    };
    let response = client.call(&OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() }, version);
    assert_eq!(response.groups[0].error_code, 0);
    response.groups[0].topics[0].partitions[0].clone()
}
