//! What is asked of clusters and answered by one node: as Apache Kafka 4.4 answers when it is one node.

use pillion_wire::messages::alter_partition_reassignments::{ReassignablePartition, ReassignableTopic};
use pillion_wire::messages::alter_replica_log_dirs::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use pillion_wire::messages::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsResult};
use pillion_wire::messages::describe_quorum::{PartitionRequest, TopicRequest};
use pillion_wire::messages::update_features::FeatureUpdateKey;
use pillion_wire::messages::{
    AlterPartitionReassignmentsRequest, AlterReplicaLogDirsRequest, ApiVersionsRequest, DescribeClusterRequest,
    DescribeLogDirsRequest, DescribeQuorumRequest, ElectLeadersRequest, ListConfigResourcesRequest,
    UpdateFeaturesRequest,
};
use uuid::Uuid;

use crate::support::{Client, TestBroker, batch, create_topic, delete_topic, produce};

fn log_dirs(client: &mut Client, topics: Option<&[(&str, &[i32])]>) -> DescribeLogDirsResult {
    let topic = |(name, partitions): &(&str, &[i32])| DescribableLogDirTopic {
        topic: (*name).to_owned(),
        partitions: partitions.to_vec(),
    };
    let topics = topics.map(|topics| topics.iter().map(topic).collect());
    let mut answer = client.call(&DescribeLogDirsRequest { topics }, 5);
    assert_eq!((answer.error_code, answer.results.len()), (0, 1), "there is one directory");
    answer.results.remove(0)
}

/// Sizes as `(topic, partition, bytes)`.
fn sizes(result: &DescribeLogDirsResult) -> Vec<(&str, i32, i64)> {
    let topics = result.topics.iter();
    topics
        .flat_map(|topic| topic.partitions.iter().map(|one| (&*topic.name, one.partition_index, one.partition_size)))
        .collect()
}

#[test]
fn the_log_directory_tells_each_partitions_bytes() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[]);
    create_topic(&mut client, "u", 1, &[]);
    let (first, second) = (batch(&["x"]), batch(&["longer"]));
    for batch in [&first, &second] {
        assert_eq!(produce(&mut client, "t", 1, batch.clone()).error_code, 0);
    }
    let bytes = (first.len() + second.len()) as i64;
    let all = log_dirs(&mut client, None);
    assert_eq!(sizes(&all), [("t", 0, 0), ("t", 1, bytes), ("u", 0, 0)]);
    assert_eq!(all.log_dir, directory.path().display().to_string());
    assert!(all.usable_bytes > 0 && all.total_bytes >= all.usable_bytes);
    let partitions = all.topics.iter().flat_map(|topic| &topic.partitions);
    assert!(partitions.into_iter().all(|partition| partition.offset_lag == 0 && !partition.is_future_key));
    let asked = log_dirs(&mut client, Some(&[("t", &[1, 7]), ("missing", &[0]), ("u", &[])]));
    assert_eq!(sizes(&asked), [("t", 1, bytes)]);
    assert!(log_dirs(&mut client, Some(&[])).topics.is_empty());
    delete_topic(&mut client, "t");
    assert_eq!(sizes(&log_dirs(&mut client, None)), [("u", 0, 0)]);
}

#[test]
fn a_partition_is_moved_to_the_directory_it_is_in_and_to_no_other() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let here = directory.path().display().to_string();
    for (path, expected) in [(here.as_str(), [0, 3, 3]), ("/nope", [57; 3]), ("nope", [57; 3]), ("", [57; 3])] {
        let topics = [("t", vec![0, 7]), ("missing", vec![0])];
        let topics = topics.map(|(name, partitions)| AlterReplicaLogDirTopic { name: name.to_owned(), partitions });
        let dirs = vec![AlterReplicaLogDir { path: path.to_owned(), topics: topics.to_vec() }];
        let answer = client.call(&AlterReplicaLogDirsRequest { dirs }, 2);
        let codes = answer.results.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
        assert_eq!(codes.collect::<Vec<_>>(), expected, "{path:?}");
    }
}

#[test]
fn asked_for_all_elections_none_was_held() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 3, &[]);
    for election_type in [0, 1] {
        let request = ElectLeadersRequest { election_type, topic_partitions: None, ..ElectLeadersRequest::default() };
        let answer = client.call(&request, 2);
        assert_eq!(answer.error_code, 0);
        assert!(answer.replica_election_results.iter().all(|topic| topic.partition_result.is_empty()));
    }
}

#[test]
fn a_partition_is_reassigned_to_this_node_alone() {
    let broker = TestBroker::fresh(&[("node.id", "5")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    for (index, replicas, code) in [
        (0, Some(vec![5]), 0),
        (0, None, 85),
        (0, Some(vec![]), 39),
        (0, Some(vec![5, 5]), 39),
        (0, Some(vec![5, 1]), 39),
        (0, Some(vec![-1]), 39),
        (7, Some(vec![5]), 3),
        (-1, None, 3),
    ] {
        let partitions = vec![ReassignablePartition { partition_index: index, replicas: replicas.clone() }];
        let topics = vec![ReassignableTopic { name: "t".to_owned(), partitions }];
        let request = AlterPartitionReassignmentsRequest {
            topics,
            allow_replication_factor_change: false,
            ..AlterPartitionReassignmentsRequest::default()
        };
        let answer = client.call(&request, 1);
        assert_eq!((answer.error_code, answer.allow_replication_factor_change), (0, false));
        assert_eq!(answer.responses[0].partitions[0].error_code, code, "{index} {replicas:?}");
    }
}

#[test]
fn the_quorum_is_this_node_and_its_log_grows() {
    let broker = TestBroker::fresh(&[("node.id", "5")]);
    let mut client = broker.client();
    let ask = |client: &mut Client, name: &str, indexes: &[i32]| {
        let partitions = indexes.iter().map(|index| PartitionRequest { partition_index: *index }).collect();
        let topics = vec![TopicRequest { topic_name: name.to_owned(), partitions }];
        client.call(&DescribeQuorumRequest { topics }, 2)
    };
    let before = ask(&mut client, "__cluster_metadata", &[0]);
    let node = &before.nodes[0];
    assert_eq!((node.node_id, i32::from(node.listeners[0].port)), (5, i32::from(broker.address.port())));
    let partition = &before.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.current_voters.len(), partition.observers.len()), (5, 1, 0));
    let voter = &partition.current_voters[0];
    assert_eq!((voter.replica_id, voter.log_end_offset), (5, partition.high_watermark));
    assert!(voter.replica_directory_id != Uuid::nil() && voter.last_caught_up_timestamp > 0);
    create_topic(&mut client, "t", 1, &[]);
    let after = ask(&mut client, "__cluster_metadata", &[0]);
    assert!(after.topics[0].partitions[0].high_watermark > partition.high_watermark);
    for (name, indexes) in [("t", &[0][..]), ("__cluster_metadata", &[1]), ("__cluster_metadata", &[0, 0])] {
        let answer = ask(&mut client, name, indexes);
        assert!(answer.topics[0].partitions.iter().all(|partition| partition.error_code == 3), "{name} {indexes:?}");
    }
    let nothing = client.call(&DescribeQuorumRequest::default(), 2);
    assert_eq!((nothing.error_code, nothing.topics.len()), (0, 0));
}

#[test]
fn features_are_told_as_they_can_be_read_and_stay_as_they_are() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let ask = |client: &mut Client, version| {
        let (client_software_name, client_software_version) = ("tests".to_owned(), "1".to_owned());
        let request =
            ApiVersionsRequest { client_software_name, client_software_version, ..ApiVersionsRequest::default() };
        client.call(&request, version)
    };
    let answer = ask(&mut client, 4);
    let finalized: Vec<_> =
        answer.finalized_features.iter().map(|one| (one.name.as_str(), one.max_version_level)).collect();
    assert_eq!(finalized, [("kraft.version", 1), ("metadata.version", 33), ("transaction.version", 2)]);
    assert!(answer.finalized_features_epoch >= 0, "else clients do not believe it");
    let supported = |answer: &pillion_wire::messages::ApiVersionsResponse, name: &str| {
        let found = answer.supported_features.iter().find(|one| one.name == name);
        found.map(|one| (one.min_version, one.max_version))
    };
    assert_eq!(supported(&answer, "transaction.version"), Some((0, 2)));
    assert_eq!(supported(&answer, "group.version"), Some((0, 0)), "the new group protocol is not spoken");
    let older = ask(&mut client, 3);
    assert!(older.supported_features.iter().all(|one| one.min_version > 0), "version 3 cannot have 0 (KAFKA-17011)");
    assert_eq!(older.finalized_features, answer.finalized_features);
    for (feature, max_version_level, upgrade_type, code) in [
        ("transaction.version", 2, 1, 0),
        ("transaction.version", 1, 1, 95),
        ("transaction.version", 1, 2, 96),
        ("transaction.version", 9, 1, 95),
        ("transaction.version", -1, 1, 95),
        ("transaction.version", 2, 9, 95),
        ("metadata.version", 33, 1, 0),
        ("group.version", 1, 1, 95),
        ("no.such", 0, 2, 0),
    ] {
        let update = FeatureUpdateKey {
            feature: feature.to_owned(),
            max_version_level,
            upgrade_type,
            ..FeatureUpdateKey::default()
        };
        let request = UpdateFeaturesRequest { feature_updates: vec![update], ..UpdateFeaturesRequest::default() };
        let answer = client.call(&request, 2);
        assert_eq!(answer.error_code, code, "{feature}={max_version_level}, type {upgrade_type}");
        assert_eq!(answer.error_message.is_some(), code != 0);
    }
    assert_eq!(ask(&mut client, 4).finalized_features, answer.finalized_features);
}

#[test]
fn config_resources_are_listed_by_type() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    type Named<'a> = &'a [(&'a str, i8)];
    let all: Named<'_> = &[("1", 8), ("1", 4), ("t", 2)];
    for (resource_types, code, expected) in [
        (&[] as &[i8], 0, all),
        (&[2], 0, &[("t", 2)]),
        (&[2, 4], 0, &[("1", 4), ("t", 2)]),
        (&[16, 32], 0, &[]),
        (&[99, 2], 35, &[]),
    ] {
        let request = ListConfigResourcesRequest { resource_types: resource_types.to_vec() };
        let answer = client.call(&request, 1);
        let told: Vec<_> =
            answer.config_resources.iter().map(|one| (one.resource_name.as_str(), one.resource_type)).collect();
        assert_eq!((answer.error_code, &told[..]), (code, expected), "{resource_types:?}");
    }
}

#[test]
fn the_cluster_tells_what_may_be_done_with_it_when_asked() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for (include, operations) in [(true, 8096), (false, i32::MIN)] {
        let request = DescribeClusterRequest {
            include_cluster_authorized_operations: include,
            include_fenced_brokers: true,
            ..DescribeClusterRequest::default()
        };
        let answer = client.call(&request, 2);
        assert_eq!((answer.error_code, answer.cluster_authorized_operations), (0, operations));
        assert_eq!((answer.brokers.len(), answer.brokers[0].is_fenced), (1, false));
    }
    for (endpoint_type, code) in [(2, 114), (3, 115), (0, 115)] {
        let request = DescribeClusterRequest { endpoint_type, ..DescribeClusterRequest::default() };
        assert_eq!(client.call(&request, 1).error_code, code, "{endpoint_type}");
    }
}
