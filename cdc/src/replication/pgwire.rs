//! Replication through the `pgwire-replication` crate.
//!
//! What that crate does not do and this file adds: a bound on connecting; a watchdog on a second connection, for a
//! server that vanished without a word (the crate sets no TCP keepalive); and the last status before leaving.
//!
//! Memory: its channel holds at most [`EVENTS_MAX`] messages of at most `max.row.bytes` each; what is read from the
//! channel counts against the connector's own bound. When the channel is full the crate goes on sending status, so a
//! slow broker never makes Postgres drop the connection.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pgwire_replication::{PgWireError, ReplicationClient, ReplicationConfig, ReplicationEvent as Event};
use tokio::time::Instant;

use super::watchdog::Watchdog;
use super::{
    ReplicationError, ReplicationEvent, ReplicationSession, ReplicationSource, Resume, ServerIdentity, SlotPosition,
};
use crate::causes;
use crate::checks::{self, CheckFailure};
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::outbox::{self, Source};
use crate::pgoutput::{self, Message};
use crate::postgres_url::PostgresUrl;
use crate::progress::Progress;
use crate::quoting;
use crate::refusal;
use crate::tls::{self, NegotiationError};

/// Enough for the reader and the router to work side by side, few enough that a channel of large rows stays small.
const EVENTS_MAX: usize = 256;
/// A confirmed position reaches the server after at most this; four small messages a second while busy.
const STATUS_INTERVAL: Duration = Duration::from_millis(250);
/// And a status at least this often while nothing happens.
const IDLE_STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// From connecting to the server's acceptance of START_REPLICATION. Starting can take long when the slot's position
/// lies far behind.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait for the last status to be written; twice what it takes.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(600);

/// Text of values as the router expects it, whatever the server's or the role's settings are.
const SESSION_OPTIONS: &str =
    "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c bytea_output=hex -c extra_float_digits=1";

/// One database's slot and publication.
#[derive(Clone)]
pub(crate) struct PostgresSource {
    /// The database.
    pub(crate) url: PostgresUrl,
    /// Its tables, publication and slot; names that were checked.
    pub(crate) source: Source,
    /// Makes them if they are missing.
    pub(crate) auto_init: bool,
    /// Largest message taken.
    pub(crate) row_bytes_max: usize,
}

/// An open stream and its watchdog.
pub(crate) struct PostgresSession {
    client: ReplicationClient,
    watchdog: Watchdog,
    confirmed: AtomicU64,
    /// Where the message that came last stands in the log.
    message_lsn: Lsn,
    row_bytes_max: usize,
}

impl PostgresSource {
    /// How to reach the server: itself, or the folder of the socket that leads to it through TLS.
    fn config(&self, host: String) -> ReplicationConfig {
        let url = &self.url;
        // Quoted, for unquoted names in the list are folded to lower case.
        let publication = quoting::identifier(&self.source.publication);
        ReplicationConfig::new(host, url.user(), url.password(), url.database(), self.source.slot.as_str(), publication)
            .with_port(url.port())
            .with_status_interval(STATUS_INTERVAL)
            .with_wakeup_interval(IDLE_STATUS_INTERVAL)
            .with_buffer_size(EVENTS_MAX)
            .with_options(SESSION_OPTIONS)
            .with_max_message_size(self.row_bytes_max)
            .with_application_name(format!("pillion {}", self.source.slot))
    }
}

impl ReplicationSource for PostgresSource {
    type Session = PostgresSession;

    async fn open(&mut self, resume: Option<&Resume>) -> Result<(ServerIdentity, PostgresSession), ReplicationError> {
        let control = self.prepare(true).await?;
        let hoped_for = resume.map_or(Lsn::ZERO, |resume| resume.confirmed);
        let opening = async {
            // The position is part of the configuration, so it is chosen before it is known who answers.
            let (mut identity, mut client) = self.connect(hoped_for).await?;
            let position = resume.map_or(Lsn::ZERO, |resume| resume.position(&identity));
            if position != hoped_for {
                drop(client);
                (identity, client) = self.connect(position).await?;
            }
            client.start().await?;
            client.wait_started().await?;
            Ok((identity, client))
        };
        let opened = tokio::time::timeout(OPEN_TIMEOUT, opening).await;
        let (identity, client) = match opened.map_err(|elapsed| ReplicationError::Lost(elapsed.into()))? {
            Ok(opened) => opened,
            Err(error) => return Err(self.with_holder(explain(error, self.row_bytes_max)).await),
        };
        // Asked only now: whoever had the slot until a moment ago may have moved it.
        let slot = self.slot_position(&control).await.map_err(of_control)?;
        let identity = ServerIdentity { slot, ..identity };
        let watchdog = Watchdog::start(self.url.clone(), control, self.source.clone());
        let confirmed = AtomicU64::new(0);
        Ok((
            identity,
            PostgresSession { client, watchdog, confirmed, message_lsn: Lsn::ZERO, row_bytes_max: self.row_bytes_max },
        ))
    }

    async fn until_free(&mut self) {
        // What goes wrong here goes wrong again when the session is opened, and is told there.
        if let Ok(control) = Control::connect(&self.url).await {
            let _ = checks::until_slot_is_free(&control, &self.source.slot).await;
        }
    }
}

impl PostgresSource {
    /// Sets up if asked to, and checks: a failure has a better message here than START_REPLICATION's. Without the slot
    /// where that is made otherwise.
    pub(crate) async fn prepare(&self, with_slot: bool) -> Result<Control, ReplicationError> {
        let control = Control::connect(&self.url).await.map_err(of_control)?;
        let mut failures = Vec::new();
        checks::server(control.client(), &mut failures).await.map_err(of_control)?;
        if self.auto_init && failures.is_empty() {
            let made = match with_slot {
                true => outbox::apply_with(&control, &self.source, &outbox::Setup::default()).await,
                false => outbox::apply_without_slot(&control, &self.source).await,
            };
            made.map_err(of_control)?;
        }
        checks::source(control.client(), &self.source, &mut failures).await.map_err(of_control)?;
        failures.retain(|failure| with_slot || !matches!(failure, CheckFailure::NoSlot { .. }));
        if failures.is_empty() { Ok(control) } else { Err(ReplicationError::NotReady(failures)) }
    }

    async fn slot_position(&self, control: &Control) -> Result<SlotPosition, ControlError> {
        let state = checks::slot_state(control, &self.source.slot).await?;
        let confirmed = state.map_or(Lsn::ZERO, |state| state.confirmed_flush);
        let is_new = checks::slot_made_at(control, &self.source).await? == Some(confirmed);
        Ok(SlotPosition { confirmed, is_new, is_pending: false })
    }

    /// Names who holds the slot, if that can be found out.
    async fn with_holder(&self, error: ReplicationError) -> ReplicationError {
        let ReplicationError::SlotBusy { reason } = error else { return error };
        match checks::slot_holder(&self.url, &self.source.slot).await {
            Ok(Some(holder)) => {
                ReplicationError::SlotBusy { reason: format!("slot {} is held by {holder}", self.source.slot) }
            }
            _ => ReplicationError::SlotBusy { reason },
        }
    }

    /// An authenticated session that has not started streaming.
    pub(crate) async fn connect(&self, start: Lsn) -> Result<(ServerIdentity, ReplicationClient), PgWireError> {
        let tunnel = tls::open_tunnel(&self.url).await.map_err(of_negotiation)?;
        let host = tunnel.as_ref().map_or_else(|| self.url.address(), |folder| folder.path().display().to_string());
        let config = self.config(host).with_start_lsn(pgwire_replication::Lsn::from_u64(start.as_u64()));
        let mut client = ReplicationClient::connect_gated(config).await?;
        let answer = client.identify_system().await?;
        // The library is through: the folder has done its work.
        drop(tunnel);
        let flush_lsn = Lsn::new(answer.xlogpos.as_u64());
        let (system_id, timeline) = (answer.system_id, answer.timeline);
        Ok((ServerIdentity { system_id, timeline, flush_lsn, slot: SlotPosition::default() }, client))
    }
}

/// Connects as a session would, asks who answers, and leaves without starting.
///
/// # Errors
/// As [`PostgresSource::open`].
pub(crate) async fn probe(url: &PostgresUrl, source: &Source) -> Result<ServerIdentity, ReplicationError> {
    let source = PostgresSource { url: url.clone(), source: source.clone(), auto_init: false, row_bytes_max: 1 << 20 };
    let connected = tokio::time::timeout(OPEN_TIMEOUT, source.connect(Lsn::ZERO)).await;
    match connected.map_err(|elapsed| ReplicationError::Lost(elapsed.into()))? {
        Ok((identity, _)) => Ok(identity),
        Err(error) => Err(explain(error, source.row_bytes_max)),
    }
}

impl ReplicationSession for PostgresSession {
    fn resume_at(&mut self, _progress: &Progress) {}

    async fn next(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        loop {
            let received = tokio::select! {
                biased;
                received = self.client.recv() => received,
                reason = self.watchdog.barked() => return Err(ReplicationError::Lost(reason.into())),
            };
            match received {
                Ok(Some(event)) => {
                    if let Event::XLogData { wal_start, .. } | Event::Message { lsn: wal_start, .. } = &event {
                        self.message_lsn = Lsn::new(wal_start.as_u64());
                    }
                    if let Some(event) = translate(event)? {
                        return Ok(event);
                    }
                }
                Ok(None) => return Err(ReplicationError::Lost("the server ended the stream".into())),
                Err(error) => return Err(explain(error, self.row_bytes_max)),
            }
        }
    }

    fn confirm(&self, lsn: Lsn) {
        self.confirmed.fetch_max(lsn.as_u64(), Ordering::Relaxed);
        self.client.update_applied_lsn(pgwire_replication::Lsn::from_u64(lsn.as_u64()));
    }

    fn retained_bytes(&self) -> u64 {
        self.watchdog.retained_bytes()
    }

    fn row_lsn(&self) -> Lsn {
        self.message_lsn
    }

    fn server_lsn(&self) -> Lsn {
        let streamed = Lsn::new(self.client.metrics().last_wal_end().as_u64());
        streamed.max(self.watchdog.server_lsn())
    }

    async fn close(mut self) {
        // The crate leaves without a status, so it is given the time to send one that is due. Giving up loses
        // nothing: what the server does not know to be confirmed, it sends again.
        let confirmed = self.confirmed.load(Ordering::Relaxed);
        let metrics = self.client.metrics();
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while metrics.last_applied_lsn().as_u64() < confirmed && self.client.is_running() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.watchdog.stop().await;
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.client.shutdown()).await;
    }
}

pub(crate) fn of_control(error: ControlError) -> ReplicationError {
    if error.is_retryable() {
        return ReplicationError::Lost(error.into());
    }
    ReplicationError::Refused { reason: causes::text(&error), hint: "" }
}

/// As the library would say it.
fn of_negotiation(error: NegotiationError) -> PgWireError {
    match error {
        NegotiationError::Io(error) => PgWireError::from(error),
        other => PgWireError::Tls(causes::text(&other)),
    }
}

/// The crate's event as ours; it decodes transaction boundaries and emitted messages by itself.
fn translate(event: Event) -> Result<Option<ReplicationEvent>, ReplicationError> {
    let lsn = |lsn: pgwire_replication::Lsn| Lsn::new(lsn.as_u64());
    Ok(Some(match event {
        Event::KeepAlive { wal_end, reply_requested, .. } => {
            ReplicationEvent::KeepAlive { wal_end: lsn(wal_end), is_urgent: reply_requested }
        }
        Event::Begin { final_lsn, xid, commit_time_micros } => ReplicationEvent::Message(Message::Begin {
            commit_lsn: lsn(final_lsn),
            commit_time_micros: pgoutput::unix_micros(commit_time_micros),
            transaction_id: xid,
        }),
        Event::Commit { lsn: commit_lsn, end_lsn, commit_time_micros } => ReplicationEvent::Message(Message::Commit {
            commit_lsn: lsn(commit_lsn),
            end_lsn: lsn(end_lsn),
            commit_time_micros: pgoutput::unix_micros(commit_time_micros),
        }),
        Event::Message { transactional, lsn: at, prefix, content } => {
            ReplicationEvent::Message(Message::Emitted { transactional, lsn: lsn(at), prefix, content })
        }
        Event::XLogData { data, .. } => ReplicationEvent::Message(pgoutput::decode(data)?),
        // Only where a stop position was asked for.
        Event::StoppedAt { .. } => return Ok(None),
    }))
}

/// Which of the crate's errors mean what. The server's come as text that ends in its SQLSTATE
/// (PostgreSQL documentation, appendix A).
pub(crate) fn explain(error: PgWireError, row_bytes_max: usize) -> ReplicationError {
    match error {
        PgWireError::MessageTooLarge { payload_bytes, .. } => {
            ReplicationError::RowTooLarge { bytes: payload_bytes, limit: row_bytes_max }
        }
        PgWireError::Auth(reason) | PgWireError::Tls(reason) => ReplicationError::Refused { reason, hint: "" },
        PgWireError::Server(reason) => {
            let has_state = |states: &[&str]| states.iter().any(|state| reason.contains(&format!("SQLSTATE {state}")));
            if has_state(&["55006"]) {
                return ReplicationError::SlotBusy { reason };
            }
            // Shutting down, crashed, starting up, terminated by idle limits; too many connections; connection
            // exceptions; cannot read its own log for the moment.
            let hint = refusal::hint(&reason);
            if hint.is_empty() && has_state(&["57P01", "57P02", "57P03", "57P05", "53", "08", "58"]) {
                return ReplicationError::Lost(reason.into());
            }
            ReplicationError::Refused { reason, hint }
        }
        PgWireError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => ReplicationError::Lost(
            "the server closed the stream without a word: its log says why (if `terminating walsender process due to replication timeout`, raise wal_sender_timeout)".into(),
        ),
        other => ReplicationError::Lost(other.into()),
    }
}
