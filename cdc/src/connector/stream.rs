//! One session's events, one after another: rows to the publisher, outcomes to the slot.
//!
//! ```text
//!   event ─▶ rows (route, leave out, send) ─▶ unit ─▶ commit ─▶ in flight ─▶ outcome ─▶ slot
//! ```

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::ConnectorError;
use super::in_flight::{InFlight, Settled};
use super::refusals::Refusals;
use super::relay::Relay;
use super::row::RowPosition;
use super::rows::OpenTransaction;
use super::tables::Tables;
use super::unit::{Reached, Unit};
use super::waiting::Waiting;
use crate::config::{ConnectorConfig, Delivery, OnError};
use crate::lsn::Lsn;
use crate::progress::Progress;
use crate::publish::{PublishError, Publisher};
use crate::replication::{ReplicationError, ReplicationEvent, ReplicationSession};
use crate::router::Router;

/// How often the status learns the server's position, and an idle stream's position is looked at.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// Events handled without looking at anything else.
const EVENTS_AT_ONCE: usize = 256;
/// How long the broker may acknowledge nothing before the log says so.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// Why streaming ended.
pub(super) enum Ended {
    /// It was asked to.
    Cancelled,
    /// The session is over.
    Session(ReplicationError),
    /// A record was not delivered; everything in flight is in doubt.
    Publisher(PublishError),
    /// The broker refuses one row for good, and what was sent with it has to be sent again.
    Refused(RowPosition, PublishError),
    /// It cannot go on at all.
    Fatal(ConnectorError),
}

/// One session with one publisher.
pub(super) struct Stream<'a, S, P: Publisher> {
    pub(super) config: &'a ConnectorConfig,
    pub(super) router: &'a Router,
    pub(super) relay: &'a Relay,
    pub(super) session: S,
    pub(super) publisher: &'a mut P,
    pub(super) tables: Tables,
    pub(super) known_topics: HashSet<Arc<str>>,
    /// The transaction being received.
    pub(super) transaction: Option<OpenTransaction>,
    pub(super) in_flight: InFlight<P::Acknowledgement, P::Outcome>,
    pub(super) unit: Unit,
    pub(super) refusals: &'a mut Refusals,
    /// Rows up to here were published by another connector, which kept no progress record.
    pub(super) published_to: Option<Lsn>,
    committed: Progress,
    pub(super) broker: &'a mut Waiting,
    has_delivered: bool,
    /// Records that the unit counts may never have been handed to the publisher.
    pub(super) is_torn: bool,
    /// Since when, as far as was noticed, something has been in flight without any news of it.
    waits_since: Option<Instant>,
}

/// What a stream goes by.
pub(super) struct Via<'a> {
    pub(super) config: &'a ConnectorConfig,
    pub(super) router: &'a Router,
    pub(super) relay: &'a Relay,
}

impl<'a, S: ReplicationSession, P: Publisher> Stream<'a, S, P> {
    /// `published`: what need not be sent again.
    pub(super) fn new(
        via: &Via<'a>,
        (session, published): (S, Progress),
        (publisher, broker): (&'a mut P, &'a mut Waiting),
        refusals: &'a mut Refusals,
    ) -> Self {
        // Validation allows it for exactly once only; a row that is committed says more than it does.
        let is_first = publisher.progress().is_none() && published.commit_lsn == Lsn::ZERO;
        let published_to = via.config.slot_start_lsn.filter(|_| is_first);
        Stream {
            config: via.config,
            router: via.router,
            relay: via.relay,
            session,
            publisher,
            broker,
            tables: Tables::new(via.config),
            known_topics: HashSet::new(),
            transaction: None,
            in_flight: InFlight::new(via.config.bytes_in_flight_max),
            unit: Unit::new(published.clone()),
            refusals,
            published_to,
            committed: published,
            has_delivered: false,
            is_torn: false,
            waits_since: None,
        }
    }

    /// How far everything is published.
    pub(super) fn committed(&self) -> &Progress {
        &self.committed
    }

    /// Whether the broker acknowledged anything: the way from end to end works.
    pub(super) fn has_delivered(&self) -> bool {
        self.has_delivered
    }

    pub(super) fn into_session(self) -> S {
        self.session
    }

    /// Streams until something ends it. Rows may be left in flight: see [`settle`](Self::settle).
    pub(super) async fn run(&mut self, cancelled: &CancellationToken) -> Ended {
        self.session.resume_at(&self.committed);
        self.confirm();
        let mut status = tokio::time::interval(STATUS_INTERVAL);
        status.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cancelled = std::pin::pin!(cancelled.cancelled());
        loop {
            let ready_at = self.unit.ready_at(self.in_flight.commits());
            let step = tokio::select! {
                biased;
                () = &mut cancelled => Err(Ended::Cancelled),
                settled = self.in_flight.next(), if !self.in_flight.is_empty() => self.all_settled(settled),
                event = self.session.next(), if self.in_flight.has_room() => tokio::select! {
                    biased;
                    handled = self.handle_all(event) => handled,
                    () = &mut cancelled => self.tear(),
                },
                // Looked at only when nothing of the above is ready: the stream is idle for the moment.
                () = until(ready_at), if ready_at.is_some() => tokio::select! {
                    biased;
                    committed = self.commit() => committed,
                    () = &mut cancelled => self.tear(),
                },
                _ = status.tick() => tokio::select! {
                    biased;
                    ticked = self.tick() => ticked,
                    () = &mut cancelled => self.tear(),
                },
            };
            if let Err(ended) = step {
                return ended;
            }
        }
    }

    /// Cancelled while records were being handed over: which of them were is not known, so none of what is not
    /// committed may be any more.
    fn tear(&mut self) -> Result<(), Ended> {
        self.is_torn = true;
        Err(Ended::Cancelled)
    }

    /// Handles an event, and those that are there already behind it: looking at everything else costs more than most
    /// of them do.
    async fn handle_all(&mut self, event: Result<ReplicationEvent, ReplicationError>) -> Result<(), Ended> {
        let mut next = Some(event);
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = next else { break };
            self.handle(event.map_err(Ended::Session)?).await?;
            next = match self.in_flight.has_room() {
                true => tokio::task::unconstrained(self.session.next()).now_or_never(),
                false => None,
            };
        }
        if let Some(event) = next {
            self.handle(event.map_err(Ended::Session)?).await?;
        }
        self.broker.patiently(SILENCE, self.publisher.flush()).await.map_err(Ended::Publisher)
    }

    /// Takes in an outcome, and those that are there already behind it.
    fn all_settled(&mut self, settled: Settled) -> Result<(), Ended> {
        let mut next = Some(settled);
        while let Some(settled) = next {
            self.settled(settled)?;
            next = self.in_flight.next().now_or_never();
        }
        Ok(())
    }

    async fn tick(&mut self) -> Result<(), Ended> {
        self.notice_silence();
        self.config.status.set_server_lsn(self.session.server_lsn());
        self.config.status.set_retained(self.session.retained_bytes());
        let now = Instant::now();
        if self.unit.is_due(now, self.in_flight.commits()) || self.unit.is_idle_due(now) {
            self.commit().await?;
        }
        Ok(())
    }

    /// Says once that the broker acknowledges nothing; the producer goes on trying by itself.
    fn notice_silence(&mut self) {
        if self.in_flight.is_empty() {
            self.waits_since = None;
            return;
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= SILENCE && !self.broker.has_said() {
            self.broker.failed(format!("no record was acknowledged for {} s", SILENCE.as_secs()));
        }
    }

    pub(super) fn settled(&mut self, settled: Settled) -> Result<(), Ended> {
        match settled {
            Settled::Commit(reached, Ok(())) => {
                self.heard();
                self.reached(*reached);
                Ok(())
            }
            Settled::Commit(_, Err(error)) => {
                self.in_flight.clear();
                match error {
                    PublishError::Refused(_) => {
                        Err(Ended::Fatal(ConnectorError::Broker { position: None, reason: error }))
                    }
                    error => Err(Ended::Publisher(error)),
                }
            }
            Settled::Row { span, result: Ok(delivered), .. } => {
                self.heard();
                if let Some(span) = span {
                    span.delivered(&delivered);
                }
                Ok(())
            }
            Settled::Row { position, span, result: Err(error) } => {
                if let Some(span) = span {
                    span.failed(&error);
                }
                self.not_delivered(position, error)
            }
        }
    }

    fn heard(&mut self) {
        self.has_delivered = true;
        self.waits_since = None;
        self.broker.recovered();
    }

    /// Everything up to there is published.
    fn reached(&mut self, reached: Reached) {
        // Invariant 7: every row before this position was acknowledged and committed (see `in_flight`).
        self.committed = reached.progress.clone();
        self.refusals.forget_published(&self.committed);
        self.confirm();
        self.config.status.committed(&reached);
        let is_settled = self.in_flight.is_empty() && self.unit.is_empty();
        self.config.status.set_pending(if is_settled { 0 } else { reached.commit_time_micros.div_euclid(1000) });
        self.config.status.set_server_lsn(self.session.server_lsn().max(self.committed.end_lsn));
    }

    fn confirm(&mut self) {
        self.session.confirm(self.committed.end_lsn);
        self.config.status.set_confirmed(self.committed.end_lsn);
    }

    /// What follows from a record that was sent and not stored.
    fn not_delivered(&mut self, position: RowPosition, error: PublishError) -> Result<(), Ended> {
        match error {
            // What was sent behind it is not undone, and need not be.
            PublishError::RecordRefused(reason)
                if self.config.delivery == Delivery::AtLeastOnce && self.config.on_error == OnError::Skip =>
            {
                self.left_out(&position, &*reason);
                Ok(())
            }
            PublishError::RecordRefused(_) => Err(Ended::Refused(position, error)),
            // What was sent behind it may be acknowledged, and must not let a position pass this row.
            PublishError::Refused(_) => {
                self.in_flight.clear();
                Err(Ended::Fatal(ConnectorError::Broker { position: Some(position), reason: error }))
            }
            PublishError::Unavailable(_) | PublishError::TransactionRefused(_) => Err(Ended::Publisher(error)),
        }
    }

    async fn handle(&mut self, event: ReplicationEvent) -> Result<(), Ended> {
        match event {
            ReplicationEvent::KeepAlive { wal_end, is_urgent } => {
                self.unit.keep_alive(wal_end, is_urgent);
                let at_least_once = self.config.delivery == Delivery::AtLeastOnce;
                if self.unit.is_idle_due(Instant::now()) || (at_least_once && self.unit.is_idle()) {
                    self.commit().await?;
                }
                Ok(())
            }
            ReplicationEvent::Snapshot(snapshot) => {
                self.unit.set_snapshot(snapshot);
                Ok(())
            }
            ReplicationEvent::Message(message) => self.message(message).await,
        }
    }

    /// Commits everything sent so far.
    pub(super) async fn commit(&mut self) -> Result<(), Ended> {
        let reached = self.unit.take(Instant::now());
        match self.broker.patiently(SILENCE, self.publisher.commit(&reached.progress)).await {
            Ok(outcome) => {
                self.in_flight.push_commit(outcome, reached);
                Ok(())
            }
            Err(error @ PublishError::Refused(_)) => {
                Err(Ended::Fatal(ConnectorError::Broker { position: None, reason: error }))
            }
            Err(error) => Err(Ended::Publisher(error)),
        }
    }
}

/// Waits for a point in time, which may have passed; for ever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) if time <= Instant::now() => {}
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
