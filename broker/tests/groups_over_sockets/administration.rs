use pillion_wire::messages::list_groups::ListedGroup;
use pillion_wire::messages::offset_delete::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use pillion_wire::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, LeaveGroupRequest, ListGroupsRequest, OffsetDeleteRequest,
};
use pillion_wire::{ErrorCode, Message};
use uuid::Uuid;

use super::member::{commit, commit_request, coordinator, fetch, join, sync};
use super::support::{Client, TestBroker, create_topic, eventually};

/// All operations Kafka has for groups: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
const OPERATIONS: i32 = 0xD48;

fn list(client: &mut Client, states: &[&str], types: &[&str], version: i16) -> Vec<ListedGroup> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let request = ListGroupsRequest { states_filter: owned(states), types_filter: owned(types) };
    let mut response = client.call(&request, version);
    assert_eq!(response.error_code, 0);
    response.groups.sort_by(|one, other| one.group_id.cmp(&other.group_id));
    response.groups
}

fn names(groups: &[ListedGroup]) -> Vec<&str> {
    groups.iter().map(|group| group.group_id.as_str()).collect()
}

fn delete(client: &mut Client, groups: &[&str], version: i16) -> Vec<(String, i16)> {
    let groups_names = groups.iter().map(|name| (*name).to_owned()).collect();
    let response = client.call(&DeleteGroupsRequest { groups_names }, version);
    response.results.into_iter().map(|result| (result.group_id, result.error_code)).collect()
}

fn delete_offsets(client: &mut Client, group_id: &str, partitions: &[(&str, i32)]) -> (i16, Vec<i16>) {
    let topic = |(name, partition_index): &(&str, i32)| OffsetDeleteRequestTopic {
        name: (*name).to_owned(),
        partitions: vec![OffsetDeleteRequestPartition { partition_index: *partition_index }],
    };
    let topics = partitions.iter().map(topic).collect();
    let response = client.call(&OffsetDeleteRequest { group_id: group_id.to_owned(), topics }, 0);
    (response.error_code, response.topics.iter().map(|topic| topic.partitions[0].error_code).collect())
}

#[test]
fn groups_are_listed_with_their_state_and_only_those_wanted() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(commit(&mut client, "simple", "orders", 0, 7), 0);
    let joined = join(&mut client, "working", 9);
    sync(&mut client, "working", &joined, 5);
    for version in ListGroupsRequest::VERSIONS {
        let listed = list(&mut client, &[], &[], version);
        assert_eq!(names(&listed), ["simple", "working"], "version {version}");
        assert_eq!((&*listed[0].protocol_type, &*listed[1].protocol_type), ("", "consumer"));
        let states = if version >= 4 { ["Empty", "Stable"] } else { ["", ""] };
        assert_eq!([&*listed[0].group_state, &*listed[1].group_state], states, "version {version}");
        assert_eq!(listed[0].group_type, if version >= 5 { "classic" } else { "" });
    }
    for (states, types, expected) in [
        (&["stable"][..], &[][..], &["working"][..]),
        (&["Empty", "Dead"], &["Classic"], &["simple"]),
        (&["unheard of"], &[], &[]),
        (&[], &["consumer"], &[]),
        (&[], &["unheard of", "classic"], &["simple", "working"]),
    ] {
        assert_eq!(names(&list(&mut client, states, types, 5)), expected, "{states:?} {types:?}");
    }
}

#[test]
fn before_there_is_an_offsets_topic_there_are_no_groups() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    assert!(list(&mut client, &[], &[], 5).is_empty());
    let not_coordinator = ErrorCode::NotCoordinator.code();
    let request = DescribeGroupsRequest { groups: vec!["saga".to_owned()], include_authorized_operations: false };
    assert_eq!(client.call(&request, 6).groups[0].error_code, not_coordinator);
    assert_eq!(delete(&mut client, &["saga"], 2), [("saga".to_owned(), not_coordinator)]);
    assert_eq!(delete_offsets(&mut client, "saga", &[("orders", 0)]).0, not_coordinator);
}

#[test]
fn a_group_is_described_in_every_version_and_one_that_does_not_exist_as_the_version_knows_it() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let joined = join(&mut client, "saga", 9);
    sync(&mut client, "saga", &joined, 5);
    for version in DescribeGroupsRequest::VERSIONS {
        let request = DescribeGroupsRequest {
            groups: vec!["saga".to_owned(), "missing".to_owned()],
            include_authorized_operations: version >= 3,
        };
        let groups = client.call(&request, version).groups;
        let (saga, missing) = (&groups[0], &groups[1]);
        assert_eq!((saga.error_code, &*saga.group_id, &*saga.group_state), (0, "saga", "Stable"), "version {version}");
        assert_eq!((&*saga.protocol_type, &*saga.protocol_data, saga.members.len()), ("consumer", "range", 1));
        let member = &saga.members[0];
        assert_eq!((&member.member_id, &*member.client_host), (&joined.member_id, "/127.0.0.1"));
        assert_eq!((&*member.member_metadata, &*member.member_assignment), (&b"all"[..], &b"everything"[..]));
        assert_eq!(saga.authorized_operations, if version >= 3 { OPERATIONS } else { i32::MIN });
        assert_eq!((&*missing.group_state, missing.members.len()), ("Dead", 0), "version {version}");
        if version >= 6 {
            assert_eq!(missing.error_code, ErrorCode::GroupIdNotFound.code());
            assert_eq!(missing.error_message.as_deref(), Some("Group missing not found."));
            assert_eq!(missing.authorized_operations, i32::MIN);
        } else {
            assert_eq!(missing.error_code, 0, "version {version}");
        }
    }
    let request = DescribeGroupsRequest { groups: vec!["saga".to_owned()], include_authorized_operations: false };
    assert_eq!(client.call(&request, 6).groups[0].authorized_operations, i32::MIN);
}

#[test]
fn a_deleted_group_stays_deleted_over_a_kill() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    let joined = join(&mut client, "saga", 9);
    let mut request = commit_request("saga", "orders", topic_id, 0, 42);
    request.member_id.clone_from(&joined.member_id);
    request.generation_id_or_member_epoch = joined.generation_id;
    sync(&mut client, "saga", &joined, 5);
    assert_eq!(client.call(&request, 10).topics[0].partitions[0].error_code, 0);
    let non_empty = ErrorCode::NonEmptyGroup.code();
    assert_eq!(delete(&mut client, &["saga"], 2), [("saga".to_owned(), non_empty)]);
    let member_id = joined.member_id.clone();
    let leave = LeaveGroupRequest { group_id: "saga".to_owned(), member_id, ..LeaveGroupRequest::default() };
    assert_eq!(client.call(&leave, 1).error_code, 0);
    let not_found = ErrorCode::GroupIdNotFound.code();
    let deleted = delete(&mut client, &["saga", "missing", "saga"], 3);
    assert_eq!(deleted, [("saga".to_owned(), 0), ("missing".to_owned(), not_found)], "each group is answered once");
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    eventually("loading the group", || delete(&mut client, &["saga"], 2)[0].1 == not_found);
    assert_eq!(fetch(&mut client, "saga", ("orders", topic_id), 0, 10).committed_offset, -1);
}

#[test]
fn offsets_are_deleted_one_by_one() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 2, &[]);
    for partition in 0..2 {
        assert_eq!(commit(&mut client, "saga", "orders", partition, 7), 0);
    }
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let asked = [("missing", 0), ("orders", 1), ("orders", 9)];
    assert_eq!(delete_offsets(&mut client, "saga", &asked), (0, vec![unknown, 0, unknown]));
    assert_eq!(fetch(&mut client, "saga", ("orders", Uuid::nil()), 0, 9).committed_offset, 7);
    assert_eq!(fetch(&mut client, "saga", ("orders", Uuid::nil()), 1, 9).committed_offset, -1);
    let not_found = ErrorCode::GroupIdNotFound.code();
    assert_eq!(delete_offsets(&mut client, "missing", &[("orders", 0)]), (not_found, vec![]));
    assert_eq!(delete_offsets(&mut client, "", &[("orders", 0)]).0, ErrorCode::InvalidGroupId.code());
}
