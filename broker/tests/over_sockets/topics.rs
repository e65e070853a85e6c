//! Topics made, deleted and made again.

use std::sync::atomic::{AtomicBool, Ordering};

use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::produce::TopicProduceData;
use pillion_wire::messages::{CreateTopicsRequest, DescribeConfigsRequest, MetadataRequest};

use crate::support::{
    Client, TestBroker, batch, create_topic, delete_topic, fetch, list_offset, metadata, produce, produce_request,
    produce_with, read_all,
};

#[test]
fn a_topic_made_again_at_once_is_new_and_empty() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    let mut last = None;
    for round in 0..10 {
        let id = create_topic(&mut client, "t", 3, &[]);
        assert_ne!(last, Some(id));
        for partition in 0..3 {
            assert_eq!(list_offset(&mut client, "t", partition, -1).offset, 0, "round {round}");
            let answer = produce(&mut client, "t", partition, batch(&[&format!("round {round}")]));
            assert_eq!((answer.error_code, answer.base_offset), (0, 0), "round {round}");
            let records = read_all(&mut client, "t", partition);
            assert_eq!(records[0].value.as_deref(), Some(format!("round {round}").as_bytes()));
        }
        if let Some(old) = last {
            let mut request = produce_request("", 0, batch(&["late"]));
            request.topic_data = vec![TopicProduceData { topic_id: old, ..request.topic_data.remove(0) }];
            assert_eq!(produce_with(&mut client, &request, 13).error_code, 100, "the old topic's id is gone");
        }
        delete_topic(&mut client, "t");
        assert_eq!(metadata(&mut client, &["t"]).topics[0].error_code, 3);
        assert_eq!(produce(&mut client, "t", 0, batch(&["x"])).error_code, 3);
        assert_eq!(fetch(&mut client, "t", 0, 0).error_code, 3);
        last = Some(id);
    }
    let left = std::fs::read_dir(directory.path()).expect("it is a directory").filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| !name.starts_with("t-")), "files of deleted topics are gone: {left:?}");
}

#[test]
fn a_topic_deleted_under_load_fails_producers_and_never_mixes_with_its_successor() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let address = broker.address;
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for producer in 0..3 {
            scope.spawn(move || {
                let mut client = Client::connect(address);
                while !done.load(Ordering::Relaxed) {
                    let code = produce(&mut client, "t", 0, batch(&[&producer.to_string()])).error_code;
                    assert!(matches!(code, 0 | 3), "a producer got {code}");
                }
            });
        }
        for _ in 0..20 {
            delete_topic(&mut client, "t");
            create_topic(&mut client, "t", 1, &[]);
            let records = read_all(&mut client, "t", 0);
            assert!(records.iter().zip(0..).all(|(record, offset)| record.offset == offset));
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn settings_are_kept_told_and_checked() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("cleanup.policy", "compact,delete"), ("retention.ms", "1000")]);
    let resource =
        DescribeConfigsResource { resource_type: 2, resource_name: "t".to_owned(), configuration_keys: None };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    let answer = client.call(&request, 4);
    let value = |name: &str| {
        let config = answer.results[0].configs.iter().find(|config| config.name == name).expect("the key is told");
        (config.value.clone().unwrap_or_default(), config.config_source)
    };
    assert_eq!(value("cleanup.policy"), ("compact,delete".to_owned(), 1));
    assert_eq!(value("retention.ms"), ("1000".to_owned(), 1));
    assert_eq!(value("min.insync.replicas"), ("1".to_owned(), 5));
    for (name, setting) in
        [("retention.ms", "soon"), ("cleanup.policy", "shred"), ("no.such", "1"), ("segment.bytes", "1")]
    {
        let topic = CreatableTopic {
            name: "odd".to_owned(),
            num_partitions: 1,
            replication_factor: 1,
            configs: vec![CreatableTopicConfig { name: name.to_owned(), value: Some(setting.to_owned()) }],
            ..CreatableTopic::default()
        };
        let answer = client.call(&CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() }, 7);
        assert_eq!(answer.topics[0].error_code, 40, "{name}={setting}");
    }
}

#[test]
fn only_what_is_asked_for_is_described() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "a", 1, &[]);
    create_topic(&mut client, "b", 2, &[]);
    let names = |topics: Option<Vec<_>>, client: &mut Client| {
        let answer = client.call(&MetadataRequest { topics, ..MetadataRequest::default() }, 12);
        answer.topics.into_iter().filter_map(|topic| topic.name).collect::<Vec<_>>()
    };
    assert_eq!(names(None, &mut client), ["a", "b"]);
    assert_eq!(names(Some(Vec::new()), &mut client), [""; 0]);
    let answer = metadata(&mut client, &["b"]);
    assert_eq!(answer.topics.len(), 1);
    let leaders: Vec<_> = answer.topics[0].partitions.iter().map(|partition| partition.leader_id).collect();
    assert_eq!(leaders, [answer.brokers[0].node_id; 2]);
}
