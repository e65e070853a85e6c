//! The task that looks at the tables and says what it finds as the stream of changes would.
//!
//! Each look is one transaction with one snapshot. What it costs: nothing but a round trip while no transaction has
//! ended in the whole server; else each table is read from end to end, twice if there are new rows, and thrice if some of
//! their transactions are younger than one that is open. No index knows `xmin`, and no other bound is safe (see
//! [`super::window`]): prune the outbox. With `polling.transaction.column` and an index on that column, only new rows
//! are read. A look is never followed by the next one before thrice the time that its reading took.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::look::{Found, Look, too_many};
use super::window::{AHEAD_MAX, Seen, Window, WindowError};
use super::{Delivery, Options, Resumed, Said};
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::replication::pgwire::of_control;
use crate::replication::{ReplicationError, ReplicationEvent};
use crate::stored::{Table, TableError};

/// Bytes of rows on their way to the connector, which counts what it has taken itself.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Times that reading took to wait before the next look.
const REST: u32 = 3;

/// Looks until the session ends.
pub(crate) struct Poller {
    pub(super) control: Control,
    pub(super) options: Options,
    room: Arc<Semaphore>,
    events: Sender<Delivery>,
    /// Tables as they were last described to the connector.
    pub(super) described: Vec<Table>,
    /// Whether the server says how far its log is written to disk.
    pub(super) knows_flush: bool,
    /// Whether the log has said that polling waits for an open transaction.
    has_said: bool,
}

/// Rows of a window that an earlier session has published.
pub(crate) struct Published {
    pub(crate) rows: u64,
    pub(crate) last_id: Option<Bytes>,
}

/// Why a poller stops.
pub(crate) enum Stopped {
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

pub(crate) fn refused(reason: String) -> Stopped {
    Stopped::Error(ReplicationError::Refused { reason, hint: "" })
}

impl Poller {
    /// One that looks through `control` and says to `events` what it finds. `knows_flush`: whether the server can be
    /// asked how far its log is written to disk.
    pub(crate) fn new(control: Control, options: Options, events: Sender<Delivery>, knows_flush: bool) -> Poller {
        let room = Arc::new(Semaphore::new(BYTES_MAX));
        Poller { control, options, room, events, described: Vec::new(), knows_flush, has_said: false }
    }

    /// Never ends but for an error; `None` when nobody listens any more.
    pub(crate) async fn run(mut self, resumed: Resumed) -> Option<ReplicationError> {
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
            let (mut look, began) = (self.look(None).await?, Instant::now());
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
        let look = self.look_with(None).await?;
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
            return Err(too_many(look));
        };
        self.until_flushed().await?;
        let window = Window { number: look.next, before: seen.clone(), after: seen };
        self.say(ReplicationEvent::Snapshot(Some(window.to_text())), 0).await?;
        self.say(ReplicationEvent::KeepAlive { wal_end: window.end(), is_urgent: true }, 0).await?;
        Ok(window)
    }

    /// Hands an event over once there is room for its bytes.
    pub(crate) async fn say(&self, event: ReplicationEvent, bytes: usize) -> Result<(), Stopped> {
        let room = u32::try_from(bytes.min(BYTES_MAX)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(room).await.map_err(|_| Stopped::Unheard)?;
        self.events.send(Ok(Said { event, _room: room })).await.map_err(|_| Stopped::Unheard)
    }
}
