//! Messages of the stream, row by row: routed and sent, passed over because they are published already, or poison.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::time::Instant;

use super::ConnectorError;
use super::in_flight::InFlightRow;
use super::row::RowPosition;
use super::stream::{Ended, SILENCE, Stream};
use super::tables::Table;
use crate::causes;
use crate::config::{Delivery, OnError};
use crate::lsn::Lsn;
use crate::pgoutput::{Cell, Message};
use crate::publish::{PublishError, Publisher};
use crate::replication::ReplicationSession;
use crate::router::{OutboxEvent, Poison, PoisonContent, RouteError};

/// Topics remembered as existing; beyond it they are asked for again.
const KNOWN_TOPICS_MAX: usize = 10_000;
/// In the middle of a transaction the time is looked at once in so many rows.
const ROWS_BETWEEN_LOOKS: u64 = 256;

/// The transaction being received.
pub(super) struct OpenTransaction {
    commit_lsn: Lsn,
    commit_time_micros: i64,
    rows: Arc<AtomicU64>,
}

impl<S: ReplicationSession, P: Publisher> Stream<'_, S, P> {
    pub(super) async fn message(&mut self, message: Message) -> Result<(), Ended> {
        match message {
            Message::Begin { commit_lsn, commit_time_micros, .. } => {
                self.unit.begin_transaction();
                self.transaction = Some(OpenTransaction { commit_lsn, commit_time_micros, rows: Arc::default() });
            }
            Message::Commit { end_lsn, commit_time_micros, .. } => {
                self.transaction = None;
                return self.end_transaction(end_lsn, commit_time_micros).await;
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

    async fn end_transaction(&mut self, end_lsn: Lsn, commit_time_micros: i64) -> Result<(), Ended> {
        self.unit.end_transaction(end_lsn, commit_time_micros);
        let is_due = match self.config.delivery {
            Delivery::AtLeastOnce => true,
            Delivery::ExactlyOnce => self.unit.is_due(Instant::now(), self.in_flight.commits()),
        };
        if is_due { self.commit().await } else { Ok(()) }
    }

    async fn insert(&mut self, relation_id: u32, row: &[Cell]) -> Result<(), Ended> {
        let Table { name, layout } = self.tables.get(relation_id).map_err(Ended::Fatal)?.clone();
        let Some(layout) = layout else { return Ok(()) };
        let (position, commit_time_micros) = self.next_row(name)?;
        if self.is_published(&position, || layout.id_of(row))? {
            return Ok(());
        }
        if self.is_published_by_another() {
            self.unit.add_row((position.commit_lsn, position.ordinal), layout.id_of(row), 0);
            return Ok(());
        }
        let poison = PoisonContent::Row { layout: &layout, row };
        if let Some(refusal) = self.refusals.of(&position).cloned() {
            return self.poison(position, refusal.reason.into(), poison).await;
        }
        match self.router.route(&layout, row, commit_time_micros.div_euclid(1000)) {
            Ok(event) => self.publish(event, position, commit_time_micros).await,
            Err(error) => self.poison(position, error.into(), poison).await,
        }
    }

    async fn emitted(&mut self, transactional: bool, lsn: Lsn, content: &Bytes) -> Result<(), Ended> {
        let table: Arc<str> = "pg_logical_emit_message".into();
        let poison = PoisonContent::Message(content);
        if !transactional {
            // It would be published although the transaction around it may never commit.
            let position = RowPosition { table, commit_lsn: lsn, ordinal: 1, id: None };
            if self.unit.progress().covers(lsn, 1) {
                return Ok(());
            }
            return self.poison(position, RouteError::NotTransactional.into(), poison).await;
        }
        let (position, commit_time_micros) = self.next_row(table)?;
        if self.is_published(&position, || None)? {
            return Ok(());
        }
        if self.is_published_by_another() {
            self.unit.add_row((position.commit_lsn, position.ordinal), None, 0);
            return Ok(());
        }
        if let Some(refusal) = self.refusals.of(&position).cloned() {
            return self.poison(position, refusal.reason.into(), poison).await;
        }
        match self.router.route_emitted(content, commit_time_micros.div_euclid(1000)) {
            Ok(event) => self.publish(event, position, commit_time_micros).await,
            Err(error) => self.poison(position, error.into(), poison).await,
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

    /// Whether a row was published by an earlier session. The last one that was must be the one it was then.
    fn is_published(&self, position: &RowPosition, id: impl FnOnce() -> Option<Bytes>) -> Result<bool, Ended> {
        let published = self.unit.progress();
        let row = (position.commit_lsn, position.ordinal);
        if !published.covers(row.0, row.1) {
            return Ok(false);
        }
        if row == (published.commit_lsn, published.ordinal)
            && let (Some(was), Some(is)) = (&published.last_event_id, id())
            && *was != is
        {
            let text = |id: &Bytes| String::from_utf8_lossy(&id[..id.len().min(100)]).into_owned();
            let (was, is) = (text(was), text(&is));
            return Err(Ended::Fatal(ConnectorError::OtherEvent { position: position.clone(), was, is }));
        }
        Ok(true)
    }

    /// Whether the row that came last was published by whoever had the slot before (`slot.start.lsn`).
    fn is_published_by_another(&self) -> bool {
        self.published_to.is_some_and(|published| self.session.row_lsn() <= published)
    }

    async fn publish(
        &mut self,
        mut event: OutboxEvent,
        position: RowPosition,
        commit_time_micros: i64,
    ) -> Result<(), Ended> {
        let position = RowPosition { id: event.id().cloned(), ..position };
        self.config.status.received(commit_time_micros.div_euclid(1000));
        if let Err(error) = self.ensure_topic(&event.topic).await {
            return self.not_sent(position, error);
        }
        let span = self
            .transaction
            .as_ref()
            .and_then(|transaction| self.relay.start(&mut event, &position, commit_time_micros, &transaction.rows));
        let bytes = event.size();
        let wants_acknowledgement = span.is_some() || self.refusals.is_searching();
        let sent = self.broker.patiently(SILENCE, self.publisher.send(event, wants_acknowledgement)).await;
        match sent {
            Ok(acknowledgement) => {
                let split = position.ordinal.is_multiple_of(ROWS_BETWEEN_LOOKS);
                let row = (position.commit_lsn, position.ordinal);
                match acknowledgement {
                    Some(acknowledgement) => {
                        self.unit.add_row(row, position.id.clone(), bytes);
                        self.in_flight.push_row(InFlightRow { acknowledgement, bytes, position, span });
                    }
                    None => self.unit.add_row(row, position.id, bytes),
                }
                if split && self.unit.is_due(Instant::now(), self.in_flight.commits()) {
                    self.commit().await?;
                }
                Ok(())
            }
            Err(error) => {
                if let Some(span) = span {
                    span.failed(&error);
                }
                self.not_sent(position, error)
            }
        }
    }

    async fn ensure_topic(&mut self, topic: &Arc<str>) -> Result<(), PublishError> {
        if self.known_topics.contains(&**topic) {
            return Ok(());
        }
        self.broker.patiently(SILENCE, self.publisher.ensure_topic(topic)).await?;
        if self.known_topics.len() >= KNOWN_TOPICS_MAX {
            self.known_topics.clear();
        }
        self.known_topics.insert(Arc::clone(topic));
        Ok(())
    }

    /// What follows from a record that could not even be sent.
    fn not_sent(&mut self, position: RowPosition, error: PublishError) -> Result<(), Ended> {
        Err(match error {
            PublishError::RecordRefused(_) => Ended::Refused(position, error),
            PublishError::Refused(_) => {
                Ended::Fatal(ConnectorError::Broker { position: Some(position), reason: error })
            }
            PublishError::Unavailable(_) | PublishError::TransactionRefused(_) => Ended::Publisher(error),
        })
    }

    /// A row no record can be made of, or whose record the broker refuses.
    async fn poison(
        &mut self,
        position: RowPosition,
        reason: Box<dyn Error + Send + Sync>,
        content: PoisonContent<'_>,
    ) -> Result<(), Ended> {
        let id = match content {
            PoisonContent::Row { layout, row } => layout.id_of(row),
            _ => None,
        };
        let position = RowPosition { id, ..position };
        let is_final = self.refusals.of(&position).is_some_and(|refusal| refusal.is_final);
        match self.config.on_error {
            OnError::Skip => {
                self.left_out(&position, &*reason);
                self.unit.add_row((position.commit_lsn, position.ordinal), position.id.clone(), 0);
                Ok(())
            }
            OnError::DeadLetter if !is_final => self.dead_letter(position, &*reason, content).await,
            OnError::Stop | OnError::DeadLetter => Err(Ended::Fatal(ConnectorError::Row { position, reason })),
        }
    }

    /// Says that a row is left out for good.
    pub(super) fn left_out(&mut self, position: &RowPosition, reason: &(dyn Error + Send + Sync)) {
        tracing::warn!(row = %position, reason = causes::text(reason), "row left out (on.error=skip)");
        self.config.status.add_skipped();
    }

    async fn dead_letter(
        &mut self,
        position: RowPosition,
        reason: &(dyn Error + Send + Sync),
        content: PoisonContent<'_>,
    ) -> Result<(), Ended> {
        let reason = causes::text(reason);
        let topic: Arc<str> = self.config.dead_letter_topic.as_str().into();
        tracing::warn!(row = %position, reason, %topic, "row sent to the dead-letter topic (on.error=dead-letter)");
        let commit_time_micros = self.transaction.as_ref().map_or(0, |transaction| transaction.commit_time_micros);
        let poison = Poison {
            reason: &reason,
            table: &position.table,
            commit_lsn: position.commit_lsn,
            ordinal: position.ordinal,
            commit_time_ms: commit_time_micros.div_euclid(1000),
            content,
        };
        let event = self.router.dead_letter(&topic, &poison);
        self.config.status.add_dead_letter();
        self.publish(event, position, commit_time_micros).await
    }
}
