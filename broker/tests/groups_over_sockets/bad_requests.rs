use pillion_wire::ErrorCode;
use pillion_wire::messages::leave_group::MemberIdentity;
use pillion_wire::messages::offset_fetch::OffsetFetchRequestTopic;
use pillion_wire::messages::{HeartbeatRequest, LeaveGroupRequest, OffsetFetchRequest, SyncGroupRequest};
use uuid::Uuid;

use super::member::{commit_request, coordinator, join_request};
use super::support::{TestBroker, create_topic};

#[test]
fn before_anyone_asked_for_the_coordinator_this_is_none() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "orders", 1, &[]);
    let not_coordinator = ErrorCode::NotCoordinator.code();
    assert_eq!(client.call(&join_request("saga", ""), 9).error_code, not_coordinator);
    assert_eq!(client.call(&SyncGroupRequest::default(), 5).error_code, not_coordinator);
    assert_eq!(client.call(&HeartbeatRequest::default(), 4).error_code, not_coordinator);
    assert_eq!(client.call(&LeaveGroupRequest::default(), 5).error_code, not_coordinator);
    let committed = client.call(&commit_request("saga", "orders", Uuid::nil(), 0, 1), 9);
    assert_eq!(committed.topics[0].partitions[0].error_code, not_coordinator);
    let topics = vec![OffsetFetchRequestTopic { name: "orders".to_owned(), partition_indexes: vec![0, 1] }];
    let request = OffsetFetchRequest { group_id: "saga".to_owned(), topics: Some(topics), ..Default::default() };
    assert_eq!(client.call(&request, 7).error_code, not_coordinator);
    let oldest = client.call(&request, 1);
    let errors: Vec<i16> = oldest.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(errors, [not_coordinator, not_coordinator], "version 1 has no other place for it");
}

#[test]
fn a_group_without_a_name_has_no_members() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let invalid = ErrorCode::InvalidGroupId.code();
    assert_eq!(client.call(&join_request("", ""), 9).error_code, invalid);
    assert_eq!(client.call(&SyncGroupRequest::default(), 5).error_code, invalid);
    assert_eq!(client.call(&HeartbeatRequest::default(), 4).error_code, invalid);
    assert_eq!(client.call(&LeaveGroupRequest::default(), 5).error_code, invalid);
}

#[test]
fn refused_joins_answer_in_every_version() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    for version in 0..=9 {
        let mut request = join_request("saga", "");
        request.session_timeout_ms = 1;
        let answer = client.call(&request, version);
        assert_eq!(answer.error_code, ErrorCode::InvalidSessionTimeout.code(), "version {version}");
        assert_eq!((answer.generation_id, &*answer.leader), (-1, ""));
        assert_eq!(answer.protocol_name, if version >= 7 { None } else { Some(String::new()) });
        let answer = client.call(&join_request("saga", "made-up"), version);
        assert_eq!(answer.error_code, ErrorCode::UnknownMemberId.code(), "version {version}");
        assert_eq!(answer.member_id, "made-up");
    }
}

#[test]
fn a_leave_of_nobody_is_told_where_the_version_has_a_place_for_it() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let unknown = ErrorCode::UnknownMemberId.code();
    let member = |member_id: &str| MemberIdentity { member_id: member_id.to_owned(), ..MemberIdentity::default() };
    let one = LeaveGroupRequest {
        group_id: "saga".to_owned(),
        member_id: "made-up".to_owned(),
        ..LeaveGroupRequest::default()
    };
    assert_eq!(client.call(&one, 2).error_code, unknown);
    let several = LeaveGroupRequest {
        group_id: "saga".to_owned(),
        members: vec![member("made-up"), member("neither")],
        ..LeaveGroupRequest::default()
    };
    let left = client.call(&several, 5);
    assert_eq!(left.error_code, 0);
    let results: Vec<(&str, i16)> = left.members.iter().map(|member| (&*member.member_id, member.error_code)).collect();
    assert_eq!(results, [("made-up", unknown), ("neither", unknown)]);
}

#[test]
fn commit_metadata_beyond_the_limit_is_too_large() {
    let broker = TestBroker::fresh(&[("offset.metadata.max.bytes", "8")]);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    let mut request = commit_request("saga", "orders", Uuid::nil(), 0, 1);
    request.topics[0].partitions[0].committed_metadata = Some("123456789".to_owned());
    let committed = client.call(&request, 9);
    assert_eq!(committed.topics[0].partitions[0].error_code, ErrorCode::OffsetMetadataTooLarge.code());
}
