use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::{BYTES_MAX, Unit};
use crate::lsn::Lsn;
use crate::progress::Progress;

fn unit() -> Unit {
    Unit::new(Progress {
        system_id: "7".to_owned(),
        timeline: 1,
        commit_lsn: Lsn::ZERO,
        ordinal: 0,
        end_lsn: Lsn::new(5),
        last_event_id: None,
        snapshot: None,
    })
}

fn add_transaction(unit: &mut Unit, commit_lsn: u64, bytes: usize) {
    unit.begin_transaction();
    unit.add_row((Lsn::new(commit_lsn), 1), None, bytes);
    unit.end_transaction(Lsn::new(commit_lsn + 1), 0);
}

#[tokio::test(start_paused = true)]
async fn a_whole_transaction_is_ready_at_once_unless_another_is_being_committed() {
    let mut unit = unit();
    unit.begin_transaction();
    unit.add_row((Lsn::new(10), 1), None, 100);
    assert_eq!(unit.ready_at(0), None, "half a transaction");
    unit.end_transaction(Lsn::new(11), 0);
    assert_eq!(unit.ready_at(0), Some(Instant::now()));
    assert_eq!(unit.ready_at(1), None);
}

#[tokio::test(start_paused = true)]
async fn many_rows_wait_a_moment_for_more() {
    let mut unit = unit();
    for commit_lsn in 1..=100 {
        add_transaction(&mut unit, commit_lsn * 10, 100);
    }
    assert_eq!(unit.ready_at(0), Some(Instant::now() + Duration::from_millis(10)));
    unit.take(Instant::now());
    add_transaction(&mut unit, 2_000, 100);
    assert_eq!(unit.ready_at(0), Some(Instant::now()), "few again");
}

#[tokio::test(start_paused = true)]
async fn a_busy_stream_is_committed_all_the_same() {
    let mut unit = unit();
    add_transaction(&mut unit, 10, 100);
    let now = Instant::now();
    assert!(!unit.is_due(now, 0));
    assert!(unit.is_due(now + Duration::from_millis(10), 0));
    assert!(!unit.is_due(now + Duration::from_millis(500), 1), "the one before takes its time");
    assert!(unit.is_due(now + Duration::from_secs(1), 1));
    add_transaction(&mut unit, 20, BYTES_MAX);
    assert!(unit.is_due(now, 1), "large enough");
}

#[tokio::test(start_paused = true)]
async fn half_a_transaction_is_committed_only_when_it_takes_too_long() {
    let mut unit = unit();
    unit.begin_transaction();
    unit.add_row((Lsn::new(10), 1), None, 10 * BYTES_MAX);
    let now = Instant::now();
    assert!(!unit.is_due(now + Duration::from_secs(4), 0));
    assert!(unit.is_due(now + Duration::from_secs(5), 0));
    let reached = unit.take(now);
    assert!(reached.progress.is_partial());
    assert_eq!(reached.progress.end_lsn, Lsn::new(5), "the slot is told of whole transactions only");
}

#[tokio::test(start_paused = true)]
async fn an_idle_position_is_due_at_once_then_seldom_and_sooner_when_the_server_waits() {
    let mut unit = unit();
    let now = Instant::now();
    unit.keep_alive(Lsn::new(5), true);
    assert!(!unit.is_idle_due(now), "nothing new");
    unit.keep_alive(Lsn::new(50), false);
    assert!(unit.is_idle_due(now));
    assert_eq!(unit.take(now).progress.end_lsn, Lsn::new(50));
    unit.keep_alive(Lsn::new(60), false);
    assert!(!unit.is_idle_due(now + Duration::from_secs(9)));
    assert!(unit.is_idle_due(now + Duration::from_secs(10)));
    unit.keep_alive(Lsn::new(60), true);
    assert!(unit.is_idle_due(now + Duration::from_secs(1)));
}

#[derive(Debug, Clone)]
enum Event {
    Transaction(u64),
    Keepalive(u64),
    Take,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![(0u64..4).prop_map(Event::Transaction), (0u64..20).prop_map(Event::Keepalive), Just(Event::Take),]
}

proptest! {
    /// Whatever comes, what is taken never goes back, covers every row added and none to come.
    #[test]
    fn progress_covers_exactly_what_was_added(events in proptest::collection::vec(event(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _guard = runtime.enter();
        let mut unit = unit();
        let mut at = 10;
        let mut before = Lsn::new(5);
        let mut added = Vec::new();
        for event in events {
            match event {
                Event::Transaction(rows) => {
                    unit.begin_transaction();
                    for ordinal in 1..=rows {
                        unit.add_row((Lsn::new(at), ordinal), None, 1);
                        added.push((Lsn::new(at), ordinal));
                    }
                    unit.end_transaction(Lsn::new(at + 5), 0);
                    at += 10;
                }
                Event::Keepalive(ahead) => {
                    at += ahead;
                    unit.keep_alive(Lsn::new(at), false);
                    at += 1;
                }
                Event::Take => {
                    let progress = unit.take(Instant::now()).progress;
                    prop_assert!(progress.end_lsn >= before);
                    before = progress.end_lsn;
                    for (commit_lsn, ordinal) in &added {
                        prop_assert!(progress.covers(*commit_lsn, *ordinal));
                    }
                    prop_assert!(!progress.covers(Lsn::new(at), 1));
                }
            }
        }
    }
}
