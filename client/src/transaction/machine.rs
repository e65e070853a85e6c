//! A transactional producer's transactions in order: what is asked of coordinators when, and what each has come to.
//! Pure: events in, actions out.
//!
//! ```text
//!            ┌────────── released: records go out ──────────┐
//! current:   filling ── closed ── offsets ── settled ── EndTxn(commit) ── concluded ── the next one is current
//!               │                                  │
//!               └─ doomed ── settled ── EndTxn(abort) [── a new epoch, version 1] ── concluded, with all doomed
//! ```
//!
//! **Invariants.** One request is on its way at a time. EndTxn leaves only when every record of the transaction is
//! settled, and with commit only when none has failed. A transaction's records go out only when the one before is
//! concluded. Each closed transaction is concluded once. Nothing is asked after a failure that the producer cannot go
//! on from.

use std::collections::VecDeque;
use std::sync::Arc;

use super::error::{AbortCause, TransactionError};

/// Which of Kafka's two protocols is spoken (the feature `transaction.version`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Partitions and groups are added before they are written to; the epoch stays.
    V1,
    /// The first write adds them, and each end brings a new epoch (KIP-890).
    V2,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    Abort,
}

/// What has happened.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// The caller has ended a transaction; they come in order.
    Closed { number: u64, end: End, offsets: bool },
    /// Records of the current transaction wait for their partitions to be added.
    PartitionsWanted,
    /// Some transactions cannot be committed.
    Doomed { from: u64, to: u64, cause: Arc<AbortCause> },
    /// Every record of the current transaction is delivered or has failed; `sent` when one may have reached a broker.
    Settled { sent: bool },
    /// The request on its way succeeded; `protocol` is spoken from the next transaction on.
    Answered { protocol: Protocol },
    /// It failed.
    Failed(Failure),
    /// The producer cannot go on, whatever is on its way.
    Broken(TransactionError),
}

/// What a request failed with.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// Its transaction has to be aborted; `refused` when the coordinator said so itself.
    Abortable { cause: Arc<AbortCause>, refused: bool },
    /// The coordinator says that there is no such transaction.
    NoTransaction(TransactionError),
    /// The producer cannot go on.
    Fatal(TransactionError),
}

/// A request to a coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Adds the partitions that records wait for.
    Enlist,
    /// Adds the groups and commits their offsets.
    CommitOffsets,
    End(End),
    /// Gets a new epoch.
    Renew,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Action {
    Request {
        number: u64,
        request: Request,
    },
    /// Tell when every record of a transaction is settled; it gets no more.
    Settle(u64),
    /// Doom a transaction and those begun behind it.
    Doom {
        number: u64,
        cause: Arc<AbortCause>,
    },
    /// Let a transaction's records out.
    Release {
        number: u64,
        protocol: Protocol,
    },
    /// Tell a closed transaction's outcome.
    Conclude {
        number: u64,
        outcome: Result<(), Conclusion>,
    },
    /// The producer cannot go on.
    Stop(TransactionError),
}

/// Why a transaction was not committed.
#[derive(Debug, Clone)]
pub(super) enum Conclusion {
    Aborted(Arc<AbortCause>),
    Failed(TransactionError),
}

#[derive(Debug)]
struct Closed {
    number: u64,
    end: End,
    offsets: bool,
}

#[derive(Debug)]
struct Doom {
    from: u64,
    to: u64,
    cause: Arc<AbortCause>,
}

/// How far the records of the current transaction are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Records {
    Open,
    Settling,
    Settled,
}

/// The transactions of one producer.
#[derive(Debug)]
pub(super) struct Machine {
    protocol: Protocol,
    /// The transaction whose records go out.
    current: u64,
    /// Closed and not concluded, in order.
    closed: VecDeque<Closed>,
    last_closed: u64,
    dooms: Vec<Doom>,
    /// The request on its way.
    asked: Option<Request>,
    /// Whether the coordinator may know of the current transaction.
    started: bool,
    offsets_committed: bool,
    partitions_wanted: bool,
    /// The transaction was ended and a new epoch is all that is missing.
    ended: bool,
    records: Records,
    broken: Option<TransactionError>,
}

impl Machine {
    /// A producer that has just been given its identity; its first transaction is 1.
    pub(super) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            current: 1,
            closed: VecDeque::new(),
            last_closed: 0,
            dooms: Vec::new(),
            asked: None,
            started: false,
            offsets_committed: false,
            partitions_wanted: false,
            ended: false,
            records: Records::Open,
            broken: None,
        }
    }

    /// Whether there is nothing to do until the caller ends a transaction.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_none() && self.closed.is_empty()
    }

    /// Takes in what has happened; gives what is to be done, in order.
    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Closed { number, end, offsets } => self.close(Closed { number, end, offsets }),
            Event::PartitionsWanted => self.partitions_wanted = true,
            Event::Doomed { from, to, cause } => self.dooms.push(Doom { from, to, cause }),
            Event::Settled { sent } => {
                self.records = Records::Settled;
                self.started |= sent;
            }
            Event::Answered { protocol } => self.answered(protocol, &mut actions),
            Event::Failed(failure) => self.failed(failure, &mut actions),
            Event::Broken(error) => self.stop(error, &mut actions),
        }
        self.advance(&mut actions);
        actions
    }

    fn close(&mut self, closed: Closed) {
        if closed.end == End::Abort {
            self.dooms.push(Doom { from: closed.number, to: closed.number, cause: AbortCause::Caller.into() });
        }
        self.last_closed = closed.number;
        self.closed.push_back(closed);
    }

    fn answered(&mut self, protocol: Protocol, actions: &mut Vec<Action>) {
        match self.asked.take() {
            Some(Request::Enlist) => self.started = true,
            Some(Request::CommitOffsets) => (self.started, self.offsets_committed) = (true, true),
            Some(Request::End(End::Commit)) => {
                self.conclude(self.current, Ok(()), actions);
                self.pass_to(self.current + 1, protocol, actions);
            }
            Some(Request::End(End::Abort)) if self.protocol == Protocol::V1 => self.ended = true,
            Some(Request::End(End::Abort) | Request::Renew) => self.pass_doomed(protocol, actions),
            None => {}
        }
    }

    fn failed(&mut self, failure: Failure, actions: &mut Vec<Action>) {
        let Some(asked) = self.asked.take() else { return };
        match (asked, failure) {
            // It may never have begun, and if it has, getting a new epoch aborts it.
            (Request::End(End::Abort) | Request::Renew, Failure::Abortable { .. })
            | (Request::End(End::Abort), Failure::NoTransaction(_)) => self.ended = true,
            (_, Failure::Fatal(error) | Failure::NoTransaction(error)) => self.stop(error, actions),
            (asked, Failure::Abortable { cause, refused }) => {
                // What was refused has not begun the transaction; what was not answered may have.
                self.started |= !refused || asked != Request::Enlist;
                actions.push(Action::Doom { number: self.current, cause: cause.clone() });
                // Whoever dooms it tells how many are doomed with it; until then this one is.
                self.dooms.push(Doom { from: self.current, to: self.current, cause });
            }
        }
    }

    fn stop(&mut self, error: TransactionError, actions: &mut Vec<Action>) {
        if self.broken.is_none() {
            self.broken = Some(error.clone());
            actions.push(Action::Stop(error));
        }
    }

    /// Does what can be done now.
    fn advance(&mut self, actions: &mut Vec<Action>) {
        if let Some(error) = &self.broken {
            for closed in self.closed.drain(..) {
                let outcome = Err(Conclusion::Failed(error.clone()));
                actions.push(Action::Conclude { number: closed.number, outcome });
            }
            return;
        }
        self.conclude_passed(actions);
        if self.asked.is_some() {
            return;
        }
        if self.doom_of(self.current).is_some() {
            return self.advance_doomed(actions);
        }
        if self.partitions_wanted && self.protocol == Protocol::V1 {
            self.partitions_wanted = false;
            return self.ask(Request::Enlist, actions);
        }
        let Some(closed) = self.closed.front() else { return };
        let wants_offsets = closed.offsets && !self.offsets_committed;
        if self.records == Records::Open {
            self.records = Records::Settling;
            actions.push(Action::Settle(self.current));
        }
        if wants_offsets {
            self.ask(Request::CommitOffsets, actions);
        } else if self.records == Records::Settled {
            if self.started {
                self.ask(Request::End(End::Commit), actions);
            } else {
                // There is nothing in it.
                self.conclude(self.current, Ok(()), actions);
                self.pass_to(self.current + 1, self.protocol, actions);
                self.advance(actions);
            }
        }
    }

    fn advance_doomed(&mut self, actions: &mut Vec<Action>) {
        match self.records {
            Records::Open => {
                self.records = Records::Settling;
                actions.push(Action::Settle(self.current));
            }
            Records::Settling => {}
            Records::Settled if self.ended => self.ask(Request::Renew, actions),
            Records::Settled if self.started => self.ask(Request::End(End::Abort), actions),
            Records::Settled => {
                self.pass_doomed(self.protocol, actions);
                self.advance(actions);
            }
        }
    }

    /// Goes on behind the last transaction doomed with the current one.
    fn pass_doomed(&mut self, protocol: Protocol, actions: &mut Vec<Action>) {
        let overlapping = self.dooms.iter().filter(|doom| (doom.from..=doom.to).contains(&self.current));
        let next = overlapping.map(|doom| doom.to + 1).max().unwrap_or(self.current + 1);
        self.pass_to(next, protocol, actions);
        self.conclude_passed(actions);
    }

    fn pass_to(&mut self, next: u64, protocol: Protocol, actions: &mut Vec<Action>) {
        self.current = next;
        self.protocol = protocol;
        (self.started, self.offsets_committed, self.partitions_wanted, self.ended) = (false, false, false, false);
        self.records = Records::Open;
        actions.push(Action::Release { number: next, protocol });
    }

    /// Tells the outcome of closed transactions that were doomed and passed over.
    fn conclude_passed(&mut self, actions: &mut Vec<Action>) {
        while let Some(closed) = self.closed.front().filter(|closed| closed.number < self.current) {
            let (number, end) = (closed.number, closed.end);
            let outcome = match (end, self.doom_of(number)) {
                (End::Abort, _) => Ok(()),
                (End::Commit, cause) => {
                    let cause = cause.cloned().unwrap_or_else(|| AbortCause::Caller.into());
                    Err(Conclusion::Aborted(cause))
                }
            };
            self.conclude(number, outcome, actions);
        }
        // One that is open yet will be closed by its caller, and must find why it was aborted.
        let (current, last_closed) = (self.current, self.last_closed);
        self.dooms.retain(|doom| doom.to >= current || doom.to > last_closed);
    }

    fn conclude(&mut self, number: u64, outcome: Result<(), Conclusion>, actions: &mut Vec<Action>) {
        self.closed.retain(|closed| closed.number != number);
        actions.push(Action::Conclude { number, outcome });
    }

    fn ask(&mut self, request: Request, actions: &mut Vec<Action>) {
        self.asked = Some(request);
        // From here on the coordinator may know of the transaction; only AddPartitionsToTxn's refusal takes it back.
        self.started |= matches!(request, Request::CommitOffsets);
        actions.push(Action::Request { number: self.current, request });
    }

    fn doom_of(&self, number: u64) -> Option<&Arc<AbortCause>> {
        self.dooms.iter().find(|doom| (doom.from..=doom.to).contains(&number)).map(|doom| &doom.cause)
    }
}

#[cfg(test)]
mod tests;
