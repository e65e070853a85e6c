//! The task that looks at the tables and says what it finds as the stream of changes would.
//!
//! Each look is one transaction with one snapshot. What it costs: nothing but a round trip while no transaction has
//! ended in the whole server; else each table is read from end to end, twice if there are new rows, and thrice if some of
//! their transactions are younger than one that is open. No index knows `xmin`, and no other bound is safe (see
//! [`super::window`]): prune the outbox. With `polling.transaction.column` and an index on that column, only new rows
//! are read. A look is never followed by the next one before thrice the time that its reading took.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::window::{AHEAD_MAX, Seen, Window, WindowError};
use super::{Delivery, Options, Resumed, Said};
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::quoting::literal;
use crate::replication::pgwire::of_control;
use crate::replication::{ReplicationError, ReplicationEvent};
use crate::stored::{self, Table, TableError, TransactionIds, ask, parse_snapshot};

/// Bytes of rows on their way to the connector, which counts what it has taken itself.
pub(super) const BYTES_MAX: usize = 4 * 1024 * 1024;
/// The server writes its log to disk by itself within three times `wal_writer_delay`, 0.6 s unless it is set higher.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);
const FLUSH_INTERVAL: Duration = Duration::from_millis(10);
/// Times that reading took to wait before the next look.
const REST: u32 = 3;

/// Looks until the session ends.
pub(super) struct Poller {
    pub(super) control: Control,
    pub(super) options: Options,
    pub(super) room: Arc<Semaphore>,
    pub(super) events: Sender<Delivery>,
    /// Tables as they were last described to the connector.
    pub(super) described: Vec<Table>,
    /// Whether the server says how far its log is written to disk.
    pub(super) knows_flush: bool,
    /// Whether the log has said that polling waits for an open transaction.
    pub(super) has_said: bool,
}

/// What a look's snapshot sees.
enum Found {
    /// Rows that were not seen before, or none.
    Rows(bool, Seen),
    /// More transactions above the horizon than are kept.
    TooMany,
}

/// What a look found: one snapshot.
pub(super) struct Look {
    text: String,
    /// The oldest transaction that is still open, or the next one.
    horizon: u64,
    /// The next transaction.
    next: u64,
    is_standby: bool,
    /// The server's clock, in microseconds since the Unix epoch.
    pub(super) time_micros: i64,
    /// The tables, once they are asked for.
    pub(super) tables: Vec<Table>,
}

/// Rows of a window that an earlier session has published.
pub(super) struct Published {
    pub(super) rows: u64,
    pub(super) last_id: Option<Bytes>,
}

/// Why a poller stops.
pub(super) enum Stopped {
    /// It cannot look.
    Error(ReplicationError),
    /// Nobody listens any more.
    Unheard,
}

impl From<ControlError> for Stopped {
    fn from(error: ControlError) -> Stopped {
        Stopped::Error(of_control(error))
    }
}

impl From<TableError> for Stopped {
    fn from(error: TableError) -> Stopped {
        match error {
            TableError::Control(error) => error.into(),
            missing => refused(missing.to_string()),
        }
    }
}

pub(super) fn refused(reason: String) -> Stopped {
    Stopped::Error(ReplicationError::Refused { reason, hint: "" })
}

impl Poller {
    /// Never ends but for an error; `None` when nobody listens any more.
    pub(super) async fn run(mut self, resumed: Resumed) -> Option<ReplicationError> {
        match self.windows(resumed).await {
            Ok(never) => match never {},
            Err(Stopped::Error(error)) => Some(error),
            Err(Stopped::Unheard) => None,
        }
    }

    async fn windows(&mut self, resumed: Resumed) -> Result<Infallible, Stopped> {
        let (mut seen, mut number) = self.resume(resumed).await?;
        let mut last = String::new();
        loop {
            let (mut look, began) = (self.look().await?, Instant::now());
            // A standby's text does not say which transactions are open: it may be the same although one has committed.
            if look.text != last || look.is_standby {
                self.describe(&mut look).await?;
                match self.find(&seen, &look).await? {
                    Found::Rows(is_any, after) => {
                        if is_any {
                            self.until_flushed().await?;
                            number = number.max(look.next);
                            let window = Window { number, before: seen, after: after.clone() };
                            self.publish(&window, &look, None).await?;
                            number += 1;
                        }
                        (seen, last, self.has_said) = (after, look.text, false);
                    }
                    Found::TooMany => self.say_that_it_waits(&look),
                }
            }
            let read = began.elapsed();
            self.end_look().await?;
            tokio::time::sleep(self.options.interval.max(read * REST)).await;
        }
    }

    fn say_that_it_waits(&mut self, look: &Look) {
        if !self.has_said {
            tracing::warn!(
                transaction = look.horizon,
                "polling waits: more than {AHEAD_MAX} transactions have committed since this one began; end it (pg_stat_activity.backend_xid)"
            );
            self.has_said = true;
        }
    }

    /// What was seen by earlier sessions, and the next window's lowest number. A window that was published in part is
    /// completed first.
    async fn resume(&mut self, resumed: Resumed) -> Result<(Seen, u64), Stopped> {
        let mut look = self.look().await?;
        self.describe(&mut look).await?;
        let window = match &resumed.state {
            Some(text) => Window::parse(text).map_err(|error| refused(error.to_string()))?,
            None if resumed.end > Lsn::ZERO => return Err(refused(WindowError.to_string())),
            None => self.begin(&look).await?,
        };
        if window.after.horizon > look.next {
            return Err(refused(format!(
                "rows of transactions before {} are published, and the server's next one is {}: it was restored or failed over with a loss; to start all over, delete the progress topic",
                window.after.horizon, look.next
            )));
        }
        if resumed.state.is_some() && resumed.end <= window.position() {
            let published = (resumed.commit == window.position())
                .then_some(Published { rows: resumed.ordinal, last_id: resumed.last_event_id });
            self.publish(&window, &look, published).await?;
        }
        self.end_look().await?;
        Ok((window.after.clone(), window.end().as_u64()))
    }

    /// The very first start: an empty window. Written down at once, so that whatever is committed from here on is
    /// published, whatever happens to this process.
    async fn begin(&mut self, look: &Look) -> Result<Window, Stopped> {
        let seen = match self.options.publish_existing {
            true => Found::Rows(false, Seen::default()),
            false => self.find(&Seen::default(), look).await?,
        };
        let Found::Rows(_, seen) = seen else {
            return Err(refused(format!(
                "transaction {} has been open while more than {AHEAD_MAX} others committed; end it (pg_stat_activity.backend_xid)",
                look.horizon
            )));
        };
        self.until_flushed().await?;
        let window = Window { number: look.next, before: seen.clone(), after: seen };
        self.say(ReplicationEvent::Snapshot(Some(window.to_text())), 0).await?;
        self.say(ReplicationEvent::KeepAlive { wal_end: window.end(), is_urgent: true }, 0).await?;
        Ok(window)
    }

    /// Opens the transaction of one look.
    async fn look(&self) -> Result<Look, Stopped> {
        let query = format!(
            "{} SELECT pg_current_snapshot()::text, pg_is_in_recovery(),
                (extract(epoch FROM clock_timestamp()) * 1000000)::int8",
            stored::begin(None)
        );
        let rows = ask(self.control.client(), &query).await?;
        let row = rows.first().ok_or_else(|| refused("it answers nothing to a SELECT".to_owned()))?;
        let text = row.get(0).unwrap_or_default().to_owned();
        let (horizon, next) = parse_snapshot(&text)?;
        let is_standby = row.get(1) == Some("t");
        let time_micros = row.get(2).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Look { text, horizon, next, is_standby, time_micros, tables: Vec::new() })
    }

    async fn end_look(&self) -> Result<(), Stopped> {
        self.control.client().batch_execute("COMMIT").await.map_err(ControlError::from)?;
        Ok(())
    }

    async fn describe(&self, look: &mut Look) -> Result<(), Stopped> {
        look.tables = stored::describe(self.control.client(), &self.options.tables).await?;
        let named = [
            ("polling.column", &self.options.column),
            ("polling.transaction.column", &self.options.transaction_column),
        ];
        for (option, column) in named {
            for table in look.tables.iter() {
                if let Some(column) = column.as_ref().filter(|column| table.column(column).is_none()) {
                    return Err(refused(format!(
                        "table {} has no column {column}, which {option} names",
                        table.quoted()
                    )));
                }
            }
        }
        Ok(())
    }

    /// How the look's rows tell their transactions.
    pub(super) fn ids(&self, look: &Look) -> TransactionIds {
        match &self.options.transaction_column {
            Some(column) => TransactionIds::Column(column.clone()),
            None => TransactionIds::Xmin { next: look.next },
        }
    }

    /// What the look's snapshot sees beside what was seen before.
    async fn find(&self, seen: &Seen, look: &Look) -> Result<Found, Stopped> {
        let (client, ids) = (self.control.client(), self.ids(look));
        let (mut latest, mut is_any) = (None, false);
        for table in &look.tables {
            let known = ids.one_of(seen.ahead.iter().copied());
            let query = format!(
                "SELECT {}, coalesce(bool_or(NOT {known}), false) FROM {} WHERE {}",
                ids.latest(),
                table.quoted(),
                ids.at_least(seen.horizon)
            );
            for row in ask(client, &query).await? {
                latest = latest.max(row.get(0).and_then(|text| text.parse::<u64>().ok()));
                is_any |= row.get(1) == Some("t");
            }
        }
        let latest = latest.unwrap_or(0);
        let mut ahead = seen.ahead.clone();
        if is_any && latest >= look.horizon {
            for table in &look.tables {
                let query = format!(
                    "SELECT DISTINCT {} FROM {} WHERE {} LIMIT {}",
                    ids.value(),
                    table.quoted(),
                    ids.at_least(look.horizon.max(seen.horizon)),
                    AHEAD_MAX + 1
                );
                let rows = ask(client, &query).await?;
                ahead.extend(rows.iter().filter_map(|row| row.get(0)?.parse::<u64>().ok()));
            }
        }
        let after = seen.next(look.horizon, latest, ahead);
        Ok(if after.ahead.len() <= AHEAD_MAX { Found::Rows(is_any, after) } else { Found::TooMany })
    }

    /// Waits until no crash can take back what the snapshot sees: a transaction that does not wait for the disk
    /// (`synchronous_commit=off`) is seen before its commit is written there, and its id may then be given out again.
    async fn until_flushed(&self) -> Result<(), Stopped> {
        if !self.knows_flush {
            return Ok(());
        }
        let client = self.control.client();
        let rows = ask(client, "SELECT pg_current_wal_insert_lsn()").await?;
        let inserted = rows.first().and_then(|row| row.get(0)).unwrap_or("0/0").to_owned();
        let query = format!("SELECT pg_current_wal_flush_lsn() >= {}", literal(&inserted));
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        while ask(client, &query).await?.first().and_then(|row| row.get(0)) != Some("t") {
            if Instant::now() > deadline {
                let reason = format!("the server has not written its log up to {inserted} to disk");
                return Err(Stopped::Error(ReplicationError::Lost(reason.into())));
            }
            tokio::time::sleep(FLUSH_INTERVAL).await;
        }
        Ok(())
    }

    /// Hands an event over once there is room for its bytes.
    pub(super) async fn say(&self, event: ReplicationEvent, bytes: usize) -> Result<(), Stopped> {
        let room = u32::try_from(bytes.min(BYTES_MAX)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(room).await.map_err(|_| Stopped::Unheard)?;
        self.events.send(Ok(Said { event, _room: room })).await.map_err(|_| Stopped::Unheard)
    }
}
