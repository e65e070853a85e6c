//! Topics that cannot be, and topics that are not there.

use pillion_wire::messages::create_topics::CreatableTopic;
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::{CreateTopicsRequest, MetadataRequest};
use uuid::Uuid;

use crate::support::{
    TestBroker, batch, create_topic, fetch_request, metadata, produce, produce_request, produce_with,
};

#[test]
fn names_that_no_topic_may_have_are_invalid_everywhere() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    let long = "x".repeat(250);
    let names = ["", ".", "..", "../up", "a/b", "a\0b", "ä", "a b", "a\n", "\u{202e}x", &long];
    for name in names {
        let topic = CreatableTopic {
            name: name.to_owned(),
            num_partitions: 1,
            replication_factor: 1,
            ..CreatableTopic::default()
        };
        let created = client.call(&CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() }, 7);
        assert_eq!(created.topics[0].error_code, 17, "{name:?}");
        // Asked for in a way that makes unknown topics.
        let topics = Some(vec![MetadataRequestTopic { name: Some(name.to_owned()), topic_id: Uuid::nil() }]);
        let answer = client.call(&MetadataRequest { topics, ..MetadataRequest::default() }, 12);
        assert_eq!(answer.topics[0].error_code, 17, "{name:?}");
        assert_ne!(produce(&mut client, name, 0, batch(&["x"])).error_code, 0, "{name:?}");
    }
    let all = client.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }, 12);
    assert!(all.topics.is_empty(), "{:?}", all.topics);
    create_topic(&mut client, &long[..249], 1, &[]);
}

#[test]
fn what_is_unknown_is_said_to_be_by_name_and_by_id() {
    let broker = TestBroker::fresh(&[("auto.create.topics.enable", "false")]);
    let mut client = broker.client();
    assert_eq!(produce(&mut client, "missing", 0, batch(&["x"])).error_code, 3);
    let mut request = produce_request("", 0, batch(&["x"]));
    for id in [Uuid::nil(), Uuid::from_u128(1)] {
        request.topic_data[0].topic_id = id;
        assert_eq!(produce_with(&mut client, &request, 13).error_code, 100, "{id}");
    }
    let mut request = fetch_request("missing", 0, 0);
    assert_eq!(client.call(&request, 12).responses[0].partitions[0].error_code, 3);
    for id in [Uuid::nil(), Uuid::from_u128(1)] {
        request.topics[0].topic_id = id;
        assert_eq!(client.call(&request, 13).responses[0].partitions[0].error_code, 100, "{id}");
    }
    assert_eq!(metadata(&mut client, &["missing"]).topics[0].error_code, 3);
    let id = create_topic(&mut client, "t", 1, &[]);
    let mut request = produce_request("", 5, batch(&["x"]));
    request.topic_data[0].topic_id = id;
    assert_eq!(produce_with(&mut client, &request, 13).error_code, 3, "the topic has no such partition");
}

#[test]
fn a_topic_is_made_on_first_use_only_where_client_and_broker_allow_it() {
    let broker = TestBroker::fresh(&[("num.partitions", "3")]);
    let mut client = broker.client();
    let ask = |allow| {
        let topics = Some(vec![MetadataRequestTopic { name: Some("new".to_owned()), topic_id: Uuid::nil() }]);
        MetadataRequest { topics, allow_auto_topic_creation: allow, ..MetadataRequest::default() }
    };
    assert_eq!(client.call(&ask(false), 12).topics[0].error_code, 3);
    assert_eq!(client.call(&ask(true), 12).topics[0].error_code, 3, "there was none when it was asked for");
    let made = client.call(&ask(true), 12).topics.remove(0);
    assert_eq!((made.error_code, made.partitions.len()), (0, 3));
    assert_eq!(produce(&mut client, "new", 2, batch(&["x"])).error_code, 0);
}

#[test]
fn partition_counts_and_replicas_beyond_one_node_are_refused() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for (partitions, replicas, code) in
        [(0, 1, 37), (-2, 1, 37), (i32::MAX, 1, 44), (10_001, 1, 44), (1, 0, 38), (1, 3, 38), (1, -2, 38)]
    {
        let topic = CreatableTopic {
            name: "t".to_owned(),
            num_partitions: partitions,
            replication_factor: replicas,
            ..CreatableTopic::default()
        };
        let answer = client.call(&CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() }, 7);
        assert_eq!(answer.topics[0].error_code, code, "{partitions} partitions, {replicas} replicas");
    }
    assert_eq!(metadata(&mut client, &["t"]).topics[0].error_code, 3);
}
