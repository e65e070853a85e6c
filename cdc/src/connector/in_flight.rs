//! Rows sent and not yet acknowledged, with the transaction ends between them, in commit order.
//!
//! **Invariant 7 is held here**: a position leaves this queue, to be confirmed to the replication slot, only after
//! every row queued before it has left it, and a row leaves only when the broker has acknowledged it (or `on.error`
//! has decided to leave it out).

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::relay::RelaySpan;
use super::row::RowPosition;
use crate::lsn::Lsn;
use crate::publish::{Delivered, PublishError};

#[cfg(test)]
mod tests;

/// The queue. `A` is one record's acknowledgement.
pub(super) struct InFlight<A> {
    entries: VecDeque<Entry<A>>,
    bytes: usize,
    bytes_max: usize,
}

enum Entry<A> {
    Row(InFlightRow<A>),
    Boundary(Lsn),
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
    /// Everything before this position is settled.
    Boundary(Lsn),
}

impl<A: Future<Output = Result<Delivered, PublishError>> + Unpin> InFlight<A> {
    /// An empty queue for at most `bytes_max` bytes, or one row if that is larger.
    pub(super) fn new(bytes_max: usize) -> InFlight<A> {
        InFlight { entries: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// Whether another row may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < self.bytes_max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets everything, positions included: after a row that was not delivered.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    pub(super) fn push_row(&mut self, row: InFlightRow<A>) {
        self.bytes += row.bytes;
        self.entries.push_back(Entry::Row(row));
    }

    /// Every row of the transactions that end at or before `lsn` has been pushed. Boundaries without rows between
    /// them become one, so that an idle stream queues nothing.
    pub(super) fn push_boundary(&mut self, lsn: Lsn) {
        match self.entries.back_mut() {
            Some(Entry::Boundary(last)) => *last = lsn.max(*last),
            _ => self.entries.push_back(Entry::Boundary(lsn)),
        }
    }

    /// Waits until the oldest entry is settled and takes it; for ever if there is none. Dropping the future takes
    /// nothing.
    pub(super) async fn next(&mut self) -> Settled {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Settled> {
        let result = match self.entries.front_mut() {
            None => return Poll::Pending,
            Some(Entry::Boundary(lsn)) => {
                let lsn = *lsn;
                self.entries.pop_front();
                return Poll::Ready(Settled::Boundary(lsn));
            }
            Some(Entry::Row(row)) => match Pin::new(&mut row.acknowledgement).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(result) => result,
            },
        };
        let Some(Entry::Row(row)) = self.entries.pop_front() else {
            unreachable!("the front was a row when its acknowledgement was polled");
        };
        self.bytes -= row.bytes;
        Poll::Ready(Settled::Row { position: row.position, span: row.span, result })
    }
}
