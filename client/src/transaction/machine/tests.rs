use std::sync::Arc;

use pillion_wire::ErrorCode;
use proptest::prelude::*;

use super::{Action, Conclusion, End, Event, Failure, Machine, Protocol, Request};
use crate::transaction::error::{AbortCause, TransactionError};

fn cause() -> Arc<AbortCause> {
    Arc::new(AbortCause::Request { api: "Produce", code: ErrorCode::MessageTooLarge })
}

fn fatal() -> TransactionError {
    TransactionError::Fenced { transactional_id: "id".into(), api: "EndTxn", code: ErrorCode::ProducerFenced }
}

fn commit(number: u64) -> Event {
    Event::Closed { number, end: End::Commit, offsets: false }
}

/// The actions in short.
fn short(actions: Vec<Action>) -> Vec<String> {
    let one = |action| match action {
        Action::Request { number, request } => format!("{request:?} {number}"),
        Action::Settle(number) => format!("Settle {number}"),
        Action::Doom { number, .. } => format!("Doom {number}"),
        Action::Release { number, .. } => format!("Release {number}"),
        Action::Conclude { number, outcome: Ok(()) } => format!("Ok {number}"),
        Action::Conclude { number, outcome: Err(Conclusion::Aborted(_)) } => format!("Aborted {number}"),
        Action::Conclude { number, outcome: Err(Conclusion::Failed(_)) } => format!("Failed {number}"),
        Action::Stop(_) => "Stop".to_owned(),
    };
    actions.into_iter().map(one).collect()
}

/// Runs events one after the other and checks what each has done.
fn check(protocol: Protocol, steps: Vec<(Event, &[&str])>) -> Machine {
    let mut machine = Machine::new(protocol);
    for (step, (event, expected)) in steps.into_iter().enumerate() {
        let shown = format!("step {step}: {event:?}");
        assert_eq!(short(machine.on(event)), expected, "{shown}");
    }
    machine
}

const V1: Event = Event::Answered { protocol: Protocol::V1 };
const V2: Event = Event::Answered { protocol: Protocol::V2 };
const SENT: Event = Event::Settled { sent: true };
const UNSENT: Event = Event::Settled { sent: false };

#[test]
fn transaction_of_version_2_is_ended_once_its_records_are_settled() {
    let machine =
        check(Protocol::V2, vec![(commit(1), &["Settle 1"]), (SENT, &["End(Commit) 1"]), (V2, &["Ok 1", "Release 2"])]);
    assert!(machine.is_idle());
}

#[test]
fn next_transaction_is_filled_while_the_one_before_is_committed() {
    check(
        Protocol::V2,
        vec![
            (commit(1), &["Settle 1"]),
            (commit(2), &[]),
            (SENT, &["End(Commit) 1"]),
            (V2, &["Ok 1", "Release 2", "Settle 2"]),
            (SENT, &["End(Commit) 2"]),
            (V2, &["Ok 2", "Release 3"]),
        ],
    );
}

#[test]
fn version_1_adds_partitions_before_records_go_out() {
    check(
        Protocol::V1,
        vec![
            (Event::PartitionsWanted, &["Enlist 1"]),
            (commit(1), &[]),
            (Event::PartitionsWanted, &[]),
            (V1, &["Enlist 1"]),
            (V1, &["Settle 1"]),
            (SENT, &["End(Commit) 1"]),
            (V1, &["Ok 1", "Release 2"]),
        ],
    );
}

#[test]
fn offsets_are_committed_while_records_settle() {
    let closed = Event::Closed { number: 1, end: End::Commit, offsets: true };
    check(
        Protocol::V2,
        vec![
            (closed, &["Settle 1", "CommitOffsets 1"]),
            (UNSENT, &[]),
            (V2, &["End(Commit) 1"]),
            (V2, &["Ok 1", "Release 2"]),
        ],
    );
}

#[test]
fn empty_transaction_asks_nothing() {
    check(Protocol::V2, vec![(commit(1), &["Settle 1"]), (UNSENT, &["Ok 1", "Release 2"])]);
    let abort = Event::Closed { number: 1, end: End::Abort, offsets: false };
    check(Protocol::V1, vec![(abort, &["Settle 1"]), (UNSENT, &["Release 2", "Ok 1"])]);
}

#[test]
fn doomed_transaction_is_aborted_before_its_caller_closes_it_and_told_when_it_does() {
    check(
        Protocol::V2,
        vec![
            (Event::Doomed { from: 1, to: 1, cause: cause() }, &["Settle 1"]),
            (SENT, &["End(Abort) 1"]),
            (V2, &["Release 2"]),
            (commit(1), &["Aborted 1"]),
            (commit(2), &["Settle 2"]),
            (SENT, &["End(Commit) 2"]),
            (V2, &["Ok 2", "Release 3"]),
        ],
    );
}

#[test]
fn all_that_was_begun_behind_a_failure_is_aborted_with_it() {
    check(
        Protocol::V2,
        vec![
            (commit(1), &["Settle 1"]),
            (commit(2), &[]),
            (Event::Doomed { from: 1, to: 3, cause: cause() }, &[]),
            (SENT, &["End(Abort) 1"]),
            (V2, &["Release 4", "Aborted 1", "Aborted 2"]),
            (commit(3), &["Aborted 3"]),
        ],
    );
}

#[test]
fn failure_in_the_next_transaction_leaves_the_one_being_committed_alone() {
    check(
        Protocol::V2,
        vec![
            (commit(1), &["Settle 1"]),
            (SENT, &["End(Commit) 1"]),
            (Event::Doomed { from: 2, to: 2, cause: cause() }, &[]),
            (V2, &["Ok 1", "Release 2", "Settle 2"]),
            (UNSENT, &["Release 3"]),
            (commit(2), &["Aborted 2"]),
        ],
    );
}

#[test]
fn version_1_gets_a_new_epoch_behind_an_abort() {
    let abort = Event::Closed { number: 1, end: End::Abort, offsets: false };
    check(
        Protocol::V1,
        vec![
            (Event::PartitionsWanted, &["Enlist 1"]),
            (V1, &[]),
            (abort, &["Settle 1"]),
            (SENT, &["End(Abort) 1"]),
            (V1, &["Renew 1"]),
            (V1, &["Release 2", "Ok 1"]),
        ],
    );
}

#[test]
fn refused_partitions_abort_nothing_that_was_never_begun() {
    let refused = Event::Failed(Failure::Abortable { cause: cause(), refused: true });
    check(
        Protocol::V1,
        vec![
            (Event::PartitionsWanted, &["Enlist 1"]),
            (refused, &["Doom 1", "Settle 1"]),
            (Event::Doomed { from: 1, to: 1, cause: cause() }, &[]),
            (UNSENT, &["Release 2"]),
        ],
    );
}

#[test]
fn partitions_without_an_answer_are_aborted_though_there_may_be_nothing() {
    let lost = Event::Failed(Failure::Abortable { cause: cause(), refused: false });
    let nothing = Event::Failed(Failure::NoTransaction(fatal()));
    check(
        Protocol::V1,
        vec![
            (Event::PartitionsWanted, &["Enlist 1"]),
            (lost, &["Doom 1", "Settle 1"]),
            (UNSENT, &["End(Abort) 1"]),
            (nothing, &["Renew 1"]),
            (V1, &["Release 2"]),
        ],
    );
}

#[test]
fn commit_that_the_coordinator_wants_aborted_is_aborted() {
    let refused = Event::Failed(Failure::Abortable { cause: cause(), refused: true });
    check(
        Protocol::V2,
        vec![
            (commit(1), &["Settle 1"]),
            (SENT, &["End(Commit) 1"]),
            (refused, &["Doom 1", "End(Abort) 1"]),
            (V2, &["Release 2", "Aborted 1"]),
        ],
    );
}

#[test]
fn nothing_is_asked_once_the_producer_is_broken() {
    check(
        Protocol::V2,
        vec![
            (commit(1), &["Settle 1"]),
            (commit(2), &[]),
            (SENT, &["End(Commit) 1"]),
            (Event::Failed(Failure::Fatal(fatal())), &["Stop", "Failed 1", "Failed 2"]),
            (commit(3), &["Failed 3"]),
            (Event::PartitionsWanted, &[]),
        ],
    );
}

/// What a run of the machine looks like from outside.
struct Run {
    machine: Machine,
    begun: u64,
    closed: u64,
    concluded: Vec<u64>,
    asked: Option<(u64, Request)>,
    settling: Option<u64>,
    settled: Option<u64>,
    doomed: Vec<(u64, u64)>,
    released: u64,
    stopped: bool,
}

impl Run {
    fn feed(&mut self, event: Event) {
        for action in self.machine.on(event) {
            assert!(!self.stopped || matches!(action, Action::Conclude { .. }), "{action:?} after the end");
            match action {
                Action::Request { number, request } => {
                    assert!(self.asked.is_none(), "two requests on their way");
                    assert_eq!(number, self.released);
                    if let Request::End(end) = request {
                        assert_eq!(self.settled, Some(number), "ended before its records were settled");
                        assert_eq!(end == End::Abort, self.is_doomed(number), "{end:?} of {number}");
                    }
                    self.asked = Some((number, request));
                }
                Action::Settle(number) => self.settling = Some(number),
                Action::Doom { number, .. } => self.doomed.push((number, self.begun)),
                Action::Release { number, .. } => {
                    assert!(number > self.released);
                    (self.released, self.settling, self.settled) = (number, None, None);
                }
                Action::Conclude { number, outcome } => {
                    assert!(number <= self.closed);
                    assert_eq!(self.concluded.last().map_or(1, |last| last + 1), number, "out of order");
                    if outcome.is_ok() {
                        assert!(!self.is_doomed(number), "{number} was doomed and is told as committed");
                    }
                    self.concluded.push(number);
                }
                Action::Stop(_) => self.stopped = true,
            }
        }
    }

    fn is_doomed(&self, number: u64) -> bool {
        self.doomed.iter().any(|(from, to)| (*from..=*to).contains(&number))
    }
}

proptest! {
    #[test]
    fn every_transaction_is_concluded_once_in_order_and_only_whole_ones_as_committed(
        version_1 in any::<bool>(),
        choices in prop::collection::vec(0..9_u8, 0..200),
    ) {
        let protocol = if version_1 { Protocol::V1 } else { Protocol::V2 };
        let mut run = Run {
            machine: Machine::new(protocol), begun: 0, closed: 0, concluded: Vec::new(), asked: None, settling: None,
            settled: None, doomed: Vec::new(), released: 1, stopped: false,
        };
        // At the end everything is closed and answered.
        for choice in choices.into_iter().chain([1, 2, 5].into_iter().cycle().take(300)) {
            let event = match choice {
                0 if run.begun == run.closed => { run.begun += 1; continue }
                1 if run.begun > run.closed => {
                    run.closed += 1;
                    commit(run.closed)
                }
                2 => match run.settling.take() {
                    Some(number) => {
                        run.settled = Some(number);
                        SENT
                    }
                    None => continue,
                },
                3 if version_1 && run.begun >= run.released && run.settling.is_none() && run.settled.is_none() => {
                    Event::PartitionsWanted
                }
                4 if run.begun >= run.released && !run.is_doomed(run.begun) && run.settled.is_none() => {
                    run.doomed.push((run.begun, run.begun));
                    Event::Doomed { from: run.begun, to: run.begun, cause: cause() }
                }
                5 | 6 => match run.asked.take() {
                    Some(_) => Event::Answered { protocol },
                    None => continue,
                },
                7 => match run.asked {
                    Some((_, Request::Enlist | Request::CommitOffsets | Request::End(End::Commit))) => {
                        run.asked = None;
                        Event::Failed(Failure::Abortable { cause: cause(), refused: true })
                    }
                    _ => continue,
                },
                8 => match run.asked.take() {
                    Some(_) if run.closed > 20 => Event::Failed(Failure::Fatal(fatal())),
                    Some(asked) => { run.asked = Some(asked); continue }
                    None => continue,
                },
                _ => continue,
            };
            run.feed(event);
            if let Some((from, to)) = run.doomed.last().copied() {
                // Whoever dooms a transaction tells how many are doomed with it.
                if from >= run.released && to > from {
                    run.feed(Event::Doomed { from, to, cause: cause() });
                }
            }
        }
        prop_assert_eq!(run.concluded.len() as u64, run.closed);
        prop_assert!(run.asked.is_none() && run.machine.is_idle());
    }
}
