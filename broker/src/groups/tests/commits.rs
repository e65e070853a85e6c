use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::harness::{GROUP, Harness, partition_offset};

#[test]
fn a_commit_is_fetched_and_answered_only_once_it_is_durable() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    harness.is_log_prompt = false;
    let waiter = harness.commit(&leader, generation, 7);
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.is_commit_under_way(GROUP));
    assert_eq!(harness.commit_results(waiter), None);
    harness.flush();
    assert_eq!(harness.committed(), Some(7));
    assert!(!harness.shard.is_commit_under_way(GROUP));
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::None]));
}

#[test]
fn commits_become_visible_in_the_order_they_were_made() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    harness.is_log_prompt = false;
    for offset in [7, 9, 8] {
        harness.commit(&leader, generation, offset);
    }
    for offset in [7, 9, 8] {
        harness.flush_one();
        assert_eq!(harness.committed(), Some(offset));
    }
}

#[test]
fn only_current_members_of_the_current_generation_commit() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    for (member_id, asked, error) in [
        (&*leader, generation - 1, ErrorCode::IllegalGeneration),
        (&*leader, generation + 1, ErrorCode::IllegalGeneration),
        (&*leader, -1, ErrorCode::IllegalGeneration),
        ("made-up", generation, ErrorCode::UnknownMemberId),
        ("", -1, ErrorCode::UnknownMemberId),
        ("", generation, ErrorCode::UnknownMemberId),
    ] {
        let waiter = harness.commit(member_id, asked, 7);
        assert_eq!(harness.commit_results(waiter), Some(vec![error]), "{member_id:?} {asked}");
    }
    assert_eq!(harness.committed(), None);
}

#[test]
fn members_may_commit_while_others_rejoin_but_not_between_join_and_assignment() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.rejoin(&leader);
    let waiter = harness.commit(&follower, generation, 7);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::None]));
    harness.rejoin(&follower);
    let waiter = harness.commit(&follower, generation + 1, 8);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::RebalanceInProgress]));
    assert_eq!(harness.committed(), Some(7));
}

#[test]
fn a_commit_shows_that_a_member_lives() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    for _ in 0..4 {
        harness.pass(Duration::from_secs(6));
        let waiter = harness.commit(&leader, generation, 7);
        assert!(harness.commit_results(waiter).is_some());
    }
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress, "the other one is gone");
}

#[test]
fn a_consumer_without_membership_commits_to_a_group_of_its_own() {
    let mut harness = Harness::new();
    let waiter = harness.commit("", -1, 7);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::None]));
    assert_eq!(harness.committed(), Some(7));
    let waiter = harness.commit("", -1, 3);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::None]));
    assert_eq!(harness.committed(), Some(3), "offsets may be set back");
}

#[test]
fn a_commit_of_a_generation_in_a_group_that_does_not_exist_is_refused_as_the_version_knows_it() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("member", 3, 7);
    let waiter = harness.commit_with(commit.clone());
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::GroupIdNotFound]));
    commit.waiter = harness.waiter();
    commit.knows_group_id_not_found = false;
    let waiter = harness.commit_with(commit);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::IllegalGeneration]));
}

#[test]
fn too_much_metadata_fails_its_partition_and_no_other() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("", -1, 0);
    commit.offsets = vec![
        partition_offset("orders", 0, 1, &"x".repeat(4096)),
        partition_offset("orders", 1, 2, &"x".repeat(4097)),
        partition_offset("orders", 2, 3, &"é".repeat(4096)),
    ];
    let waiter = harness.commit_with(commit);
    let results = harness.commit_results(waiter).unwrap();
    assert_eq!(results, [ErrorCode::None, ErrorCode::OffsetMetadataTooLarge, ErrorCode::None]);
    assert!(harness.shard.committed(GROUP, "orders", 1).is_none());
    assert!(harness.shard.committed(GROUP, "orders", 2).is_some(), "it is characters that count");
}

#[test]
fn everything_a_group_has_committed_is_listed_in_order() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("", -1, 0);
    commit.offsets = vec![
        partition_offset("stock", 0, 5, ""),
        partition_offset("orders", 3, 4, "noted"),
        partition_offset("orders", 1, 2, ""),
    ];
    harness.commit_with(commit);
    let listed: Vec<_> = harness
        .shard
        .all_committed(GROUP)
        .into_iter()
        .map(|(topic, partitions)| {
            (
                Arc::clone(topic),
                partitions.iter().map(|(partition, committed)| (*partition, committed.offset)).collect(),
            )
        })
        .collect();
    assert_eq!(listed, [(Arc::from("orders"), vec![(1, 2), (3, 4)]), (Arc::from("stock"), vec![(0, 5)])]);
    assert!(harness.shard.all_committed("another").is_empty());
}

#[test]
fn when_an_append_fails_everyone_who_waits_is_answered_with_the_error() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.is_log_prompt = false;
    let commit = harness.commit(&leader, generation, 7);
    let parked = harness.rejoin(&leader);
    let (_, persist) = harness.in_flight.pop_front().unwrap();
    let mut actions = Vec::new();
    harness.shard.persist_failed(persist, ErrorCode::NotCoordinator, &mut actions);
    harness.shard.unload(ErrorCode::NotCoordinator, harness.now, &mut actions);
    harness.settle(actions);
    assert_eq!(harness.commit_results(commit), Some(vec![ErrorCode::NotCoordinator]));
    assert_eq!(harness.join_answer(parked).unwrap().error, ErrorCode::NotCoordinator);
    harness.restart();
    assert_eq!(harness.committed(), None);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::None, "the group is as the log says");
}

#[test]
fn of_a_partition_named_again_the_last_offset_that_may_be_committed_is() {
    let mut harness = Harness::new();
    let long = "x".repeat(harness.limits.offset_metadata_max + 1);
    let (none, too_large) = (ErrorCode::None, ErrorCode::OffsetMetadataTooLarge);
    for (offsets, results, committed) in [
        ([(5, "a"), (3, "b")], [none, none], 3),
        ([(5, "a"), (9, long.as_str())], [none, too_large], 5),
        ([(8, long.as_str()), (9, "b")], [too_large, none], 9),
    ] {
        let mut commit = harness.commit_request("", -1, 0);
        commit.offsets = offsets.map(|(offset, metadata)| partition_offset("orders", 0, offset, metadata)).into();
        let written = harness.log.len();
        let waiter = harness.commit_with(commit);
        assert_eq!(harness.commit_results(waiter), Some(results.to_vec()));
        assert_eq!(harness.committed(), Some(committed));
        assert_eq!(harness.log.len(), written + 1, "one record is enough");
    }
}
