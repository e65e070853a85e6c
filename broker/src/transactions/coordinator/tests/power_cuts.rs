//! The power goes, or one operation of the disk fails, at every moment of some transactions over three partitions.
//!
//! After the next start a `read_committed` reader sees all or nothing of each, everything of those whose commit was
//! answered, nothing of those whose abort was, and no transaction hangs.

use std::collections::BTreeSet;

use super::super::super::action::Answer;
use super::super::super::event::Protocol;
use super::node::{Node, answer};
use crate::disk::SimulatedDisk;

const TRANSACTIONS: i64 = 4;
const PARTITIONS: i32 = 3;
/// The next start finds every transaction older than that.
const TIMEOUT_MS: i32 = 1;

/// What a producer was told.
#[derive(Debug, Default)]
struct Told {
    committed: BTreeSet<i64>,
    aborted: BTreeSet<i64>,
}

/// Transactions one after the other, every third aborted, until something fails.
async fn tell(node: &Node, protocol: Protocol, timeout_ms: i32, told: &mut Told) -> Option<()> {
    let Ok(Answer::Producer(mut producer)) = answer(node.begin_init(Some(7), timeout_ms)).await else { return None };
    let mut stable = vec![0; PARTITIONS as usize];
    let mut sequence = 0;
    for number in 0..TRANSACTIONS {
        let commit = number % 3 != 1;
        // As clients do it: partitions are added when they are first written to.
        for index in 0..PARTITIONS {
            node.add(producer, protocol, [index]).await.ok()?;
            node.write(producer, index, sequence, number).await.ok()?;
        }
        let ended = node.end_transaction(producer, protocol, commit).await;
        for (before, now) in stable.iter_mut().zip(node.offsets()) {
            assert!(now.last_stable_offset >= *before, "the last stable offset went back");
            *before = now.last_stable_offset;
        }
        let Ok(Answer::Producer(next)) = ended else { return None };
        let of = if commit { &mut told.committed } else { &mut told.aborted };
        of.insert(number);
        sequence = if next == producer { sequence + 1 } else { 0 };
        producer = next;
    }
    Some(())
}

async fn check(disk: &SimulatedDisk, told: &Told, what: &str) {
    let node = Node::start(disk, 1).await;
    node.keep_time();
    node.until_stable(what).await;
    let seen: Vec<Vec<i64>> = (0..PARTITIONS).map(|index| node.committed(index)).collect();
    for values in &seen {
        let once: BTreeSet<i64> = values.iter().copied().collect();
        assert_eq!(once.len(), values.len(), "{what}: twice in {seen:?}");
        assert_eq!(values, &seen[0], "{what}: not all or nothing: {seen:?}");
        assert!(told.committed.is_subset(&once), "{what}: {told:?}, and then {seen:?}");
        assert!(told.aborted.is_disjoint(&once), "{what}: {told:?}, and then {seen:?}");
    }
    // And the id can be used again.
    let mut told = Told::default();
    tell(&node, Protocol::EpochBump, 60_000, &mut told)
        .await
        .unwrap_or_else(|| panic!("{what}: nothing goes any more"));
    node.end();
}

/// What happens to the disk at an operation.
type Fault = fn(&SimulatedDisk, u64);

/// The story with a fault after some operations, and what the next start makes of it; answers the operations it took.
async fn story(protocol: Protocol, seed: u64, fault: Option<(Fault, u64)>) -> u64 {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let before = disk.operations();
    let what = format!("{protocol:?}, fault at operation {:?}, seed {seed}", fault.map(|(_, after)| after));
    if let Some((fault, after)) = fault {
        fault(&disk, before + after);
    }
    let mut told = Told::default();
    let whole = tell(&node, protocol, TIMEOUT_MS, &mut told).await;
    assert!(fault.is_some() || whole.is_some(), "without a fault all goes well");
    let operations = disk.operations() - before;
    disk.crash(seed);
    node.end();
    check(&disk, &told, &what).await;
    operations
}

/// `fault` at every operation.
async fn at_every_operation(fault: Fault) {
    for protocol in [Protocol::Classic, Protocol::EpochBump] {
        let operations = story(protocol, 0, None).await;
        assert!(operations > 50, "{operations}");
        // Threads make for another order each time: some more than there were.
        for after in 1..operations + 10 {
            story(protocol, after, Some((fault, after))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_power_cut_at_any_moment_readers_see_all_or_nothing_of_each_transaction() {
    at_every_operation(SimulatedDisk::cut_power_at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_any_failed_operation_and_a_restart_readers_see_all_or_nothing_of_each_transaction() {
    at_every_operation(SimulatedDisk::fail_nth_operation).await;
}
