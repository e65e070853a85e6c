//! `source.mode=polling`: for databases without logical replication, clearly second choice.
//!
//! ```text
//!   look (one snapshot) ─▶ rows that the last look did not see ─▶ Begin, Insert…, Commit ─▶ the connector, as from a slot
//!        ▲                                                                                    │
//!        └──────────── every poll.interval.ms               what was seen, in the progress record
//! ```
//!
//! To the connector a look is a transaction: its number stands for an LSN, and its rows are counted as a stream's are.
//! Which rows belong to it is in the progress record ([`window`]), so nothing in the database has to remember us: the
//! role needs nothing but SELECT on the tables, and a pooler in session mode may stand between. What it cannot do: rows
//! deleted before they were looked at are never seen, nor is `pg_logical_emit_message`; an UPDATE of a row makes it a
//! new one; deleting the progress topic starts all over.
//!
//! Invariant: a row is in exactly one window, and windows are in commit order. Within a window rows are in the order of
//! `polling.column`, which must be assigned when the row is inserted (`clock_timestamp()`, a sequence), not when its
//! transaction began (`now()`); tables follow one another.

mod identity;
pub(crate) mod look;
pub(crate) mod poller;
mod publishing;
pub(crate) mod window;

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;

use crate::config::{ConnectorConfig, SnapshotMode};
use crate::control::Control;
use crate::lsn::Lsn;
use crate::outbox;
use crate::postgres_url::PostgresUrl;
use crate::progress::Progress;
use crate::quoting::TableName;
use crate::replication::pgwire::of_control;
use crate::replication::{
    ReplicationError, ReplicationEvent, ReplicationSession, ReplicationSource, Resume, ServerIdentity,
};
use poller::Poller;

/// How often it is tried to take a name that another connector has.
const BUSY_INTERVAL: Duration = Duration::from_millis(500);
/// Events on their way; their bytes have a bound of their own.
pub(crate) const EVENTS_MAX: usize = 256;

/// What is looked at, and how.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The outbox tables.
    pub(crate) tables: Vec<TableName>,
    /// `table.field.event.id`: the last row published is found again by it.
    pub(crate) event_id: String,
    /// `polling.column`: the order within a window. None for the event's id if that is an integer, else the order of
    /// transaction ids.
    pub(crate) column: Option<String>,
    /// `polling.transaction.column`: a column of type `xid8` with the default `pg_current_xact_id()`.
    pub(crate) transaction_column: Option<String>,
    /// `poll.interval.ms`.
    pub(crate) interval: Duration,
    /// `max.row.bytes`.
    pub(crate) row_bytes_max: usize,
    /// `snapshot=initial`: rows that are there at the very first start are published too.
    pub(crate) publish_existing: bool,
}

/// One database, polled.
pub(crate) struct PollingSource {
    /// The database.
    pub(crate) url: PostgresUrl,
    /// `slot.name`: there is no slot, and the name tells connectors apart all the same.
    pub(crate) name: String,
    /// What is looked at.
    pub(crate) options: Options,
    /// Makes the tables if they are missing.
    pub(crate) auto_init: bool,
}

impl Options {
    /// What `config` says of them.
    pub(crate) fn new(config: &ConnectorConfig) -> Options {
        let chosen = &config.source_options;
        Options {
            tables: config.tables.clone(),
            event_id: config.router.event_id.clone(),
            column: chosen.polling_column.clone().or_else(|| config.router.event_timestamp.clone()),
            transaction_column: chosen.polling_transaction_column.clone(),
            interval: chosen.poll_interval,
            row_bytes_max: config.row_bytes_max,
            publish_existing: chosen.snapshot == SnapshotMode::Initial,
        }
    }
}

impl PollingSource {
    /// The one that `config` describes.
    pub(crate) fn new(config: &ConnectorConfig) -> PollingSource {
        let options = Options::new(config);
        PollingSource { url: config.postgres.clone(), name: config.slot.clone(), options, auto_init: config.auto_init }
    }
}

/// How far earlier sessions got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resumed {
    /// Windows before this position are published.
    end: Lsn,
    /// Of the window at this position…
    commit: Lsn,
    /// …so many rows…
    ordinal: u64,
    /// …of which the last had this id.
    last_event_id: Option<Bytes>,
    /// The last window that was begun.
    state: Option<String>,
}

/// An event and the room it takes until the connector has it.
pub(crate) struct Said {
    pub(crate) event: ReplicationEvent,
    _room: OwnedSemaphorePermit,
}

/// What the poller sends.
pub(crate) type Delivery = Result<Said, ReplicationError>;

/// A poller at work, or one that waits to hear where to begin.
pub(crate) struct PollingSession {
    waiting: Option<(Poller, mpsc::Sender<Delivery>)>,
    task: Option<JoinHandle<()>>,
    events: mpsc::Receiver<Delivery>,
    last: Lsn,
}

impl ReplicationSource for PollingSource {
    type Session = PollingSession;

    async fn open(&mut self, _resume: Option<&Resume>) -> Result<(ServerIdentity, PollingSession), ReplicationError> {
        let control = Control::connect(&self.url).await.map_err(of_control)?;
        if !identity::take(&control, &self.name).await.map_err(of_control)? {
            let reason = format!("another connector polls this database as {}", self.name);
            return Err(ReplicationError::SlotBusy { reason });
        }
        if self.auto_init {
            outbox::create_tables(&control, &self.options.tables).await.map_err(of_control)?;
        }
        let server = identity::identify(&control).await.map_err(of_control)?;
        let knows_flush = identity::knows_flush(&control).await.map_err(of_control)?;
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let poller = Poller::new(control, self.options.clone(), sender.clone(), knows_flush);
        Ok((server, PollingSession { waiting: Some((poller, sender)), task: None, events, last: Lsn::ZERO }))
    }

    async fn until_free(&mut self) {
        tokio::time::sleep(BUSY_INTERVAL).await;
    }
}

impl PollingSession {
    fn start(&mut self, resumed: Resumed) {
        let Some((poller, failed)) = self.waiting.take() else { return };
        self.task = Some(tokio::spawn(async move {
            if let Some(error) = poller.run(resumed).await {
                // Nobody listens any more where this fails.
                let _ = failed.send(Err(error)).await;
            }
        }));
    }
}

impl ReplicationSession for PollingSession {
    fn resume_at(&mut self, progress: &Progress) {
        self.start(Resumed {
            end: progress.end_lsn,
            commit: progress.commit_lsn,
            ordinal: progress.ordinal,
            last_event_id: progress.last_event_id.clone(),
            state: progress.snapshot.clone(),
        });
    }

    async fn next(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        let said = self.events.recv().await;
        let Said { event, .. } =
            said.unwrap_or_else(|| Err(ReplicationError::Lost("the poller's task ended".into())))?;
        if let ReplicationEvent::Message(crate::pgoutput::Message::Commit { end_lsn, .. }) = &event {
            self.last = *end_lsn;
        }
        Ok(event)
    }

    /// The database keeps nothing for us.
    fn confirm(&self, _lsn: Lsn) {}

    fn server_lsn(&self) -> Lsn {
        self.last
    }

    async fn close(mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }
}

impl Drop for PollingSession {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
