//! Topics made, deleted and described by requests with corners. Codes are those of an Apache Kafka 4.4 broker.

use pillion_wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatableTopicResult,
};
use pillion_wire::messages::delete_topics::DeleteTopicState;
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::{CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, MetadataResponse};
use uuid::Uuid;

use crate::support::{Client, TestBroker, create_topic, metadata};

/// A topic whose numbers are the broker's to choose.
fn topic(name: &str) -> CreatableTopic {
    CreatableTopic { name: name.to_owned(), num_partitions: -1, replication_factor: -1, ..CreatableTopic::default() }
}

fn create(client: &mut Client, topic: CreatableTopic, validate_only: bool) -> CreatableTopicResult {
    let request = CreateTopicsRequest { topics: vec![topic], validate_only, ..CreateTopicsRequest::default() };
    client.call(&request, 7).topics.remove(0)
}

#[test]
fn dots_and_underscores_are_not_told_apart_in_new_names() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "a.b", 1, &[]);
    for validate_only in [true, false] {
        assert_eq!(create(&mut client, topic("a_b"), validate_only).error_code, 17);
        assert_eq!(create(&mut client, topic("a.b"), validate_only).error_code, 36);
    }
    assert_eq!(create(&mut client, topic("a-b"), false).error_code, 0);
    let topics = vec![topic("c_d"), topic("c.d")];
    let made = client.call(&CreateTopicsRequest { topics, ..CreateTopicsRequest::default() }, 7).topics;
    assert_eq!([made[0].error_code, made[1].error_code], [0, 17]);
    let asked = Some(vec![MetadataRequestTopic { name: Some("a_b".to_owned()), topic_id: Uuid::nil() }]);
    let asked = MetadataRequest { topics: asked, ..MetadataRequest::default() };
    assert_ne!(client.call(&asked, 12).topics[0].error_code, 0, "nor is it made by asking for it");
}

#[test]
fn a_topic_that_is_only_checked_is_described_and_not_made() {
    let broker = TestBroker::fresh(&[("num.partitions", "3"), ("log.retention.hours", "1")]);
    let mut client = broker.client();
    let config = CreatableTopicConfig { name: "flush.ms".to_owned(), value: Some("5".to_owned()) };
    let wanted = || CreatableTopic { configs: vec![config.clone()], ..topic("t") };
    let checked = create(&mut client, wanted(), true);
    assert_eq!((checked.error_code, checked.num_partitions, checked.replication_factor), (0, 3, 1));
    assert_eq!(metadata(&mut client, &["t"]).topics[0].error_code, 3);
    let made = create(&mut client, wanted(), false);
    assert_eq!((made.num_partitions, &made.configs), (3, &checked.configs));
    assert_ne!(made.topic_id, Uuid::nil());
    let configs = made.configs.expect("settings are told");
    assert_eq!(configs.len(), 37);
    let source = |name: &str| configs.iter().find(|config| config.name == name).map(|config| config.config_source);
    assert_eq!(["flush.ms", "retention.ms", "segment.bytes"].map(source), [Some(1), Some(4), Some(5)]);
}

#[test]
fn an_assignment_names_this_node_for_each_partition_from_0() {
    let broker = TestBroker::fresh(&[("node.id", "5")]);
    let mut client = broker.client();
    let assigned = |assignments: &[(i32, &[i32])]| {
        let assignment = |(partition_index, broker_ids): &(i32, &[i32])| CreatableReplicaAssignment {
            partition_index: *partition_index,
            broker_ids: broker_ids.to_vec(),
        };
        CreatableTopic { assignments: assignments.iter().map(assignment).collect(), ..topic("t") }
    };
    for assignments in [
        &[(0, &[9] as &[i32])] as &[(i32, &[i32])],
        &[(0, &[5]), (1, &[5, 9])],
        &[(0, &[])],
        &[(0, &[5, 5])],
        &[(0, &[5]), (2, &[5])],
        &[(1, &[5])],
        &[(0, &[5]), (0, &[5])],
        &[(-1, &[5])],
    ] {
        let refused = create(&mut client, assigned(assignments), false);
        assert_eq!(refused.error_code, 39, "{assignments:?}");
        assert_eq!((refused.num_partitions, refused.replication_factor), (-1, -1));
    }
    for (num_partitions, replication_factor) in [(1, -1), (-1, 1)] {
        let both = CreatableTopic { num_partitions, replication_factor, ..assigned(&[(0, &[5])]) };
        assert_eq!(create(&mut client, both, false).error_code, 42);
    }
    let made = create(&mut client, assigned(&[(1, &[5]), (0, &[5])]), false);
    assert_eq!((made.error_code, made.num_partitions, made.replication_factor), (0, 2, 1));
}

#[test]
fn a_setting_without_a_value_is_no_setting() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let configs = vec![CreatableTopicConfig { name: "retention.ms".to_owned(), value: None }];
    assert_eq!(create(&mut client, CreatableTopic { configs, ..topic("t") }, false).error_code, 40);
}

#[test]
fn a_topic_is_deleted_by_its_id_and_not_by_two_names_at_once() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "u", 1, &[]);
    let delete = |client: &mut Client, topics: &[(Option<&str>, Uuid)]| {
        let topic = |(name, topic_id): &(Option<&str>, Uuid)| DeleteTopicState {
            name: name.map(str::to_owned),
            topic_id: *topic_id,
        };
        let topics = topics.iter().map(topic).collect();
        let answer = client.call(&DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() }, 6);
        answer.responses.into_iter().map(|topic| topic.error_code).collect::<Vec<_>>()
    };
    let nil = Uuid::nil();
    assert_eq!(
        delete(&mut client, &[(Some("t"), id), (None, nil), (Some("no"), nil), (None, Uuid::from_u128(7))]),
        [42, 42, 3, 100]
    );
    assert_eq!(delete(&mut client, &[(Some("t"), nil), (None, id)]), [42], "one topic, named twice");
    assert_eq!(delete(&mut client, &[(Some("u"), nil), (Some("u"), nil)]), [42]);
    assert_eq!(metadata(&mut client, &["t", "u"]).topics.iter().map(|topic| topic.error_code).sum::<i16>(), 0);
    assert_eq!(delete(&mut client, &[(None, id)]), [0]);
    assert_eq!(metadata(&mut client, &["t"]).topics[0].error_code, 3);
}

fn ask(client: &mut Client, version: i16, topics: &[(Option<&str>, Uuid)], include: bool) -> MetadataResponse {
    let topic = |(name, topic_id): &(Option<&str>, Uuid)| MetadataRequestTopic {
        name: name.map(str::to_owned),
        topic_id: *topic_id,
    };
    let request = MetadataRequest {
        topics: Some(topics.iter().map(topic).collect()),
        allow_auto_topic_creation: false,
        include_topic_authorized_operations: include,
        include_cluster_authorized_operations: include && (8..=10).contains(&version),
    };
    client.call(&request, version)
}

#[test]
fn metadata_tells_what_may_be_done_when_asked() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let nil = Uuid::nil();
    let topics = [(Some("t"), nil), (Some("no"), nil)];
    for (include, on_topic, on_cluster) in [(true, 3576, 8096), (false, i32::MIN, i32::MIN)] {
        let answer = ask(&mut client, 8, &topics, include);
        assert!(answer.topics.iter().all(|topic| topic.topic_authorized_operations == on_topic));
        assert_eq!(answer.cluster_authorized_operations, on_cluster);
        let answer = ask(&mut client, 12, &topics, include);
        assert!(answer.topics.iter().all(|topic| topic.topic_authorized_operations == on_topic));
    }
}

#[test]
fn metadata_describes_a_topic_once_and_believes_its_id() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "u", 1, &[]);
    let nil = Uuid::nil();
    let names = |answer: MetadataResponse| answer.topics.into_iter().map(|topic| topic.name.unwrap_or_default());
    let asked = [(Some("t"), nil), (None, id), (Some("t"), nil), (Some("u"), nil)];
    assert_eq!(names(ask(&mut client, 12, &asked, false)).collect::<Vec<_>>(), ["t", "u"]);
    assert_eq!(names(ask(&mut client, 12, &[(Some("u"), id)], false)).collect::<Vec<_>>(), ["t"]);
    let unknown = [(Some("no"), nil), (Some("no"), nil), (None, Uuid::from_u128(7)), (None, Uuid::from_u128(7))];
    let codes: Vec<_> = ask(&mut client, 12, &unknown, false).topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [3, 100]);
    for version in [10, 11] {
        let refused = ask(&mut client, version, &[(None, id)], false);
        assert_eq!((refused.topics[0].error_code, refused.brokers.len()), (42, 0), "version {version}");
    }
}
