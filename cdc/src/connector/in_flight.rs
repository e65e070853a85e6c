//! Rows sent and not yet acknowledged, with the commits between them, in commit order.
//!
//! **Invariant 7 is held here**: a commit leaves this queue, to be confirmed to the replication slot, only after every
//! row queued before it has left it, and a row leaves only when the broker has acknowledged it (or `on.error` has
//! decided to leave it out).

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::relay::RelaySpan;
use super::row::RowPosition;
use super::unit::Reached;
use crate::publish::{Delivered, PublishError};

#[cfg(test)]
mod tests;

/// The queue. `A` is one record's acknowledgement, `O` a commit's outcome.
pub(super) struct InFlight<A, O> {
    entries: VecDeque<Entry<A, O>>,
    bytes: usize,
    bytes_max: usize,
    commits: usize,
}

enum Entry<A, O> {
    Row(InFlightRow<A>),
    Commit(O, Box<Reached>),
}

/// A row that was sent.
pub(super) struct InFlightRow<A> {
    pub(super) acknowledgement: A,
    /// What it holds in memory until it is acknowledged.
    pub(super) bytes: usize,
    pub(super) position: RowPosition,
    pub(super) span: Option<RelaySpan>,
}

/// What has become of the oldest entry.
pub(super) enum Settled {
    /// A row's fate.
    Row { position: RowPosition, span: Option<RelaySpan>, result: Result<Delivered, PublishError> },
    /// A commit's fate: when it is good, everything up to there is published.
    Commit(Box<Reached>, Result<(), PublishError>),
}

impl<A, O> InFlight<A, O>
where
    A: Future<Output = Result<Delivered, PublishError>> + Unpin,
    O: Future<Output = Result<(), PublishError>> + Unpin,
{
    /// An empty queue for at most `bytes_max` bytes, or one row if that is larger.
    pub(super) fn new(bytes_max: usize) -> InFlight<A, O> {
        InFlight { entries: VecDeque::new(), bytes: 0, bytes_max, commits: 0 }
    }

    /// Whether another row may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < self.bytes_max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Commits whose outcome is not known.
    pub(super) fn commits(&self) -> usize {
        self.commits
    }

    /// Forgets everything, commits included: after a row that was not delivered.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        (self.bytes, self.commits) = (0, 0);
    }

    /// Forgets the rows behind the last commit: they are given up.
    pub(super) fn forget_uncommitted(&mut self) {
        while let Some(Entry::Row(row)) = self.entries.back() {
            self.bytes -= row.bytes;
            self.entries.pop_back();
        }
    }

    pub(super) fn push_row(&mut self, row: InFlightRow<A>) {
        self.bytes += row.bytes;
        self.entries.push_back(Entry::Row(row));
    }

    /// Every row that `reached` speaks of has been pushed, and was committed with this outcome to come.
    pub(super) fn push_commit(&mut self, outcome: O, reached: Reached) {
        self.commits += 1;
        self.entries.push_back(Entry::Commit(outcome, Box::new(reached)));
    }

    /// Waits until the oldest entry is settled and takes it; for ever if there is none. Dropping the future takes
    /// nothing.
    pub(super) async fn next(&mut self) -> Settled {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Settled> {
        match self.entries.front_mut() {
            None => Poll::Pending,
            Some(Entry::Commit(outcome, _)) => {
                let result = ready!(Pin::new(outcome).poll(context));
                let Some(Entry::Commit(_, reached)) = self.entries.pop_front() else {
                    unreachable!("the front was a commit when its outcome was polled");
                };
                self.commits -= 1;
                Poll::Ready(Settled::Commit(reached, result))
            }
            Some(Entry::Row(row)) => {
                let result = ready!(Pin::new(&mut row.acknowledgement).poll(context));
                let Some(Entry::Row(row)) = self.entries.pop_front() else {
                    unreachable!("the front was a row when its acknowledgement was polled");
                };
                self.bytes -= row.bytes;
                Poll::Ready(Settled::Row { position: row.position, span: row.span, result })
            }
        }
    }
}
