//! Topics, their settings, and the cluster.

use pillion_wire::messages::alter_configs;
use pillion_wire::messages::create_partitions::CreatePartitionsTopic;
use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use pillion_wire::messages::delete_topics::DeleteTopicState;
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::metadata::MetadataRequestTopic;
use pillion_wire::messages::{
    AlterConfigsRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeClusterRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest, MetadataRequest,
};
use uuid::Uuid;

use super::World;

pub(super) fn ask(world: &mut World) {
    metadata(world);
    create_topics(world);
    delete_topics(world);
    describe_configs(world);
    alterations(world);
    for endpoint_type in [1, 2] {
        let request = |version| DescribeClusterRequest {
            endpoint_type: if version >= 1 { endpoint_type } else { 1 },
            ..DescribeClusterRequest::default()
        };
        world.ask(request, |version, answer| {
            assert_eq!(answer.error_code, if endpoint_type == 2 && version >= 1 { 114 } else { 0 });
        });
    }
}

fn metadata(world: &mut World) {
    let named = |name: &str| MetadataRequestTopic { name: Some(name.to_owned()), topic_id: Uuid::nil() };
    let all = |version| {
        let topics = if version == 0 { Some(Vec::new()) } else { None };
        MetadataRequest { topics, ..MetadataRequest::default() }
    };
    world.ask(all, |version, answer| assert!(!answer.topics.is_empty(), "version {version}"));
    let by_name = |_| {
        let topics = Some(vec![named("held"), named("missing"), named("no/topic"), named("")]);
        MetadataRequest { topics, ..MetadataRequest::default() }
    };
    world.ask(by_name, |version, answer| {
        let codes: Vec<_> = answer.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [0, 3, 17, 17], "version {version}");
        assert_eq!(answer.topics[0].partitions.len(), 2);
    });
    // Clients ask by id from version 12; 10 and 11 have the field, and Kafka refuses its use in them.
    let topic_id = world.topic_id;
    let by_id = |version| {
        let topic = |topic_id| MetadataRequestTopic { name: None, topic_id };
        let topics = vec![topic(topic_id), topic(Uuid::from_u128(7)), topic(Uuid::nil())];
        let topics = if version >= 10 { topics } else { vec![named("held")] };
        MetadataRequest { topics: Some(topics), ..MetadataRequest::default() }
    };
    world.ask(by_id, |version, answer| {
        let codes: Vec<_> = answer.topics.iter().map(|topic| topic.error_code).collect();
        match version {
            0..10 => assert_eq!(codes, [0]),
            10..12 => assert!(codes[1..].iter().all(|code| *code != 0), "version {version}: {codes:?}"),
            _ => assert_eq!(codes, [0, 100, 100]),
        }
    });
}

fn create_topics(world: &mut World) {
    let topic = |name: String, partitions, replicas| CreatableTopic {
        name,
        num_partitions: partitions,
        replication_factor: replicas,
        ..CreatableTopic::default()
    };
    let setting = |name: &str, value: Option<&str>| CreatableTopicConfig {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    };
    for validate_only in [true, false] {
        let request = |version| {
            let mut odd = topic(format!("odd-{version}"), 1, 1);
            odd.configs = vec![setting("no.such.key", Some("1"))];
            let mut unset = topic(format!("unset-{version}"), 1, 1);
            unset.configs = vec![setting("retention.ms", None)];
            let topics = vec![
                topic(format!("made-{version}"), -1, -1),
                topic("held".to_owned(), 1, 1),
                topic("a/b".to_owned(), 1, 1),
                topic(format!("none-{version}"), 0, 1),
                topic(format!("many-{version}"), 1, 3),
                odd,
                unset,
                topic("twice".to_owned(), 1, 1),
                topic("twice".to_owned(), 1, 1),
            ];
            CreateTopicsRequest { topics, validate_only, ..CreateTopicsRequest::default() }
        };
        world.ask(request, |version, answer| {
            let codes: Vec<_> = answer.topics.iter().map(|topic| topic.error_code).collect();
            assert_eq!(codes[..6], [0, 36, 17, 37, 38, 40], "version {version}");
            assert_eq!(codes[7..], [42], "what is named twice is refused once, version {version}");
        });
    }
}

fn delete_topics(world: &mut World) {
    // CreateTopics made one of these in each of its versions, 2 to 7.
    let request = |version| {
        let names = [format!("made-{}", version + 1), "missing".to_owned(), "a/b".to_owned()];
        if version < 6 {
            return DeleteTopicsRequest { topic_names: names.to_vec(), ..DeleteTopicsRequest::default() };
        }
        let named = names.map(|name| DeleteTopicState { name: Some(name), topic_id: Uuid::nil() });
        let mut topics = named.to_vec();
        topics.push(DeleteTopicState { name: None, topic_id: Uuid::from_u128(7) });
        DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() }
    };
    world.ask(request, |version, answer| {
        let codes: Vec<_> = answer.responses.iter().map(|topic| topic.error_code).collect();
        let expected: &[i16] = if version < 6 { &[0, 3, 3] } else { &[0, 3, 3, 100] };
        assert_eq!(codes, expected, "version {version}");
    });
}

fn describe_configs(world: &mut World) {
    let resource = |resource_type, name: &str, keys: Option<&str>| DescribeConfigsResource {
        resource_type,
        resource_name: name.to_owned(),
        configuration_keys: keys.map(|key| vec![key.to_owned()]),
    };
    let request = |resources: Vec<DescribeConfigsResource>| {
        move |version| DescribeConfigsRequest {
            resources: resources.clone(),
            include_synonyms: true,
            include_documentation: version >= 3,
        }
    };
    let resources = vec![
        resource(2, "held", None),
        resource(2, "missing", None),
        resource(2, "a/b", None),
        resource(4, "1", None),
        resource(4, "", None),
        resource(4, "99", None),
        resource(99, "x", None),
    ];
    world.ask(request(resources), |version, answer| {
        let codes: Vec<_> = answer.results.iter().map(|result| result.error_code).collect();
        assert_eq!(codes, [0, 3, 17, 0, 0, 42, 42], "version {version}");
    });
    world.ask(request(vec![resource(2, "held", Some("retention.ms"))]), |version, answer| {
        let named = &answer.results[0].configs;
        assert_eq!((named.len(), named[0].value.as_deref()), (1, Some("-1")), "version {version}");
    });
}

fn alterations(world: &mut World) {
    let topics = ["held", "missing"];
    let partitions = |_| {
        let topic = |name: &str| CreatePartitionsTopic { name: name.to_owned(), count: 3, assignments: None };
        CreatePartitionsRequest {
            topics: topics.map(topic).to_vec(),
            validate_only: true,
            ..CreatePartitionsRequest::default()
        }
    };
    world.ask(partitions, |_, answer| assert_eq!(answer.results[1].error_code, 3));
    let records = |_| {
        let partition = DeleteRecordsPartition { partition_index: 1, offset: 0 };
        let topic = |name: &str| DeleteRecordsTopic { name: name.to_owned(), partitions: vec![partition.clone()] };
        DeleteRecordsRequest { topics: topics.map(topic).to_vec(), timeout_ms: 1_000 }
    };
    world.ask(records, |_, answer| assert_eq!(answer.topics[1].partitions[0].error_code, 3));
    let configs = |_| {
        let config =
            AlterableConfig { name: "retention.ms".to_owned(), config_operation: 0, value: Some("-1".to_owned()) };
        let resource = |name: &str| AlterConfigsResource {
            resource_type: 2,
            resource_name: name.to_owned(),
            configs: vec![config.clone()],
        };
        IncrementalAlterConfigsRequest { resources: topics.map(resource).to_vec(), validate_only: true }
    };
    world.ask(configs, |_, answer| {
        assert_eq!((answer.responses[0].error_code, answer.responses[1].error_code), (0, 3));
    });
    let configs = |_| {
        let config = alter_configs::AlterableConfig { name: "retention.ms".to_owned(), value: Some("-1".to_owned()) };
        let resource = |name: &str| alter_configs::AlterConfigsResource {
            resource_type: 2,
            resource_name: name.to_owned(),
            configs: vec![config.clone()],
        };
        AlterConfigsRequest { resources: topics.map(resource).to_vec(), validate_only: true }
    };
    world.ask(configs, |_, answer| {
        assert_eq!((answer.responses[0].error_code, answer.responses[1].error_code), (0, 3));
    });
}
