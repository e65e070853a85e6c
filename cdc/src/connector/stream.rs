//! One session's events, one after another: rows to the publisher, acknowledgements to the slot.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::ConnectorError;
use super::in_flight::{InFlight, InFlightRow, Settled};
use super::relay::Relay;
use super::row::RowPosition;
use super::tables::{Table, Tables};
use super::waiting::Waiting;
use crate::causes;
use crate::config::{ConnectorConfig, OnError};
use crate::lsn::Lsn;
use crate::pgoutput::{Cell, Message};
use crate::publish::{PublishError, Publisher};
use crate::replication::{ReplicationError, ReplicationEvent, ReplicationSession};
use crate::router::{OutboxEvent, RouteError, Router};

/// Topics remembered as existing; beyond it they are asked for again.
const KNOWN_TOPICS_MAX: usize = 10_000;
/// How often the status learns the server's position while nothing else happens.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// How long the broker may acknowledge nothing before the log says so.
const SILENCE: Duration = Duration::from_secs(5);

/// Why streaming ended.
pub(super) enum Ended {
    /// It was asked to.
    Cancelled,
    /// The session is over.
    Session(ReplicationError),
    /// A record was not delivered; everything in flight is in doubt.
    Publisher(PublishError),
    /// It cannot go on at all.
    Fatal(ConnectorError),
}

/// One session with one publisher.
pub(super) struct Stream<'a, S, P: Publisher> {
    config: &'a ConnectorConfig,
    router: &'a Router,
    relay: &'a Relay,
    session: S,
    publisher: &'a P,
    tables: Tables,
    known_topics: HashSet<String>,
    /// The transaction being received.
    transaction: Option<Transaction>,
    in_flight: InFlight<P::Acknowledgement>,
    confirmed: Lsn,
    broker: &'a mut Waiting,
    has_delivered: bool,
    /// Since when, as far as was noticed, records have been in flight without any being acknowledged.
    waits_since: Option<Instant>,
}

struct Transaction {
    commit_lsn: Lsn,
    commit_time_micros: i64,
    rows: Arc<AtomicU64>,
}

impl<'a, S: ReplicationSession, P: Publisher> Stream<'a, S, P> {
    /// `start`: where the session starts, if that is known.
    pub(super) fn new(
        config: &'a ConnectorConfig,
        (router, relay): (&'a Router, &'a Relay),
        (session, start): (S, Lsn),
        (publisher, broker): (&'a P, &'a mut Waiting),
    ) -> Self {
        Stream {
            config,
            router,
            relay,
            session,
            publisher,
            broker,
            tables: Tables::new(config),
            known_topics: HashSet::new(),
            transaction: None,
            in_flight: InFlight::new(config.bytes_in_flight_max),
            confirmed: start,
            has_delivered: false,
            waits_since: None,
        }
    }

    /// The last position confirmed, or where it started.
    pub(super) fn confirmed(&self) -> Lsn {
        self.confirmed
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
        let mut status = tokio::time::interval(STATUS_INTERVAL);
        status.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let step = tokio::select! {
                biased;
                () = cancelled.cancelled() => Err(Ended::Cancelled),
                settled = self.in_flight.next(), if !self.in_flight.is_empty() => self.settled(settled),
                event = self.session.next(), if self.in_flight.has_room() => match event {
                    Ok(event) => tokio::select! {
                        biased;
                        () = cancelled.cancelled() => Err(Ended::Cancelled),
                        handled = self.handle(event) => handled,
                    },
                    Err(error) => Err(Ended::Session(error)),
                },
                _ = status.tick() => {
                    self.notice_silence();
                    self.config.status.set_server_lsn(self.session.server_lsn());
                    Ok(())
                }
            };
            if let Err(ended) = step {
                return ended;
            }
        }
    }

    /// Waits for everything in flight and confirms what it allows; nothing after a row that was not delivered.
    ///
    /// # Errors
    /// The first record that was not delivered; nothing after it is confirmed.
    pub(super) async fn settle(&mut self) -> Result<(), Ended> {
        while !self.in_flight.is_empty() {
            let settled = self.in_flight.next().await;
            self.settled(settled)?;
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

    fn settled(&mut self, settled: Settled) -> Result<(), Ended> {
        match settled {
            Settled::Boundary(lsn) => {
                // Invariant 7: every row before this position was acknowledged (see `in_flight`).
                if lsn > self.confirmed {
                    self.confirmed = lsn;
                    self.session.confirm(lsn);
                    self.config.status.set_confirmed(lsn);
                    self.config.status.set_server_lsn(self.session.server_lsn().max(lsn));
                }
                Ok(())
            }
            Settled::Row { span, result: Ok(delivered), .. } => {
                self.config.status.add_published();
                self.has_delivered = true;
                self.waits_since = None;
                self.broker.recovered();
                if let Some(span) = span {
                    span.delivered(&delivered);
                }
                Ok(())
            }
            Settled::Row { position, span, result: Err(error) } => {
                if let Some(span) = span {
                    span.failed(&error);
                }
                let decided = self.not_published(position, error);
                if decided.is_err() {
                    // What was sent behind it may be acknowledged, and must not let a position pass this row.
                    self.in_flight.clear();
                }
                decided
            }
        }
    }

    async fn handle(&mut self, event: ReplicationEvent) -> Result<(), Ended> {
        match event {
            // Within a transaction it says nothing new: its rows are not all here.
            ReplicationEvent::KeepAlive { wal_end, .. } => {
                if self.transaction.is_none() {
                    self.in_flight.push_boundary(wal_end);
                }
                Ok(())
            }
            ReplicationEvent::Snapshot(_) => Ok(()),
            ReplicationEvent::Message(message) => self.message(message).await,
        }
    }

    async fn message(&mut self, message: Message) -> Result<(), Ended> {
        match message {
            Message::Begin { commit_lsn, commit_time_micros, .. } => {
                self.transaction = Some(Transaction { commit_lsn, commit_time_micros, rows: Arc::default() });
            }
            Message::Commit { end_lsn, .. } => {
                self.transaction = None;
                self.in_flight.push_boundary(end_lsn);
            }
            Message::Relation(relation) => {
                self.tables.describe(self.router, &relation).map_err(Ended::Fatal)?;
            }
            Message::Insert { relation_id, row } => self.insert(relation_id, &row).await?,
            Message::Emitted { transactional, lsn, prefix, content } if prefix == self.config.message_prefix => {
                self.emitted(transactional, lsn, &content).await?;
            }
            Message::Other { operation, relation_ids } => {
                self.tables.other_operation(operation, &relation_ids).map_err(Ended::Fatal)?;
            }
            Message::Emitted { .. } | Message::Origin { .. } | Message::Type { .. } => {}
        }
        Ok(())
    }

    async fn insert(&mut self, relation_id: u32, row: &[Cell]) -> Result<(), Ended> {
        let Table { name, layout } = self.tables.get(relation_id).map_err(Ended::Fatal)?.clone();
        let Some(layout) = layout else { return Ok(()) };
        let (position, commit_time_micros) = self.next_row(name)?;
        match self.router.route(&layout, row, commit_time_micros.div_euclid(1000)) {
            Ok(event) => self.publish(event, position, commit_time_micros).await,
            Err(error) => {
                let id = layout.id_of(row);
                self.unroutable(RowPosition { id, ..position }, error)
            }
        }
    }

    async fn emitted(&mut self, transactional: bool, lsn: Lsn, content: &Bytes) -> Result<(), Ended> {
        let table: Arc<str> = "pg_logical_emit_message".into();
        if !transactional {
            // It would be published although the transaction around it may never commit.
            let position = RowPosition { table, commit_lsn: lsn, ordinal: 1, id: None };
            return self.unroutable(position, RouteError::NotTransactional);
        }
        let (position, commit_time_micros) = self.next_row(table)?;
        match self.router.route_emitted(content, commit_time_micros.div_euclid(1000)) {
            Ok(event) => self.publish(event, position, commit_time_micros).await,
            Err(error) => self.unroutable(position, error),
        }
    }

    /// The position of the next row of the open transaction, and the transaction's commit time.
    fn next_row(&mut self, table: Arc<str>) -> Result<(RowPosition, i64), Ended> {
        let Some(transaction) = &self.transaction else {
            let error = ConnectorError::Protocol("a row outside of a transaction".to_owned());
            return Err(Ended::Fatal(error));
        };
        let ordinal = transaction.rows.fetch_add(1, Ordering::Relaxed) + 1;
        let position = RowPosition { table, commit_lsn: transaction.commit_lsn, ordinal, id: None };
        Ok((position, transaction.commit_time_micros))
    }

    async fn publish(
        &mut self,
        mut event: OutboxEvent,
        position: RowPosition,
        commit_time_micros: i64,
    ) -> Result<(), Ended> {
        let position = RowPosition { id: event.id().cloned(), ..position };
        if !self.known_topics.contains(&event.topic) {
            if let Err(error) = self.publisher.ensure_topic(&event.topic).await {
                return self.not_published(position, error);
            }
            if self.known_topics.len() >= KNOWN_TOPICS_MAX {
                self.known_topics.clear();
            }
            self.known_topics.insert(event.topic.clone());
        }
        let span = self
            .transaction
            .as_ref()
            .and_then(|transaction| self.relay.start(&mut event, &position, commit_time_micros, &transaction.rows));
        let bytes = event.size();
        match self.publisher.send(event).await {
            Ok(acknowledgement) => {
                self.in_flight.push_row(InFlightRow { acknowledgement, bytes, position, span });
                Ok(())
            }
            Err(error) => {
                if let Some(span) = span {
                    span.failed(&error);
                }
                self.not_published(position, error)
            }
        }
    }

    fn unroutable(&mut self, position: RowPosition, error: RouteError) -> Result<(), Ended> {
        self.poison(position, error.into())
    }

    fn not_published(&mut self, position: RowPosition, error: PublishError) -> Result<(), Ended> {
        match error {
            PublishError::RecordRefused(_) => self.poison(position, error.into()),
            PublishError::Refused(_) => {
                Err(Ended::Fatal(ConnectorError::Broker { position: Some(position), reason: error }))
            }
            PublishError::Unavailable(_) => Err(Ended::Publisher(error)),
        }
    }

    fn poison(&mut self, position: RowPosition, reason: Box<dyn std::error::Error + Send + Sync>) -> Result<(), Ended> {
        if self.config.on_error != OnError::Skip {
            return Err(Ended::Fatal(ConnectorError::Row { position, reason }));
        }
        tracing::warn!(row = %position, reason = causes::text(&*reason), "row left out (on.error=skip)");
        self.config.status.add_skipped();
        Ok(())
    }
}
