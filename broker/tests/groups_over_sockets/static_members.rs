//! Static members (KIP-345) over sockets: they ask again, they come back, and the broker is started again under them.

use pillion_wire::ErrorCode;
use pillion_wire::messages::sync_group::SyncGroupRequestAssignment;
use pillion_wire::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse,
};

use super::member::{coordinator, join_request};
use super::support::{Client, TestBroker};

const GROUP: &str = "saga";

fn joining(instance_id: &str, member_id: &str) -> JoinGroupRequest {
    JoinGroupRequest { group_instance_id: Some(instance_id.to_owned()), ..join_request(GROUP, member_id) }
}

/// Asks until the group has been read from the log.
fn join(client: &mut Client, instance_id: &str, member_id: &str) -> JoinGroupResponse {
    loop {
        let joined = client.call(&joining(instance_id, member_id), 9);
        if joined.error_code != ErrorCode::CoordinatorLoadInProgress.code() {
            return joined;
        }
    }
}

fn sync(client: &mut Client, instance_id: &str, joined: &JoinGroupResponse) -> SyncGroupResponse {
    let assignment = |member_id: &String| SyncGroupRequestAssignment {
        member_id: member_id.clone(),
        assignment: member_id.clone().into(),
    };
    let request = SyncGroupRequest {
        group_id: GROUP.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        group_instance_id: Some(instance_id.to_owned()),
        assignments: joined.members.iter().map(|member| assignment(&member.member_id)).collect(),
        ..SyncGroupRequest::default()
    };
    client.call(&request, 5)
}

fn heartbeat(client: &mut Client, instance_id: &str, joined: &JoinGroupResponse) -> i16 {
    let request = HeartbeatRequest {
        group_id: GROUP.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        group_instance_id: Some(instance_id.to_owned()),
    };
    loop {
        let code = client.call(&request, 4).error_code;
        if code != ErrorCode::CoordinatorLoadInProgress.code() {
            return code;
        }
    }
}

#[test]
fn a_static_member_that_asks_again_while_its_first_request_waits_is_not_fenced_by_itself() {
    let broker = TestBroker::fresh(&[]);
    let mut one = coordinator(&broker);
    let joined = join(&mut one, "one", "");
    assert_eq!(sync(&mut one, "one", &joined).error_code, 0);
    let mut newest = broker.client();
    newest.send(&joining("two", ""), 9);
    while heartbeat(&mut one, "one", &joined) != ErrorCode::RebalanceInProgress.code() {}
    // Each try is on a connection of its own, as of a client that has run out of patience with the one before.
    for _ in 0..3 {
        let mut again = broker.client();
        again.send(&joining("two", ""), 9);
        let older = newest.receive::<JoinGroupRequest>(9);
        assert_eq!(older.error_code, ErrorCode::FencedInstanceId.code());
        newest = again;
    }
    let rejoined = join(&mut one, "one", &joined.member_id);
    assert_eq!((rejoined.error_code, rejoined.generation_id, rejoined.members.len()), (0, 2, 2));
    let two = newest.receive::<JoinGroupRequest>(9);
    assert_eq!((two.error_code, two.generation_id), (0, 2));
    assert_eq!(sync(&mut one, "one", &rejoined).error_code, 0);
    let synced = sync(&mut newest, "two", &two);
    assert_eq!((synced.error_code, synced.assignment), (0, two.member_id.clone().into()));
    assert_eq!(heartbeat(&mut newest, "two", &two), 0);
    assert_eq!(heartbeat(&mut one, "one", &rejoined), 0);
}

#[test]
fn a_restart_and_a_kill_of_the_broker_fence_no_static_member() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let mut joined = join(&mut client, "one", "");
    let generation = joined.generation_id;
    assert_eq!(sync(&mut client, "one", &joined).error_code, 0);
    for is_clean in [true, false, true, false] {
        if is_clean {
            broker.stop()
        } else {
            broker.abandon()
        }
        broker = TestBroker::start(directory.path(), &[]);
        client = coordinator(&broker);
        assert_eq!(heartbeat(&mut client, "one", &joined), 0, "the id it has is good still");
        // The member's process begins anew: another id, the same place, and nobody rebalances.
        let returned = join(&mut client, "one", "");
        assert_eq!((returned.error_code, returned.generation_id), (0, generation));
        assert_ne!(returned.member_id, joined.member_id);
        assert_eq!(sync(&mut client, "one", &returned).error_code, 0);
        assert_eq!(heartbeat(&mut client, "one", &returned), 0);
        assert_eq!(heartbeat(&mut client, "one", &joined), ErrorCode::FencedInstanceId.code());
        joined = returned;
    }
}
