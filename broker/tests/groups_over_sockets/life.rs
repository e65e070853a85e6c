use std::sync::mpsc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::messages::{FindCoordinatorRequest, JoinGroupRequest};

use super::member::{coordinator, heartbeat, join, join_request, sync};
use super::support::{PATIENCE, TestBroker, metadata};

const REBALANCE_IN_PROGRESS: i16 = 27;

#[test]
fn a_second_member_is_let_in_once_the_first_has_rejoined() {
    let broker = TestBroker::fresh(&[]);
    let (mut first, mut second) = (coordinator(&broker), broker.client());
    let joined = join(&mut first, "saga", 9);
    sync(&mut first, "saga", &joined, 5);
    let told = second.call(&join_request("saga", ""), 9);
    second.send(&join_request("saga", &told.member_id), 9);
    while heartbeat(&mut first, "saga", &joined, 4) != REBALANCE_IN_PROGRESS {}
    let rejoined = first.call(&join_request("saga", &joined.member_id), 9);
    let let_in = second.receive::<JoinGroupRequest>(9);
    assert_eq!((rejoined.error_code, rejoined.generation_id, rejoined.members.len()), (0, 2, 2));
    assert_eq!((let_in.error_code, let_in.generation_id, let_in.members.len()), (0, 2, 0));
    assert_eq!(let_in.leader, joined.member_id);
}

#[test]
fn a_connection_is_served_while_its_join_is_parked() {
    let broker = TestBroker::fresh(&[]);
    let (mut first, mut second) = (coordinator(&broker), broker.client());
    let joined = join(&mut first, "saga", 9);
    sync(&mut first, "saga", &joined, 5);
    let told = second.call(&join_request("saga", ""), 9);
    second.send(&join_request("saga", &told.member_id), 9);
    second.send(&FindCoordinatorRequest { key: "saga".to_owned(), ..Default::default() }, 3);
    first.call(&join_request("saga", &joined.member_id), 9);
    assert_eq!(second.receive::<JoinGroupRequest>(9).error_code, 0, "answers keep the order of their requests");
    assert_eq!(second.receive::<FindCoordinatorRequest>(3).error_code, 0);
}

#[test]
fn a_member_whose_session_ends_is_removed_without_anyone_asking() {
    let settings = [("group.min.session.timeout.ms", "50")];
    let broker = TestBroker::fresh(&settings);
    let (mut first, mut second) = (coordinator(&broker), broker.client());
    let mut request = join_request("saga", "");
    request.session_timeout_ms = 100;
    request.rebalance_timeout_ms = 60_000;
    let silent = first.call(&request, 3);
    assert_eq!(silent.error_code, 0);
    let let_in = join(&mut second, "saga", 9);
    assert_eq!((let_in.error_code, let_in.members.len()), (0, 1), "the silent one is not waited for");
}

#[test]
fn a_group_goes_on_over_a_restart_and_over_a_kill() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let joined = join(&mut client, "saga", 9);
    sync(&mut client, "saga", &joined, 5);
    broker.stop();
    for _ in 0..2 {
        let broker = TestBroker::start(directory.path(), &[]);
        let mut client = coordinator(&broker);
        let synced = loop {
            let synced = sync(&mut client, "saga", &joined, 5);
            if synced.error_code != ErrorCode::CoordinatorLoadInProgress.code() {
                break synced;
            }
        };
        assert_eq!((synced.error_code, &*synced.assignment), (0, b"everything".as_slice()));
        assert_eq!(heartbeat(&mut client, "saga", &joined, 4), 0);
        broker.abandon();
    }
}

#[test]
fn a_stop_does_not_wait_for_members_that_wait_for_others() {
    let broker = TestBroker::fresh(&[]);
    let (mut first, mut second) = (coordinator(&broker), broker.client());
    let joined = join(&mut first, "saga", 9);
    sync(&mut first, "saga", &joined, 5);
    let told = second.call(&join_request("saga", ""), 9);
    second.send(&join_request("saga", &told.member_id), 9);
    while heartbeat(&mut first, "saga", &joined, 4) != REBALANCE_IN_PROGRESS {}
    let (tell, stopped) = mpsc::channel();
    std::thread::spawn(move || {
        broker.stop();
        let _ = tell.send(());
    });
    assert_eq!(second.receive::<JoinGroupRequest>(9).error_code, ErrorCode::NotCoordinator.code());
    stopped.recv_timeout(PATIENCE).expect("the broker stops");
}

#[test]
fn the_offsets_topic_is_made_with_the_first_coordinator_asked_for() {
    let broker = TestBroker::fresh(&[("offsets.topic.num.partitions", "7")]);
    let mut client = broker.client();
    let before = metadata(&mut client, &["__consumer_offsets"]);
    assert_eq!(before.topics[0].error_code, ErrorCode::UnknownTopicOrPartition.code());
    let mut client = coordinator(&broker);
    let after = metadata(&mut client, &["__consumer_offsets"]);
    assert_eq!((after.topics[0].error_code, after.topics[0].partitions.len()), (0, 7));
    assert!(after.topics[0].is_internal);
}

#[test]
fn many_consumers_that_ask_for_the_coordinator_at_once_all_find_it() {
    let broker = TestBroker::fresh(&[]);
    let asking: Vec<_> = (0..16)
        .map(|_| {
            let mut client = broker.client();
            std::thread::spawn(move || {
                let request = FindCoordinatorRequest { key: "saga".to_owned(), ..Default::default() };
                client.call(&request, 3).error_code
            })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.join().expect("is answered"), 0);
    }
}

#[test]
fn a_hundred_members_settle() {
    let broker = TestBroker::fresh(&[]);
    drop(coordinator(&broker));
    let address = broker.address;
    let members: Vec<_> = (0..100)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = super::support::Client::connect(address);
                let mut member_id = String::new();
                // Until it is in a generation of all hundred that is settled.
                loop {
                    let joined = client.call(&join_request("crowd", &member_id), 9);
                    member_id.clone_from(&joined.member_id);
                    if joined.error_code != 0 {
                        continue;
                    }
                    let assignments = joined
                        .members
                        .iter()
                        .map(|member| pillion_wire::messages::sync_group::SyncGroupRequestAssignment {
                            member_id: member.member_id.clone(),
                            assignment: joined.members.len().to_string().into(),
                        })
                        .collect();
                    let request = pillion_wire::messages::SyncGroupRequest {
                        group_id: "crowd".to_owned(),
                        generation_id: joined.generation_id,
                        member_id: member_id.clone(),
                        assignments,
                        ..Default::default()
                    };
                    let synced = client.call(&request, 5);
                    if synced.error_code == 0 && synced.assignment == "100" {
                        return joined.generation_id;
                    }
                    while heartbeat(&mut client, "crowd", &joined, 4) == 0 {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            })
        })
        .collect();
    let generations: Vec<i32> = members.into_iter().map(|member| member.join().expect("settles")).collect();
    assert!(generations.iter().all(|generation| *generation == generations[0]));
}
