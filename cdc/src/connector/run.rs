//! Sessions, one after another, until cancelled or refused.

use tokio_util::sync::CancellationToken;

use super::ConnectorError;
use super::refusals::Refusals;
use super::relay::Relay;
use super::stream::{Ended, Stream, Via};
use super::waiting::Waiting;
use crate::causes;
use crate::config::{ConnectorConfig, Delivery, OnError};
use crate::lsn::Lsn;
use crate::progress::{self, Choices, Progress, SourceName};
use crate::publish::{Cluster, PublishError, Publisher};
use crate::replication::{ReplicationSession, ReplicationSource, Resume, ServerIdentity};
use crate::router::Router;
use crate::status::State;

/// What lasts longer than a session.
pub(super) struct Engine<S: ReplicationSource, C: Cluster> {
    pub(super) config: ConnectorConfig,
    pub(super) source: S,
    pub(super) cluster: C,
    pub(super) cancelled: CancellationToken,
    /// Kept when only Postgres was lost, with what it has committed.
    pub(super) publisher: Option<(C::Publisher, Option<Progress>)>,
    pub(super) resume: Option<Resume>,
    pub(super) postgres: Waiting,
    pub(super) broker: Waiting,
    /// Sessions that Postgres refused in a row.
    pub(super) refused_sessions: u32,
}

pub(super) async fn run<S: ReplicationSource, C: Cluster>(
    config: ConnectorConfig,
    source: S,
    cluster: C,
    cancelled: CancellationToken,
) -> Result<(), ConnectorError> {
    let router = Router::new(config.router.clone()).map_err(|error| ConnectorError::Config(vec![error.into()]))?;
    let status = config.status.clone();
    let mut engine = Engine {
        config,
        source,
        cluster,
        cancelled,
        publisher: None,
        resume: None,
        postgres: Waiting::new("Postgres"),
        broker: Waiting::new("the broker"),
        refused_sessions: 0,
    };
    let result = engine.sessions(&router).await;
    if let Some((publisher, _)) = engine.publisher.take() {
        publisher.close().await;
    }
    if let Err(error) = &result {
        status.set_error(&causes::text(error));
    }
    status.set_state(State::Stopped);
    result
}

impl<S: ReplicationSource, C: Cluster> Engine<S, C> {
    async fn sessions(&mut self, router: &Router) -> Result<(), ConnectorError> {
        let relay = Relay::new(&self.config.client_id);
        let config = self.config.clone();
        let via = Via { config: &config, router, relay: &relay };
        let mut refusals = Refusals::default();
        while self.session(&via, &mut refusals).await? {}
        Ok(())
    }

    /// One session, from opening it to its end; whether another one is to follow.
    async fn session(&mut self, via: &Via<'_>, refusals: &mut Refusals) -> Result<bool, ConnectorError> {
        // The slot first: whoever has it may fence the producer before, and nobody else.
        let Some((server, session)) = self.open_session().await? else { return Ok(false) };
        let name = SourceName { system_id: server.system_id.clone(), slot: self.config.slot.clone() };
        let (mut publisher, published) = match self.take_over(&server, &name).await {
            Ok(Some(taken_over)) => taken_over,
            Ok(None) => {
                session.close().await;
                return Ok(false);
            }
            Err(error) => {
                session.close().await;
                return Err(error);
            }
        };
        self.config.status.set_state(State::Streaming);
        self.config.status.add_session();
        let mut stream = Stream::new(via, (session, published), (&mut publisher, &mut self.broker), refusals);
        let ended = stream.run(&self.cancelled).await;
        if stream.has_delivered() {
            self.refused_sessions = 0;
        }
        let ended = stream.leave(ended, &self.cancelled).await;
        let committed = stream.committed().clone();
        let session = stream.into_session();
        self.remember(&server, committed.end_lsn);
        if let Ended::Session(error) = ended {
            drop(session);
            let kept = (self.config.delivery == Delivery::ExactlyOnce).then_some(committed);
            self.publisher = Some((publisher, kept));
            self.session_ended(error).await?;
            return Ok(true);
        }
        session.close().await;
        publisher.close().await;
        self.publishing_ended(ended, refusals).await
    }

    /// A publisher, and what need not be sent again; `None` when cancelled.
    async fn take_over(
        &mut self,
        server: &ServerIdentity,
        name: &SourceName,
    ) -> Result<Option<(C::Publisher, Progress)>, ConnectorError> {
        loop {
            let Some((publisher, kept)) = self.connect_publisher(name).await? else { return Ok(None) };
            let error = match self.published(server, name, kept.as_ref().or(publisher.progress())) {
                Ok(published) => return Ok(Some((publisher, published))),
                Err(error) => error,
            };
            publisher.close().await;
            // While we had no session another connector may have published: its progress is in the cluster.
            if kept.is_none() {
                return Err(error);
            }
        }
    }

    /// What need not be sent again, if slot and progress agree.
    fn published(
        &self,
        server: &ServerIdentity,
        name: &SourceName,
        progress: Option<&Progress>,
    ) -> Result<Progress, ConnectorError> {
        if self.config.delivery == Delivery::AtLeastOnce {
            let end_lsn = self.resume.as_ref().map_or(Lsn::ZERO, |resume| resume.position(server));
            return Ok(Progress::up_to(server, end_lsn));
        }
        let choices = Choices { adopt_slot: self.config.adopt_slot, accept_timeline: self.config.accept_timeline };
        Ok(progress::check(server, name, progress, choices)?)
    }

    /// What follows from a session that ended together with its publisher; whether another one is to follow.
    async fn publishing_ended(&mut self, ended: Ended, refusals: &mut Refusals) -> Result<bool, ConnectorError> {
        match ended {
            Ended::Cancelled => return Ok(false),
            Ended::Fatal(error) => return Err(error),
            Ended::Refused(position, reason) if self.stops_at_once() => {
                return Err(ConnectorError::Row { position, reason: reason.into() });
            }
            Ended::Refused(position, reason) => refusals.add(&position, causes::text(&reason)),
            // It is looked for at once.
            Ended::Publisher(PublishError::TransactionRefused(_)) => {}
            Ended::Publisher(error) => self.publisher_failed(error).await?,
            Ended::Session(error) => self.session_ended(error).await?,
        }
        Ok(true)
    }

    /// Whether a refused row ends everything as things stand: without transactions the rows before it are published.
    fn stops_at_once(&self) -> bool {
        self.config.delivery == Delivery::AtLeastOnce && self.config.on_error == OnError::Stop
    }

    /// Where the next session starts.
    fn remember(&mut self, server: &ServerIdentity, confirmed: Lsn) {
        if confirmed > Lsn::ZERO {
            let ServerIdentity { system_id, timeline, .. } = server.clone();
            self.resume = Some(Resume { system_id, timeline, confirmed });
        }
    }
}
