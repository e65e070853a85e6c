//! `snapshot=initial`: rows that are in the tables before there is a slot are published first, once.
//!
//! ```text
//!  1  a temporary slot is made, with a snapshot of the database at its very position, and a transaction takes it over
//!  2  which rows the snapshot sees is written into a progress record
//!  3  the slot itself is made: a copy of the temporary one, at the same position
//!  4  the rows are said, as one transaction just before that position
//!  5  the stream follows
//! ```
//!
//! The rows are a [`Window`], as polling has them: what the snapshot sees is kept as transaction ids, so that another
//! process can read the same rows in the same order when this one has died, the rows of savepoints included.
//!
//! Invariant: the slot exists only if the progress record says which rows come before it. So dying at any step leaves
//! one of these, and [`SnapshotSource::open`] can tell them apart:
//! - no slot, and nothing published (before 3): from the beginning;
//! - a slot, and a record with the snapshot (4): the rest of its rows, by their count and the last one's id;
//! - a slot, and a record without (5): the stream.
//!
//! A slot without a record was made by someone else, and which rows lie before it nobody knows: refused, as is a record
//! without its slot once rows are published ([`crate::progress::check`]).

mod rows;

use bytes::Bytes;
use pgwire_replication::ReplicationClient;
use rand::Rng;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::checks;
use crate::control::Control;
use crate::lsn::Lsn;
use crate::polling::look::{Found, Look, too_many};
use crate::polling::poller::{Poller, Published, Stopped};
use crate::polling::window::{Seen, Window};
use crate::polling::{Delivery, EVENTS_MAX, Options, Said};
use crate::progress::Progress;
use crate::replication::pgwire::{PostgresSession, PostgresSource, explain, of_control};
use crate::replication::{
    ReplicationError, ReplicationEvent, ReplicationSession, ReplicationSource, Resume, ServerIdentity, SlotPosition,
};

/// A slot, and the rows before it.
pub(crate) struct SnapshotSource {
    /// The slot.
    pub(crate) slot: PostgresSource,
    /// The rows.
    pub(crate) options: Options,
}

/// A session that has rows to say before it streams, or has none any more.
pub(crate) struct SnapshotSession {
    source: PostgresSource,
    options: Options,
    /// Before 2.
    pending: Option<Pending>,
    /// While 2 to 4 last.
    rows: Option<Task>,
    stream: Option<PostgresSession>,
    /// What the connector has committed.
    committed: watch::Sender<Lsn>,
    /// Positions before are not the slot's.
    slot_begins: Lsn,
}

/// What 1 has made.
struct Pending {
    temporary: ReplicationClient,
    temporary_name: String,
    poller: Poller,
    look: Look,
    window: Window,
    events: mpsc::Receiver<Delivery>,
}

/// Says the rows, and then has the stream if it was not there before.
struct Task {
    events: mpsc::Receiver<Delivery>,
    handle: JoinHandle<Result<Option<PostgresSession>, ReplicationError>>,
}

impl ReplicationSource for SnapshotSource {
    type Session = SnapshotSession;

    async fn open(&mut self, resume: Option<&Resume>) -> Result<(ServerIdentity, SnapshotSession), ReplicationError> {
        let control = Control::connect(&self.slot.url).await.map_err(of_control)?;
        if checks::slot_state(&control, &self.slot.source.slot).await.map_err(of_control)?.is_none() {
            return self.begin().await;
        }
        let (mut server, stream) = self.slot.open(resume).await?;
        // Whoever made it did not make it with a snapshot.
        server.slot.is_new = false;
        let slot_begins = Lsn::ZERO;
        Ok((server, self.session(None, Some(stream), slot_begins)))
    }

    async fn until_free(&mut self) {
        self.slot.until_free().await;
    }
}

impl SnapshotSource {
    fn session(&self, pending: Option<Pending>, stream: Option<PostgresSession>, slot_begins: Lsn) -> SnapshotSession {
        SnapshotSession {
            source: self.slot.clone(),
            options: self.options.clone(),
            pending,
            rows: None,
            stream,
            committed: watch::Sender::new(Lsn::ZERO),
            slot_begins,
        }
    }

    /// Step 1.
    async fn begin(&self) -> Result<(ServerIdentity, SnapshotSession), ReplicationError> {
        let control = self.slot.prepare(false).await?;
        let refused = |error| explain(error, self.slot.row_bytes_max);
        let (mut server, mut temporary) = self.slot.connect(Lsn::ZERO).await.map_err(refused)?;
        let temporary_name = format!("pillion_snapshot_{:016x}", rand::rng().random::<u64>());
        tracing::info!("taking a snapshot; this waits for transactions that are open");
        // As servers before 15 take it too.
        let create = format!("CREATE_REPLICATION_SLOT {temporary_name} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT");
        let answer = temporary.simple_query(&create).await.map_err(refused)?;
        let text = |index: usize| -> Option<String> {
            let value: &Option<Bytes> = answer.first()?.get(index)?;
            String::from_utf8(value.as_ref()?.to_vec()).ok()
        };
        let position: Option<Lsn> = text(1).and_then(|position| position.parse().ok());
        let (Some(position), Some(exported)) = (position, text(2)) else {
            return Err(ReplicationError::Lost("the server made a slot and does not say where".into()));
        };
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        // The snapshot is one of the log on disk: nothing it sees can be taken back.
        let poller = Poller::new(control, self.options.clone(), sender, false);
        let look = poller.look_with(Some(&exported)).await.map_err(of_stopped)?;
        let seen = match poller.find(&Seen::default(), &look).await.map_err(of_stopped)? {
            Found::Rows(_, seen) => seen,
            Found::TooMany => return Err(of_stopped(too_many(&look))),
        };
        // A transaction's commit record may begin at the slot's position, so the rows get the one before.
        let window = Window::of_all(position.as_u64().saturating_sub(1), seen);
        let confirmed = Lsn::new(window.number.saturating_sub(1));
        server.slot = SlotPosition { confirmed, is_new: true, is_pending: true };
        let pending = Pending { temporary, temporary_name, poller, look, window, events };
        Ok((server, self.session(Some(pending), None, position)))
    }
}

impl ReplicationSession for SnapshotSession {
    fn resume_at(&mut self, progress: &Progress) {
        if let Some(pending) = self.pending.take() {
            let (source, committed) = (self.source.clone(), self.committed.subscribe());
            let Pending { temporary, temporary_name, poller, look, window, events } = pending;
            let temporary = (temporary, temporary_name);
            let handle = tokio::spawn(rows::begin(source, temporary, (poller, look, window), committed));
            self.rows = Some(Task { events, handle });
        } else if let Some(text) = &progress.snapshot {
            let (sender, events) = mpsc::channel(EVENTS_MAX);
            let published = Published { rows: progress.ordinal, last_id: progress.last_event_id.clone() };
            let published = Some(published).filter(|_| progress.commit_lsn >= progress.end_lsn);
            let window = Window::parse(text);
            if let Ok(window) = &window {
                self.slot_begins = window.end();
            }
            let window = window.map(|window| (window.end() > progress.end_lsn).then_some(window));
            let handle =
                tokio::spawn(rows::resume(self.source.url.clone(), self.options.clone(), (window, published), sender));
            self.rows = Some(Task { events, handle });
        }
    }

    async fn next(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        if let Some(Task { events, handle }) = &mut self.rows {
            if let Some(said) = events.recv().await {
                let Said { event, .. } = said?;
                return Ok(event);
            }
            let stream = handle.await.map_err(|error| ReplicationError::Lost(error.into()))?;
            self.rows = None;
            if let Some(stream) = stream? {
                self.stream = Some(stream);
                let committed = *self.committed.borrow();
                self.confirm(committed);
            }
        }
        match &mut self.stream {
            Some(stream) => stream.next().await,
            None => Err(ReplicationError::Lost("the snapshot broke off".into())),
        }
    }

    fn confirm(&self, lsn: Lsn) {
        self.committed.send_replace(lsn);
        if let Some(stream) = self.stream.as_ref().filter(|_| lsn >= self.slot_begins) {
            stream.confirm(lsn);
        }
    }

    fn row_lsn(&self) -> Lsn {
        self.stream.as_ref().map_or(Lsn::new(u64::MAX), ReplicationSession::row_lsn)
    }

    fn retained_bytes(&self) -> u64 {
        self.stream.as_ref().map_or(0, ReplicationSession::retained_bytes)
    }

    fn server_lsn(&self) -> Lsn {
        self.stream.as_ref().map_or(Lsn::ZERO, ReplicationSession::server_lsn)
    }

    async fn close(mut self) {
        if let Some(Task { handle, .. }) = self.rows.take() {
            handle.abort();
            let _ = handle.await;
        }
        if let Some(stream) = self.stream.take() {
            stream.close().await;
        }
    }
}

impl Drop for SnapshotSession {
    fn drop(&mut self) {
        if let Some(Task { handle, .. }) = &self.rows {
            handle.abort();
        }
    }
}

fn of_stopped(stopped: Stopped) -> ReplicationError {
    match stopped {
        Stopped::Error(error) => error,
        Stopped::Unheard => ReplicationError::Lost("nobody listens any more".into()),
    }
}
