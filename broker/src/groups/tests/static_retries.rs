//! A static member that asks once more while its first request waits: it must not be fenced by itself (KIP-345).

use pillion_wire::ErrorCode;

use super::harness::Harness;
use super::static_members::{join_static, stable_statics};

#[test]
fn a_new_static_member_that_asks_again_while_it_waits_is_fenced_in_its_older_requests_only() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let tries = [0; 4].map(|_| join_static(&mut harness, "three", ""));
    let [older @ .., newest] = tries;
    for older in older {
        // Its connection is gone with it: nobody but a second process would read this.
        assert_eq!(harness.join_answer(older).unwrap().error, ErrorCode::FencedInstanceId);
    }
    assert_eq!(harness.join_answer(newest), None, "it waits for the others");
    let one_waiter = join_static(&mut harness, "one", &one);
    join_static(&mut harness, "two", &two);
    let answer = harness.join_answer(newest).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation + 1));
    assert_eq!(harness.join_answer(one_waiter).unwrap().members.len(), 3, "it is in the group once");
    let three = answer.member_id;
    harness.sync(&one, generation + 1, &[(&one, "left"), (&two, "right"), (&three, "middle")]);
    let waiter = harness.sync(&three, generation + 1, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "middle");
    assert_eq!(harness.heartbeat_static(&three, Some("three"), generation + 1), ErrorCode::None);
}

#[test]
fn a_returning_static_member_that_asks_again_before_it_is_written_down_is_let_in_once() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    harness.is_log_prompt = false;
    let first = join_static(&mut harness, "two", "");
    let second = join_static(&mut harness, "two", "");
    assert_eq!(harness.join_answer(first).unwrap().error, ErrorCode::FencedInstanceId);
    assert_eq!(harness.join_answer(second), None, "its new id is not durable");
    harness.flush();
    let answer = harness.join_answer(second).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation), "nobody rebalances");
    assert_eq!(harness.heartbeat_static(&answer.member_id, Some("two"), generation), ErrorCode::None);
    assert_eq!(harness.heartbeat_static(&two, Some("two"), generation), ErrorCode::FencedInstanceId);
    assert_eq!(harness.heartbeat(&one, generation), ErrorCode::None);
    harness.restart();
    assert_eq!(harness.heartbeat_static(&answer.member_id, Some("two"), generation), ErrorCode::None);
}

#[test]
fn a_static_member_that_asks_again_under_its_own_id_is_not_fenced_at_all() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let (_, newcomer) = harness.join_new();
    let first = join_static(&mut harness, "two", &two);
    let second = join_static(&mut harness, "two", &two);
    let displaced = harness.join_answer(first).unwrap();
    assert_eq!((displaced.error, &displaced.member_id), (ErrorCode::RebalanceInProgress, &two));
    join_static(&mut harness, "one", &one);
    let answer = harness.join_answer(second).unwrap();
    assert_eq!((answer.error, answer.generation, answer.member_id), (ErrorCode::None, generation + 1, two.clone()));
    assert_eq!(harness.join_answer(newcomer).unwrap().error, ErrorCode::None);
    assert_eq!(harness.heartbeat_static(&two, Some("two"), generation + 1), ErrorCode::None);
}
