//! Leaving a session: what was sent is committed or given up, and whoever is to blame is found.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ConnectorError;
use super::in_flight::Settled;
use super::row::RowPosition;
use super::stream::{Ended, Stream};
use crate::config::Delivery;
use crate::publish::{PublishError, Publisher};
use crate::replication::ReplicationSession;

/// How long a cancelled connector waits for what is on its way to the broker.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

impl<S: ReplicationSession, P: Publisher> Stream<'_, S, P> {
    /// Settles what was sent, as far as its end allows. A lost session stays one only if the publisher is good; of a
    /// failed publisher it is found out whether a row is to blame.
    pub(super) async fn leave(&mut self, ended: Ended, cancelled: &CancellationToken) -> Ended {
        match ended {
            Ended::Cancelled | Ended::Fatal(_) => {
                let is_row = matches!(ended, Ended::Fatal(ConnectorError::Row { .. }));
                let settling = async {
                    // The rows before the one that cannot be published are good.
                    if is_row { self.settle_partial().await } else { self.settle().await }
                };
                let _ = tokio::time::timeout(LEAVE_TIMEOUT, settling).await;
                ended
            }
            // What was sent is on its way all the same: committed, it need not be sent again.
            Ended::Session(_) => {
                let settled = tokio::select! {
                    settled = self.settle() => settled,
                    () = cancelled.cancelled() => Ok(()),
                };
                settled.err().unwrap_or(ended)
            }
            Ended::Publisher(error) if self.config.delivery == Delivery::ExactlyOnce => {
                let found = tokio::select! {
                    found = self.find_refused() => found,
                    () = cancelled.cancelled() => return Ended::Cancelled,
                };
                match found {
                    Some((position, reason)) => Ended::Refused(position, reason),
                    None => {
                        if matches!(error, PublishError::TransactionRefused(_)) {
                            self.search_refused();
                        }
                        Ended::Publisher(error)
                    }
                }
            }
            ended => ended,
        }
    }

    /// Commits what is whole, or gives it up, and waits for the outcome of everything in flight.
    ///
    /// # Errors
    /// The first record that was not delivered, or commit that failed; nothing after it is confirmed.
    async fn settle(&mut self) -> Result<(), Ended> {
        if !self.unit.is_empty() {
            match self.transaction.is_some() || self.is_torn {
                true => {
                    self.in_flight.forget_uncommitted();
                    self.publisher.abort();
                }
                false => self.commit().await?,
            }
        }
        self.settle_in_flight().await
    }

    /// Commits everything sent, also in the middle of a transaction, and waits for the outcome.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    async fn settle_partial(&mut self) -> Result<(), Ended> {
        if !self.unit.is_empty() {
            self.commit().await?;
        }
        self.settle_in_flight().await
    }

    async fn settle_in_flight(&mut self) -> Result<(), Ended> {
        while !self.in_flight.is_empty() {
            let settled = self.in_flight.next().await;
            self.settled(settled)?;
        }
        Ok(())
    }

    /// The row among those in flight that the broker refuses for good, if that is why the others failed.
    async fn find_refused(&mut self) -> Option<(RowPosition, PublishError)> {
        while !self.in_flight.is_empty() {
            match self.in_flight.next().await {
                Settled::Row { position, result: Err(error @ PublishError::RecordRefused(_)), .. } => {
                    self.in_flight.clear();
                    return Some((position, error));
                }
                Settled::Row { .. } | Settled::Commit(..) => {}
            }
        }
        None
    }

    /// One of the rows sent and not committed was refused, not known which: watches them when they come again.
    fn search_refused(&mut self) {
        self.refusals.search(self.unit.progress());
    }
}
