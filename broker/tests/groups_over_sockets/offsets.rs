use pillion_wire::messages::OffsetFetchRequest;
use pillion_wire::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use pillion_wire::{ErrorCode, Message};
use uuid::Uuid;

use super::member::{commit, commit_request, coordinator, fetch};
use super::support::{Client, TestBroker, create_topic, delete_topic, eventually};

#[test]
fn what_was_never_committed_is_minus_one() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    for version in OffsetFetchRequest::VERSIONS {
        let fetched = fetch(&mut client, "nobody", ("orders", topic_id), 0, version);
        assert_eq!((fetched.error_code, fetched.committed_offset), (0, -1), "version {version}");
        assert_eq!(fetched.metadata.as_deref(), Some(""));
    }
}

#[test]
fn topics_and_partitions_that_do_not_exist_are_refused_one_by_one() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    let mut request = commit_request("saga", "orders", topic_id, 0, 7);
    let mut beyond = request.topics[0].partitions[0].clone();
    beyond.partition_index = 1;
    request.topics[0].partitions.push(beyond);
    request.topics.insert(0, commit_request("saga", "missing", Uuid::from_u128(1), 0, 8).topics.remove(0));
    for (version, unknown) in [(9, ErrorCode::UnknownTopicOrPartition), (10, ErrorCode::UnknownTopicId)] {
        let response = client.call(&request, version);
        assert_eq!(response.topics[0].partitions[0].error_code, unknown.code(), "version {version}");
        let results: Vec<i16> = response.topics[1].partitions.iter().map(|partition| partition.error_code).collect();
        assert_eq!(results, [0, ErrorCode::UnknownTopicOrPartition.code()]);
    }
    assert_eq!(fetch(&mut client, "saga", ("orders", topic_id), 0, 9).committed_offset, 7);
    let unknown = fetch(&mut client, "saga", ("", Uuid::from_u128(1)), 0, 10);
    assert_eq!((unknown.error_code, unknown.committed_offset), (ErrorCode::UnknownTopicId.code(), -1));
}

#[test]
fn a_request_without_topics_gets_everything_of_each_group_in_the_order_asked() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let orders_id = create_topic(&mut client, "orders", 2, &[]);
    create_topic(&mut client, "stock", 1, &[]);
    for (group_id, topic, partition, offset) in
        [("first", "stock", 0, 1), ("first", "orders", 1, 2), ("second", "orders", 0, 3)]
    {
        assert_eq!(commit(&mut client, group_id, topic, partition, offset), 0);
    }
    let group =
        |group_id: &str| OffsetFetchRequestGroup { group_id: group_id.to_owned(), topics: None, ..Default::default() };
    let groups = vec![group("second"), group("nobody"), group("first")];
    let request = OffsetFetchRequest { groups, require_stable: true, ..OffsetFetchRequest::default() };
    let response = client.call(&request, 8);
    let ids: Vec<&str> = response.groups.iter().map(|group| &*group.group_id).collect();
    assert_eq!(ids, ["second", "nobody", "first"]);
    assert!(response.groups[1].topics.is_empty());
    let topics: Vec<(&str, i32, i64)> = response.groups[2]
        .topics
        .iter()
        .map(|topic| (&*topic.name, topic.partitions[0].partition_index, topic.partitions[0].committed_offset))
        .collect();
    assert_eq!(topics, [("orders", 1, 2), ("stock", 0, 1)]);
    let by_id = client.call(&request, 10);
    assert_eq!(by_id.groups[0].topics[0].topic_id, orders_id);
}

#[test]
fn a_request_for_no_group_is_answered() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    assert!(client.call(&OffsetFetchRequest::default(), 9).groups.is_empty());
}

#[test]
fn committed_offsets_survive_a_kill() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(commit(&mut client, "saga", "orders", 0, 7), 0);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let topics =
        OffsetFetchRequestTopics { name: "orders".to_owned(), partition_indexes: vec![0], ..Default::default() };
    let group = OffsetFetchRequestGroup {
        group_id: "saga".to_owned(),
        topics: Some(vec![topics]),
        ..OffsetFetchRequestGroup::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], require_stable: true, ..OffsetFetchRequest::default() };
    eventually("loading the group", || {
        let group = client.call(&request, 9).groups.remove(0);
        assert!([0, ErrorCode::CoordinatorLoadInProgress.code()].contains(&group.error_code));
        group.error_code == 0 && group.topics[0].partitions[0].committed_offset == 7
    });
}

#[test]
fn a_topic_made_again_under_its_old_name_has_no_committed_offsets() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(commit(&mut client, "saga", "orders", 0, 7), 0);
    assert_eq!(fetch(&mut client, "saga", ("orders", topic_id), 0, 9).committed_offset, 7);
    delete_topic(&mut client, "orders");
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    eventually("forgetting", || fetch(&mut client, "saga", ("orders", topic_id), 0, 9).committed_offset == -1);
}

#[test]
fn a_commits_leader_epoch_is_the_one_its_consumer_read_in_whatever_the_brokers_is() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 3, &[]);
    let commit_in = |client: &mut Client, partition, epoch| {
        let mut request = commit_request("saga", "orders", topic_id, partition, 42);
        request.topics[0].partitions[0].committed_leader_epoch = epoch;
        client.call(&request, 8).topics[0].partitions[0].error_code
    };
    let epoch_of = |client: &mut Client, partition| {
        let fetched = fetch(client, "saga", ("orders", topic_id), partition, 7);
        assert_eq!(fetched.committed_offset, 42);
        fetched.committed_leader_epoch
    };
    for (partition, epoch) in [(0, 7), (1, 0), (2, -1)] {
        assert_eq!(commit_in(&mut client, partition, epoch), 0);
        assert_eq!(epoch_of(&mut client, partition), epoch);
    }
    broker.abandon();
    // The broker leads in the next epoch now.
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    eventually("loading the group", || commit_in(&mut client, 0, 8) == 0);
    assert_eq!([0, 1, 2].map(|partition| epoch_of(&mut client, partition)), [8, 0, -1]);
}
