//! Groups and their offsets: a group of its own for each version, and one that does not exist.

use bytes::Bytes;
use pillion_wire::messages::join_group::JoinGroupRequestProtocol;
use pillion_wire::messages::leave_group::MemberIdentity;
use pillion_wire::messages::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use pillion_wire::messages::offset_delete::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use pillion_wire::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use pillion_wire::messages::sync_group::SyncGroupRequestAssignment;
use pillion_wire::messages::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use pillion_wire::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, ListGroupsRequest, OffsetCommitRequest, OffsetDeleteRequest,
    OffsetFetchRequest, SyncGroupRequest, TxnOffsetCommitRequest,
};

use super::World;
use crate::support::eventually;

const LOAD_IN_PROGRESS: i16 = 14;
const UNKNOWN_MEMBER_ID: i16 = 25;
const MEMBER_ID_REQUIRED: i16 = 79;

pub(super) fn ask(world: &mut World) {
    find_coordinator(world);
    if world.versions::<JoinGroupRequest>().is_empty() {
        return;
    }
    members(world);
    offset_commit(world);
    offset_fetch(world);
    let groups = || vec!["join-5".to_owned(), "missing".to_owned()];
    let describe = |_| DescribeGroupsRequest { groups: groups(), include_authorized_operations: false };
    world.ask(describe, |version, answer| assert_eq!(answer.groups.len(), 2, "version {version}"));
    world.ask(|_| ListGroupsRequest::default(), |_, answer| assert_eq!(answer.error_code, 0));
    let delete = |_| DeleteGroupsRequest { groups_names: vec!["missing".to_owned()] };
    world.ask(delete, |version, answer| assert_eq!(answer.results[0].error_code, 69, "version {version}"));
    offset_delete(world);
    txn_offset_commit(world);
}

fn find_coordinator(world: &mut World) {
    for key_type in [0, 1, 9] {
        let request = |version| {
            let keys = ["one".to_owned(), String::new()];
            FindCoordinatorRequest {
                key: if version < 4 { keys[0].clone() } else { String::new() },
                key_type: if version >= 1 { key_type } else { 0 },
                coordinator_keys: if version >= 4 { keys.to_vec() } else { Vec::new() },
            }
        };
        world.ask(request, |version, answer| {
            let code = answer.coordinators.first().map_or(answer.error_code, |first| first.error_code);
            assert_eq!(code == 0, key_type <= 1 || version == 0, "version {version}, key type {key_type}: {code}");
        });
    }
}

fn join_request(group: &str, member: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group.to_owned(),
        session_timeout_ms: 30_000,
        member_id: member.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".to_owned(), metadata: Bytes::new() }],
        ..JoinGroupRequest::default()
    }
}

/// Joins as a group's only member.
fn join(world: &mut World, group: &str, version: i16) -> JoinGroupResponse {
    let mut answer = world.client.call(&join_request(group, ""), version);
    eventually("loading the group's shard", || {
        if answer.error_code != LOAD_IN_PROGRESS {
            return true;
        }
        answer = world.client.call(&join_request(group, ""), version);
        false
    });
    if answer.error_code == MEMBER_ID_REQUIRED {
        answer = world.client.call(&join_request(group, &answer.member_id), version);
    }
    assert_eq!(answer.error_code, 0, "version {version}");
    answer
}

fn sync_request(group: &str, joined: &JoinGroupResponse) -> SyncGroupRequest {
    let assignment =
        SyncGroupRequestAssignment { member_id: joined.member_id.clone(), assignment: Bytes::from_static(b"all") };
    SyncGroupRequest {
        group_id: group.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignments: vec![assignment],
        ..SyncGroupRequest::default()
    }
}

/// Joining, syncing, heartbeats and leaving, each in all of its versions.
fn members(world: &mut World) {
    for version in world.versions::<JoinGroupRequest>() {
        let group = format!("join-{version}");
        let joined = join(world, &group, version);
        assert_eq!((joined.leader, joined.members.len()), (joined.member_id, 1), "version {version}");
        let unknown = world.client.call(&join_request(&group, "nobody"), version);
        assert_eq!(unknown.error_code, UNKNOWN_MEMBER_ID, "version {version}");
    }
    for version in world.versions::<SyncGroupRequest>() {
        let group = format!("sync-{version}");
        let joined = join(world, &group, 5);
        let synced = world.client.call(&sync_request(&group, &joined), version);
        assert_eq!((synced.error_code, &synced.assignment[..]), (0, &b"all"[..]), "version {version}");
        let missing = world.client.call(&sync_request("missing", &joined), version);
        assert_eq!(missing.error_code, UNKNOWN_MEMBER_ID, "version {version}");
    }
    let joined = join(world, "beating", 5);
    assert_eq!(world.client.call(&sync_request("beating", &joined), 5).error_code, 0);
    for (group, code) in [("beating", 0), ("missing", UNKNOWN_MEMBER_ID)] {
        let beat = |_| HeartbeatRequest {
            group_id: group.to_owned(),
            generation_id: joined.generation_id,
            member_id: joined.member_id.clone(),
            group_instance_id: None,
        };
        world.ask(beat, |version, answer| assert_eq!(answer.error_code, code, "version {version}"));
    }
    for version in world.versions::<LeaveGroupRequest>() {
        let group = format!("leave-{version}");
        let joined = join(world, &group, 5);
        for (member, code) in [(joined.member_id.as_str(), 0), ("nobody", UNKNOWN_MEMBER_ID)] {
            let answer = world.client.call(&leave_request(&group, member, version), version);
            let answered = answer.members.first().map_or(answer.error_code, |first| first.error_code);
            assert_eq!(answered, code, "version {version}");
        }
    }
}

fn leave_request(group: &str, member: &str, version: i16) -> LeaveGroupRequest {
    let group_id = group.to_owned();
    if version < 3 {
        return LeaveGroupRequest { group_id, member_id: member.to_owned(), ..LeaveGroupRequest::default() };
    }
    let members = vec![MemberIdentity { member_id: member.to_owned(), ..MemberIdentity::default() }];
    LeaveGroupRequest { group_id, members, ..LeaveGroupRequest::default() }
}

fn offset_commit(world: &mut World) {
    let topics = world.topics();
    for metadata in [None, Some("text".to_owned()), Some("x".repeat(5_000))] {
        let too_large = metadata.as_ref().is_some_and(|metadata| metadata.len() > 4_096);
        let request = |_| {
            let partition = |partition_index| OffsetCommitRequestPartition {
                partition_index,
                committed_offset: 2,
                committed_metadata: metadata.clone(),
                ..OffsetCommitRequestPartition::default()
            };
            let topics = topics.clone().map(|(name, topic_id)| OffsetCommitRequestTopic {
                name,
                topic_id,
                partitions: vec![partition(0), partition(9)],
            });
            let group_id = "simple".to_owned();
            OffsetCommitRequest { group_id, topics: topics.to_vec(), ..OffsetCommitRequest::default() }
        };
        world.ask(request, |version, answer| {
            let code = |topic: usize, place: usize| answer.topics[topic].partitions[place].error_code;
            assert_eq!(code(0, 0), if too_large { 12 } else { 0 }, "version {version}");
            assert_ne!(code(1, 0), 0, "version {version}: the topic is missing");
            assert_ne!(code(0, 1), 0, "version {version}: the partition is missing");
        });
    }
}

fn offset_fetch(world: &mut World) {
    let topics = world.topics();
    for (group, held) in [("simple", 2), ("missing", -1)] {
        let request = |version| {
            let named = |name: String| OffsetFetchRequestTopic { name, partition_indexes: vec![0, 1] };
            let of_group = topics.clone().map(|(name, topic_id)| OffsetFetchRequestTopics {
                name,
                topic_id,
                partition_indexes: vec![0, 1],
            });
            if version < 8 {
                let topics = Some(topics.clone().map(|(name, _)| named(name)).to_vec());
                return OffsetFetchRequest { group_id: group.to_owned(), topics, ..OffsetFetchRequest::default() };
            }
            let asked = |topics| OffsetFetchRequestGroup {
                group_id: group.to_owned(),
                topics,
                ..OffsetFetchRequestGroup::default()
            };
            let groups = vec![asked(Some(of_group.to_vec())), asked(None)];
            OffsetFetchRequest { groups, topics: Some(Vec::new()), ..OffsetFetchRequest::default() }
        };
        world.ask(request, |version, answer| {
            let offsets: Vec<_> = if version < 8 {
                answer.topics[0].partitions.iter().map(|partition| partition.committed_offset).collect()
            } else {
                let topic = &answer.groups[0].topics[0];
                topic.partitions.iter().map(|partition| partition.committed_offset).collect()
            };
            assert_eq!(offsets, [held, -1], "version {version}, group {group}");
        });
    }
    let all = |version| OffsetFetchRequest {
        group_id: if version < 8 { "simple".to_owned() } else { String::new() },
        topics: if (2..8).contains(&version) { None } else { Some(Vec::new()) },
        ..OffsetFetchRequest::default()
    };
    world.ask(all, |version, answer| assert_eq!(answer.error_code, 0, "version {version}"));
}

fn offset_delete(world: &mut World) {
    for (group, code) in [("simple", 0), ("missing", 69), ("", 24)] {
        let partition = |partition_index| OffsetDeleteRequestPartition { partition_index };
        let topics = world
            .topics()
            .map(|(name, _)| OffsetDeleteRequestTopic { name, partitions: vec![partition(1), partition(9)] });
        let request = |_| OffsetDeleteRequest { group_id: group.to_owned(), topics: topics.to_vec() };
        world.ask(request, |version, answer| {
            assert_eq!(answer.error_code, code, "version {version}");
            if code == 0 {
                let results = answer.topics.iter().flat_map(|topic| &topic.partitions);
                let codes: Vec<_> = results.map(|partition| partition.error_code).collect();
                assert_eq!(codes, [0, 3, 3, 3], "version {version}");
            }
        });
    }
}

/// Of a producer that nobody knows: each partition is refused, those that do not exist for that reason.
fn txn_offset_commit(world: &mut World) {
    let topics = world.topics();
    let request = |_| {
        let partition = |partition_index| TxnOffsetCommitRequestPartition {
            partition_index,
            ..TxnOffsetCommitRequestPartition::default()
        };
        let topics = topics.clone().map(|(name, topic_id)| TxnOffsetCommitRequestTopic {
            name,
            topic_id,
            partitions: vec![partition(0), partition(9)],
        });
        TxnOffsetCommitRequest {
            transactional_id: "nobody".to_owned(),
            group_id: "simple".to_owned(),
            producer_id: 7,
            topics: topics.to_vec(),
            ..TxnOffsetCommitRequest::default()
        }
    };
    world.ask(request, |version, answer| {
        let code = |topic: usize, place: usize| answer.topics[topic].partitions[place].error_code;
        assert_ne!(code(0, 0), 0, "version {version}");
        assert_eq!(code(0, 1), 3, "version {version}: the partition is missing");
        assert_eq!(code(1, 0), if version >= 6 { 100 } else { 3 }, "version {version}: the topic is missing");
    });
}
