//! What is asked of a cluster, answered by one node.

use pillion_wire::Request;
use pillion_wire::messages::alter_partition_reassignments::{ReassignablePartition, ReassignableTopic};
use pillion_wire::messages::alter_replica_log_dirs::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use pillion_wire::messages::describe_client_quotas::ComponentData;
use pillion_wire::messages::describe_log_dirs::DescribableLogDirTopic;
use pillion_wire::messages::describe_topic_partitions::TopicRequest;
use pillion_wire::messages::describe_user_scram_credentials::UserName;
use pillion_wire::messages::elect_leaders::TopicPartitions;
use pillion_wire::messages::list_partition_reassignments::ListPartitionReassignmentsTopics;
use pillion_wire::messages::update_features::FeatureUpdateKey;
use pillion_wire::messages::{
    AlterPartitionReassignmentsRequest, AlterReplicaLogDirsRequest, DescribeAclsRequest, DescribeClientQuotasRequest,
    DescribeDelegationTokenRequest, DescribeLogDirsRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest,
    DescribeUserScramCredentialsRequest, ElectLeadersRequest, ListConfigResourcesRequest,
    ListPartitionReassignmentsRequest, UpdateFeaturesRequest, describe_quorum,
};

use super::World;

const NAMES: [&str; 2] = ["held", "missing"];

pub(super) fn ask(world: &mut World) {
    places(world);
    replicas(world);
    nodes(world);
    security(world);
}

fn places(world: &mut World) {
    let topic = |name: &str| DescribableLogDirTopic { topic: name.to_owned(), partitions: vec![0, 7] };
    let request = |_| DescribeLogDirsRequest { topics: Some(NAMES.map(topic).to_vec()) };
    world.ask(request, |version, answer| {
        let result = &answer.results[0];
        assert_eq!((result.error_code, result.topics.len(), result.topics[0].partitions.len()), (0, 1, 1));
        assert!(result.topics[0].partitions[0].partition_size > 0, "version {version}");
        assert_eq!(result.total_bytes > 0, version >= 4, "version {version}");
    });
    let topics = NAMES.map(|name| AlterReplicaLogDirTopic { name: name.to_owned(), partitions: vec![0] });
    let dirs = vec![AlterReplicaLogDir { path: "/elsewhere".to_owned(), topics: topics.to_vec() }];
    let request = |_| AlterReplicaLogDirsRequest { dirs: dirs.clone() };
    world.ask(request, |version, answer| {
        let codes = answer.results.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
        assert_eq!(codes.collect::<Vec<_>>(), [57, 57], "version {version}");
    });
    let topics = NAMES.map(|name| TopicRequest { name: name.to_owned() });
    let request = |_| DescribeTopicPartitionsRequest { topics: topics.to_vec(), ..Default::default() };
    world.ask(request, |_, answer| {
        assert_eq!(answer.topics.iter().map(|topic| topic.error_code).collect::<Vec<_>>(), [0, 3]);
        assert_eq!((answer.topics[0].partitions.len(), answer.next_cursor), (2, None));
    });
    let request = |_| ListConfigResourcesRequest::default();
    world.ask(request, |version, answer| {
        assert_eq!(answer.error_code, 0);
        let is_there = answer.config_resources.iter().any(|resource| resource.resource_name == "held");
        assert_eq!(is_there, version >= 1, "version {version}");
    });
}

fn replicas(world: &mut World) {
    for (election_type, codes) in [(0, [84, 3, 3]), (1, [84, 3, 3]), (5, [42, 42, 42])] {
        let topics = [("held", vec![0, 7]), ("missing", vec![0])];
        let topics = topics.map(|(topic, partitions)| TopicPartitions { topic: topic.to_owned(), partitions });
        let request = |version| ElectLeadersRequest {
            election_type: if version >= 1 { election_type } else { 0 },
            topic_partitions: Some(topics.to_vec()),
            ..ElectLeadersRequest::default()
        };
        world.ask(request, |version, answer| {
            let results = answer.replica_election_results.iter().flat_map(|topic| &topic.partition_result);
            let told: Vec<_> = results.map(|partition| partition.error_code).collect();
            let is_known = election_type < 2 || version == 0;
            assert_eq!(told, if is_known { [84, 3, 3] } else { codes }, "version {version}, type {election_type}");
            assert_eq!(answer.error_code, if is_known { 0 } else { 42 }, "version {version}");
        });
    }
    let partition = |partition_index, replicas| ReassignablePartition { partition_index, replicas };
    let partitions =
        vec![partition(0, Some(vec![1])), partition(1, None), partition(0, Some(vec![2])), partition(7, None)];
    let topics = vec![ReassignableTopic { name: "held".to_owned(), partitions }];
    let request = |_| AlterPartitionReassignmentsRequest { topics: topics.clone(), ..Default::default() };
    world.ask(request, |version, answer| {
        let codes = answer.responses[0].partitions.iter().map(|partition| partition.error_code);
        assert_eq!(codes.collect::<Vec<_>>(), [0, 85, 39, 3], "version {version}");
    });
    for name in NAMES {
        let topic = ListPartitionReassignmentsTopics { name: name.to_owned(), partition_indexes: vec![0] };
        let request = |_| ListPartitionReassignmentsRequest { topics: Some(vec![topic.clone()]), ..Default::default() };
        world.ask(request, |_, answer| assert!(answer.error_code == 0 && answer.topics.is_empty()));
    }
}

fn nodes(world: &mut World) {
    for (name, code) in [("__cluster_metadata", 0), ("held", 3)] {
        let partitions = vec![describe_quorum::PartitionRequest { partition_index: 0 }];
        let topic = describe_quorum::TopicRequest { topic_name: name.to_owned(), partitions };
        let request = |_| DescribeQuorumRequest { topics: vec![topic.clone()] };
        world.ask(request, |version, answer| {
            let partition = &answer.topics[0].partitions[0];
            assert_eq!((answer.error_code, partition.error_code), (0, code), "{name}, version {version}");
            let voters: Vec<_> = partition.current_voters.iter().map(|voter| voter.replica_id).collect();
            assert_eq!(voters, if code == 0 { vec![1] } else { Vec::new() });
            assert_eq!(answer.nodes.len(), usize::from(code == 0 && version >= 2), "version {version}");
        });
    }
    for (feature, level, code) in [("transaction.version", 2, 0), ("transaction.version", 3, 95), ("no.such", 1, 95)] {
        let update = FeatureUpdateKey { feature: feature.to_owned(), max_version_level: level, ..Default::default() };
        let request = |_| UpdateFeaturesRequest { feature_updates: vec![update.clone()], ..Default::default() };
        world.ask(request, |version, answer| {
            assert_eq!(answer.error_code, code, "{feature}={level}, version {version}");
            assert_eq!(answer.results.len(), usize::from(code == 0 && version < 2), "version {version}");
        });
    }
}

fn security(world: &mut World) {
    let acls = DescribeAclsRequest { resource_type_filter: 1, operation: 1, permission_type: 1, ..Default::default() };
    answered_with(world, &acls, |answer| answer.error_code, 54);
    answered_with(world, &DescribeDelegationTokenRequest { owners: None }, |answer| answer.error_code, 64);
    let users = Some(vec![UserName { name: "nobody".to_owned() }]);
    let credentials = DescribeUserScramCredentialsRequest { users };
    answered_with(world, &credentials, |answer| answer.results[0].error_code, 91);
    for (entity_type, code) in [("user", 0), ("bogus", 35), ("", 42)] {
        let component = ComponentData { entity_type: entity_type.to_owned(), match_type: 2, r#match: None };
        let quotas = DescribeClientQuotasRequest { components: vec![component], strict: false };
        answered_with(world, &quotas, |answer| answer.error_code, code);
    }
}

fn answered_with<R: Request + Clone>(world: &mut World, request: &R, code: impl Fn(R::Response) -> i16, expected: i16) {
    world.ask(|_| request.clone(), |version, answer| assert_eq!(code(answer), expected, "{} {version}", R::API));
}
