//! The task that looks at the tables and says what it finds as the stream of changes would.
//!
//! Each look is one transaction with one snapshot. What it costs: nothing but a round trip while no transaction has
//! committed in the whole server; else each table is read from end to end once, and a second time while transactions
//! are open, for no index knows `xmin` and no other bound is safe (see [`super::window`]): prune the outbox. With
//! `polling.transaction.column` and an index on that column, only new rows are read. A look is never followed by the
//! next one before thrice the time that its reading took.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::window::{AHEAD_MAX, Seen, Window, WindowError};
use super::{Delivery, Options, Resumed, Said};
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::replication::pgwire::of_control;
use crate::replication::{ReplicationError, ReplicationEvent};
use crate::stored::{self, Table, TableError, TransactionIds, ask, parse_snapshot};

/// Bytes of rows on their way to the connector, which counts what it has taken itself.
pub(super) const BYTES_MAX: usize = 4 * 1024 * 1024;
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
    /// Whether the log has said that polling waits for an open transaction.
    pub(super) has_said: bool,
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
                match self.after(&seen, &look).await? {
                    Some(after) => {
                        number = number.max(look.next);
                        let window = Window { number, before: seen, after };
                        if self.publish(&window, &look, None).await? {
                            number += 1;
                        }
                        seen = window.after;
                        self.has_said = false;
                        last = look.text;
                    }
                    None => self.say_that_it_waits(&look),
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
            true => Some(Seen::default()),
            false => self.after(&Seen::default(), look).await?,
        };
        let Some(seen) = seen else {
            return Err(refused(format!(
                "transaction {} has been open while more than {AHEAD_MAX} others committed; end it (pg_stat_activity.backend_xid)",
                look.horizon
            )));
        };
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

    /// What the look's snapshot sees; `None` if that is too much to keep.
    async fn after(&self, seen: &Seen, look: &Look) -> Result<Option<Seen>, Stopped> {
        let mut after = Seen { horizon: look.horizon.max(seen.horizon), ..Seen::default() };
        if after.horizon >= look.next {
            return Ok(Some(after));
        }
        let ids = self.ids(look);
        for table in &look.tables {
            let query = format!(
                "SELECT DISTINCT {} FROM {} WHERE {} LIMIT {}",
                ids.value(),
                table.quoted(),
                ids.at_least(after.horizon),
                AHEAD_MAX + 1
            );
            let rows = ask(self.control.client(), &query).await?;
            after.ahead.extend(rows.iter().filter_map(|row| row.get(0)?.parse::<u64>().ok()));
        }
        Ok((after.ahead.len() <= AHEAD_MAX).then_some(after))
    }

    /// Hands an event over once there is room for its bytes.
    pub(super) async fn say(&self, event: ReplicationEvent, bytes: usize) -> Result<(), Stopped> {
        let room = u32::try_from(bytes.min(BYTES_MAX)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(room).await.map_err(|_| Stopped::Unheard)?;
        self.events.send(Ok(Said { event, _room: room })).await.map_err(|_| Stopped::Unheard)
    }
}
