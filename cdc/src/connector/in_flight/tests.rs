use std::future::{Ready, ready};
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use tokio::sync::oneshot;

use super::{InFlight, InFlightRow, Settled};
use crate::connector::row::RowPosition;
use crate::connector::unit::Reached;
use crate::lsn::Lsn;
use crate::progress::Progress;
use crate::publish::{Delivered, PublishError};

/// An acknowledgement a test gives when it likes.
struct Acknowledgement(oneshot::Receiver<Result<Delivered, PublishError>>);

impl Future for Acknowledgement {
    type Output = Result<Delivered, PublishError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|result| result.expect("the test keeps the sender"))
    }
}

type Queue = InFlight<Acknowledgement, Ready<Result<(), PublishError>>>;
type Sender = oneshot::Sender<Result<Delivered, PublishError>>;

fn push(queue: &mut Queue, bytes: usize) -> Sender {
    let (sender, receiver) = oneshot::channel();
    let position = RowPosition { table: "t".into(), commit_lsn: Lsn::ZERO, ordinal: 1, id: None };
    queue.push_row(InFlightRow { acknowledgement: Acknowledgement(receiver), bytes, position, span: None });
    sender
}

fn commit(queue: &mut Queue, end_lsn: u64) {
    let progress = Progress {
        system_id: String::new(),
        timeline: 1,
        commit_lsn: Lsn::ZERO,
        ordinal: 0,
        end_lsn: Lsn::new(end_lsn),
        last_event_id: None,
        snapshot: None,
    };
    queue.push_commit(ready(Ok(())), Reached { progress, commit_time_micros: 0, transactions: 1, rows: 0 });
}

fn acknowledge(sender: Sender) {
    assert!(sender.send(Ok(Delivered { partition: 0, offset: 0 })).is_ok());
}

fn poll(queue: &mut Queue) -> Option<Settled> {
    match queue.poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(settled) => Some(settled),
        Poll::Pending => None,
    }
}

fn boundary(settled: Option<Settled>) -> Option<u64> {
    match settled {
        Some(Settled::Commit(reached, Ok(()))) => Some(reached.progress.end_lsn.as_u64()),
        _ => None,
    }
}

#[test]
fn a_position_waits_for_every_row_before_it_also_of_earlier_transactions() {
    let mut queue = Queue::new(1000);
    let first = push(&mut queue, 1);
    commit(&mut queue, 10);
    let second = push(&mut queue, 1);
    commit(&mut queue, 20);
    acknowledge(second);
    assert!(poll(&mut queue).is_none(), "the second row is stored, the first is not");
    acknowledge(first);
    assert!(matches!(poll(&mut queue), Some(Settled::Row { result: Ok(_), .. })));
    assert_eq!(boundary(poll(&mut queue)), Some(10));
    assert!(matches!(poll(&mut queue), Some(Settled::Row { .. })));
    assert_eq!(boundary(poll(&mut queue)), Some(20));
    assert!(queue.is_empty());
}

#[test]
fn rows_behind_the_last_commit_can_be_given_up() {
    let mut queue = Queue::new(1000);
    let first = push(&mut queue, 1);
    commit(&mut queue, 10);
    let _second = push(&mut queue, 400);
    let _third = push(&mut queue, 700);
    assert!(!queue.has_room());
    queue.forget_uncommitted();
    assert!(queue.has_room());
    acknowledge(first);
    assert!(matches!(poll(&mut queue), Some(Settled::Row { .. })));
    assert_eq!(queue.commits(), 1);
    assert_eq!(boundary(poll(&mut queue)), Some(10));
    assert!(queue.is_empty());
    assert_eq!(queue.commits(), 0);
}

#[test]
fn room_is_counted_in_bytes_and_comes_back() {
    let mut queue = Queue::new(100);
    let large = push(&mut queue, 500);
    assert!(!queue.has_room(), "one row larger than the bound is let through, and nothing beside it");
    acknowledge(large);
    assert!(poll(&mut queue).is_some());
    assert!(queue.has_room());
}

#[test]
fn after_a_failed_row_no_position_is_left() {
    let mut queue = Queue::new(100);
    let row = push(&mut queue, 1);
    commit(&mut queue, 10);
    assert!(row.send(Err(PublishError::Unavailable("gone".into()))).is_ok());
    assert!(matches!(poll(&mut queue), Some(Settled::Row { result: Err(_), .. })));
    queue.clear();
    assert!(queue.is_empty() && poll(&mut queue).is_none());
}

proptest! {
    /// Whatever the order of acknowledgements, a position comes out only when all rows before it are acknowledged,
    /// and the last one comes out when all are.
    #[test]
    fn confirmed_positions_never_pass_an_unacknowledged_row(
        entries in proptest::collection::vec(any::<bool>(), 1..40),
        order in any::<u64>(),
    ) {
        let mut queue = Queue::new(usize::MAX);
        let mut rows = Vec::new();
        for (at, is_row) in entries.iter().enumerate() {
            match is_row {
                true => rows.push((at, push(&mut queue, 1))),
                false => commit(&mut queue, at as u64),
            }
        }
        let (mut order, mut confirmed) = (order, None);
        loop {
            while let Some(settled) = poll(&mut queue) {
                confirmed = boundary(Some(settled)).or(confirmed);
            }
            let first_missing = rows.iter().map(|row| row.0).min();
            if let (Some(confirmed), Some(missing)) = (confirmed, first_missing) {
                prop_assert!((confirmed as usize) < missing);
            }
            if rows.is_empty() {
                break;
            }
            order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (_, sender) = rows.swap_remove((order >> 33) as usize % rows.len());
            acknowledge(sender);
        }
        prop_assert_eq!(confirmed, entries.iter().rposition(|is_row| !is_row).map(|at| at as u64));
        prop_assert!(queue.is_empty());
    }
}
