//! Sessions, one after another, until cancelled or refused.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ConnectorError;
use super::relay::Relay;
use super::stream::{Ended, Stream};
use super::waiting::Waiting;
use crate::causes;
use crate::config::ConnectorConfig;
use crate::lsn::Lsn;
use crate::publish::{Cluster, PublishError, Publisher};
use crate::replication::{ReplicationError, ReplicationSession, ReplicationSource, Resume, ServerIdentity};
use crate::router::Router;
use crate::status::State;

/// How long a cancelled connector waits for what is on its way to the broker.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connecting to a broker may take half a minute to fail; the log says that it is tried well before.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// Sessions refused in a row, without a message between, before the refusal is taken as final. One more is opened so
/// that its checks can say what is wrong better than Postgres did.
const REFUSALS_MAX: u32 = 2;

struct Engine<S: ReplicationSource, C: Cluster> {
    config: ConnectorConfig,
    source: S,
    cluster: C,
    cancelled: CancellationToken,
    publisher: Option<C::Publisher>,
    resume: Option<Resume>,
    postgres: Waiting,
    broker: Waiting,
    refusals: u32,
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
        refusals: 0,
    };
    let result = engine.sessions(&router).await;
    if let Some(publisher) = engine.publisher.take() {
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
        loop {
            let Some((server, session)) = self.open_session().await? else { return Ok(()) };
            let Some(publisher) = self.connect_publisher().await? else {
                session.close().await;
                return Ok(());
            };
            self.config.status.set_state(State::Streaming);
            self.config.status.add_session();
            let start = self.resume.as_ref().map_or(Lsn::ZERO, |resume| resume.position(&server));
            let (via, to) = ((router, &relay), (&publisher, &mut self.broker));
            let mut stream = Stream::new(&self.config, via, (session, start), to);
            let ended = stream.run(&self.cancelled).await;
            if stream.has_delivered() {
                self.refusals = 0;
            }
            let mut confirmed = stream.confirmed();
            match ended {
                Ended::Cancelled | Ended::Fatal(_) => {
                    let _ = tokio::time::timeout(LEAVE_TIMEOUT, stream.settle()).await;
                    stream.into_session().close().await;
                    self.publisher = Some(publisher);
                    return match ended {
                        Ended::Fatal(error) => Err(error),
                        _ => Ok(()),
                    };
                }
                Ended::Session(error) => {
                    // What was sent is on its way all the same: acknowledged, it need not be sent again.
                    let settled = tokio::select! {
                        settled = stream.settle() => settled,
                        () = self.cancelled.cancelled() => Ok(()),
                    };
                    confirmed = stream.confirmed();
                    drop(stream);
                    match settled {
                        Ok(()) => self.publisher = Some(publisher),
                        Err(Ended::Fatal(error)) => return Err(error),
                        Err(_) => publisher.close().await,
                    }
                    self.session_ended(error).await?;
                }
                Ended::Publisher(error) => {
                    stream.into_session().close().await;
                    publisher.close().await;
                    self.publisher_failed(error).await?;
                }
            }
            self.remember(&server, confirmed);
        }
    }

    /// Where the next session starts.
    fn remember(&mut self, server: &ServerIdentity, confirmed: Lsn) {
        if confirmed > Lsn::ZERO {
            let ServerIdentity { system_id, timeline, .. } = server.clone();
            self.resume = Some(Resume { system_id, timeline, confirmed });
        }
    }

    /// `None` when cancelled.
    async fn open_session(&mut self) -> Result<Option<(ServerIdentity, S::Session)>, ConnectorError> {
        loop {
            self.config.status.set_state(State::WaitingForPostgres);
            let cancelled = self.cancelled.clone();
            let opened = tokio::select! {
                biased;
                () = cancelled.cancelled() => return Ok(None),
                opened = self.source.open(self.resume.as_ref()) => opened,
            };
            match opened {
                Ok(opened) => {
                    self.postgres.recovered();
                    tracing::info!(system_id = opened.0.system_id, timeline = opened.0.timeline, "replication started");
                    return Ok(Some(opened));
                }
                Err(ReplicationError::NotReady(failures)) => return Err(ConnectorError::Checks(failures)),
                Err(error) if error.is_retryable() => self.wait_for_postgres(&error).await,
                Err(error) => return Err(ConnectorError::Postgres(error.into())),
            }
        }
    }

    async fn session_ended(&mut self, error: ReplicationError) -> Result<(), ConnectorError> {
        if matches!(error, ReplicationError::Refused { .. }) {
            self.refusals += 1;
        }
        let may_pass = error.is_retryable() || self.refusals > 0;
        if !may_pass || self.refusals >= REFUSALS_MAX {
            return Err(ConnectorError::Postgres(error.into()));
        }
        self.wait_for_postgres(&error).await;
        Ok(())
    }

    async fn wait_for_postgres(&mut self, error: &ReplicationError) {
        let reason = causes::text(error);
        self.config.status.set_state(State::WaitingForPostgres);
        self.config.status.set_error(&reason);
        let delay = self.postgres.failed(reason);
        self.pause(delay).await;
    }

    /// The publisher kept from the last session, or a new one; `None` when cancelled. The slot stays ours meanwhile,
    /// and the session goes on telling Postgres that it is alive.
    async fn connect_publisher(&mut self) -> Result<Option<C::Publisher>, ConnectorError> {
        if let Some(publisher) = self.publisher.take() {
            return Ok(Some(publisher));
        }
        loop {
            self.config.status.set_state(State::WaitingForBroker);
            let Some(connected) = self.try_connect().await else { return Ok(None) };
            match connected {
                Ok(publisher) => return Ok(Some(publisher)),
                Err(error) => self.publisher_failed(error).await?,
            }
        }
    }

    /// One attempt, which says that it is made if it takes long; `None` when cancelled.
    async fn try_connect(&self) -> Option<Result<C::Publisher, PublishError>> {
        let mut connecting = std::pin::pin!(self.cluster.connect());
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return None,
            connected = &mut connecting => return Some(connected),
            () = tokio::time::sleep(SILENCE_MAX), if !self.broker.has_said() => {}
        }
        tracing::warn!(servers = self.config.bootstrap_servers.join(","), "the broker has not answered yet");
        self.config.status.set_error("the broker has not answered yet");
        tokio::select! {
            () = self.cancelled.cancelled() => None,
            connected = connecting => Some(connected),
        }
    }

    async fn publisher_failed(&mut self, error: PublishError) -> Result<(), ConnectorError> {
        if matches!(error, PublishError::Refused(_)) {
            return Err(ConnectorError::Broker { position: None, reason: error });
        }
        let reason = causes::text(&error);
        self.config.status.set_state(State::WaitingForBroker);
        self.config.status.set_error(&reason);
        let delay = self.broker.failed(reason);
        self.pause(delay).await;
        Ok(())
    }

    async fn pause(&self, delay: Duration) {
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}
