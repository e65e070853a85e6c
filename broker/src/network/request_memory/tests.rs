use std::task::{Context, Poll, Waker};

use super::{FIRST_STEP_BYTES, Grant, MemoryShare, MemoryWait, RequestMemory};

const BOUND: usize = 32 << 20;

fn poll(wait: &mut MemoryWait) -> Option<Grant> {
    match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(grant) => Some(grant),
        Poll::Pending => None,
    }
}

/// Grows a share as far as it goes without waiting.
fn grow(memory: &RequestMemory, share: &mut MemoryShare, size: usize) {
    while share.bytes() < size
        && let Some(grant) = memory.take(share.bytes(), size)
    {
        share.add(grant);
    }
}

#[test]
fn a_share_grows_step_by_step_and_comes_back() {
    let memory = RequestMemory::new(Some(BOUND));
    let mut share = MemoryShare::default();
    let mut steps = Vec::new();
    while share.bytes() < 600_000 {
        share.add(memory.take(share.bytes(), 600_000).expect("it is free"));
        steps.push(share.bytes());
        assert_eq!(memory.in_use(), share.bytes());
    }
    assert_eq!(steps, [FIRST_STEP_BYTES, 2 * FIRST_STEP_BYTES, 4 * FIRST_STEP_BYTES, 600_000]);
    drop(share);
    assert_eq!(memory.in_use(), 0);
}

#[test]
fn claims_alone_take_little_from_others() {
    let memory = RequestMemory::new(Some(BOUND));
    let claims: Vec<_> = (0..50).map(|_| memory.take(0, 100 << 20).expect("it is free")).collect();
    assert_eq!(memory.in_use(), 50 * FIRST_STEP_BYTES);
    let mut share = MemoryShare::default();
    grow(&memory, &mut share, 20 << 20);
    assert_eq!(share.bytes(), 20 << 20);
    drop((claims, share));
    assert_eq!(memory.in_use(), 0);
}

#[test]
fn one_of_many_that_need_each_others_memory_can_always_go_on() {
    let memory = RequestMemory::new(Some(BOUND));
    let size = 10 << 20;
    let mut shares: Vec<_> = (0..200).map(|_| MemoryShare::default()).collect();
    for round in 0..200 {
        shares.iter_mut().for_each(|share| grow(&memory, share, size));
        assert!(memory.in_use() <= BOUND);
        let whole = shares.iter().position(|share| share.bytes() == size);
        shares.remove(whole.unwrap_or_else(|| panic!("nobody is whole in round {round}")));
    }
    assert_eq!(memory.in_use(), 0);
}

#[test]
fn a_frame_larger_than_the_bound_goes_and_only_one_at_a_time() {
    let memory = RequestMemory::new(Some(1 << 20));
    let (mut first, mut second) = (MemoryShare::default(), MemoryShare::default());
    grow(&memory, &mut first, 5 << 20);
    assert_eq!(first.bytes(), 5 << 20);
    grow(&memory, &mut second, 5 << 20);
    assert_eq!(second.bytes(), FIRST_STEP_BYTES);
    let mut wait = memory.wait(second.bytes(), 5 << 20);
    assert!(poll(&mut wait).is_none());
    drop(first);
    second.add(poll(&mut wait).expect("the lane is free"));
    assert_eq!(second.bytes(), 5 << 20);
}

#[test]
fn memory_is_given_in_the_order_it_was_asked_for() {
    let memory = RequestMemory::new(Some(4 * FIRST_STEP_BYTES));
    let lane = memory.take(FIRST_STEP_BYTES, 1 << 30).expect("the lane is free");
    let held: Vec<_> = (0..2).map(|_| memory.take(0, FIRST_STEP_BYTES).expect("it is free")).collect();
    let mut first = memory.wait(0, FIRST_STEP_BYTES);
    assert!(poll(&mut first).is_none());
    let mut second = memory.wait(0, 5_000);
    assert!(poll(&mut second).is_none());
    let mut third = memory.wait(0, 5_000);
    assert!(poll(&mut third).is_none());
    drop(second);
    drop(held);
    assert!(memory.take(0, FIRST_STEP_BYTES).is_none(), "nobody overtakes");
    assert!(poll(&mut first).is_some());
    assert!(poll(&mut third).is_some());
    drop(lane);
    assert_eq!(memory.in_use(), 0, "one who gave up waiting keeps nothing");
}

#[test]
fn without_a_bound_nobody_waits() {
    let memory = RequestMemory::new(None);
    let mut shares: Vec<_> = (0..100).map(|_| MemoryShare::default()).collect();
    for share in &mut shares {
        grow(&memory, share, 1 << 30);
        assert_eq!(share.bytes(), 1 << 30);
    }
}
