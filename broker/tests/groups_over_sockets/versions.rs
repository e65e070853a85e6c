use std::ops::RangeInclusive;

use pillion_wire::messages::leave_group::MemberIdentity;
use pillion_wire::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest,
    OffsetFetchRequest, SyncGroupRequest,
};
use pillion_wire::{ErrorCode, Message};

use super::member::{commit_request, coordinator, fetch, heartbeat, join, sync};
use super::support::{TestBroker, create_topic};

/// The version of an API that goes with `step`: the first, the second, … and then the newest.
fn version(versions: &RangeInclusive<i16>, step: i16) -> i16 {
    (versions.start() + step).min(*versions.end())
}

#[test]
fn a_member_lives_and_leaves_in_every_version() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    for step in 0..=10 {
        let group_id = format!("group-{step}");
        let joined = join(&mut client, &group_id, version(&JoinGroupRequest::VERSIONS, step));
        assert_eq!((joined.error_code, joined.generation_id), (0, 1), "step {step}");
        assert_eq!(joined.leader, joined.member_id);
        assert_eq!(joined.protocol_name.as_deref(), Some("range"));
        assert_eq!(joined.members[0].metadata, "all");

        let synced = sync(&mut client, &group_id, &joined, version(&SyncGroupRequest::VERSIONS, step));
        assert_eq!((synced.error_code, &*synced.assignment), (0, b"everything".as_slice()), "step {step}");
        let heartbeat_version = version(&HeartbeatRequest::VERSIONS, step);
        assert_eq!(heartbeat(&mut client, &group_id, &joined, heartbeat_version), 0);

        let commit_version = version(&OffsetCommitRequest::VERSIONS, step);
        let mut request = commit_request(&group_id, "orders", topic_id, 0, 42);
        request.member_id.clone_from(&joined.member_id);
        request.generation_id_or_member_epoch = joined.generation_id;
        let committed = client.call(&request, commit_version);
        assert_eq!(committed.topics[0].partitions[0].error_code, 0, "step {step}");

        let fetch_version = version(&OffsetFetchRequest::VERSIONS, step);
        let fetched = fetch(&mut client, &group_id, ("orders", topic_id), 0, fetch_version);
        assert_eq!((fetched.error_code, fetched.committed_offset), (0, 42), "step {step}");
        assert_eq!(fetched.metadata.as_deref(), Some("noted"));
        // Epochs are committed from version 6 on and fetched from 5 on.
        let epoch = if commit_version >= 6 && fetch_version >= 5 { 0 } else { -1 };
        assert_eq!(fetched.committed_leader_epoch, epoch, "step {step}");

        let leave_version = version(&LeaveGroupRequest::VERSIONS, step);
        let mut request = LeaveGroupRequest { group_id: group_id.clone(), ..LeaveGroupRequest::default() };
        if leave_version < 3 {
            request.member_id.clone_from(&joined.member_id);
        } else {
            let leaving = MemberIdentity { member_id: joined.member_id.clone(), ..MemberIdentity::default() };
            request.members.push(leaving);
        }
        let left = client.call(&request, leave_version);
        assert_eq!(left.error_code, 0);
        assert!(left.members.iter().all(|member| member.error_code == 0));
        let unknown = ErrorCode::UnknownMemberId.code();
        assert_eq!(heartbeat(&mut client, &group_id, &joined, heartbeat_version), unknown, "step {step}");
    }
}

/// Before version 4 only one key can be asked for.
fn asking_for(version: i16, key_type: i8, keys: &[&str]) -> FindCoordinatorRequest {
    match version {
        ..4 => FindCoordinatorRequest { key: keys[0].to_owned(), key_type, ..FindCoordinatorRequest::default() },
        _ => FindCoordinatorRequest {
            key_type,
            coordinator_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            ..FindCoordinatorRequest::default()
        },
    }
}

#[test]
fn the_coordinator_of_every_group_and_transactional_id_is_this_broker_in_every_version() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let port = i32::from(broker.address.port());
    let of_groups = FindCoordinatorRequest::VERSIONS.map(|version| (version, 0));
    // Version 0 knows of groups only.
    let of_transactions = FindCoordinatorRequest::VERSIONS.skip(1).map(|version| (version, 1));
    for (version, key_type) in of_groups.chain(of_transactions) {
        let request = asking_for(version, key_type, &["one", "two"]);
        let found = client.call(&request, version);
        if version < 4 {
            assert_eq!((found.error_code, &*found.host, found.port), (0, "127.0.0.1", port), "version {version}");
        } else {
            let keys: Vec<&str> = found.coordinators.iter().map(|found| &*found.key).collect();
            assert_eq!(keys, ["one", "two"]);
            assert!(found.coordinators.iter().all(|found| (found.error_code, found.port) == (0, port)));
        }
    }
}
