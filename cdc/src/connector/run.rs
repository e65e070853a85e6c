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

/// How long a cancelled connector waits for what is on its way to the broker.
const LEAVE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

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
        loop {
            // The slot first: whoever has it may fence the producer before, and nobody else.
            let Some((server, session)) = self.open_session().await? else { return Ok(()) };
            let name = SourceName { system_id: server.system_id.clone(), slot: config.slot.clone() };
            let Some((mut publisher, kept)) = self.connect_publisher(&name).await? else {
                session.close().await;
                return Ok(());
            };
            let published = match self.published(&server, &name, kept.as_ref().or(publisher.progress())) {
                Ok(published) => published,
                Err(error) => {
                    session.close().await;
                    publisher.close().await;
                    return Err(error);
                }
            };
            config.status.set_state(State::Streaming);
            config.status.add_session();
            let mut stream = Stream::new(&via, (session, published), (&mut publisher, &mut self.broker), &mut refusals);
            let ended = stream.run(&self.cancelled).await;
            if stream.has_delivered() {
                self.refused_sessions = 0;
            }
            let ended = match ended {
                Ended::Cancelled | Ended::Fatal(_) => {
                    let is_row = matches!(ended, Ended::Fatal(ConnectorError::Row { .. }));
                    let settling = async {
                        // The rows before the one that cannot be published are good.
                        if is_row { stream.settle_partial().await } else { stream.settle().await }
                    };
                    let _ = tokio::time::timeout(LEAVE_TIMEOUT, settling).await;
                    stream.into_session().close().await;
                    publisher.close().await;
                    return match ended {
                        Ended::Fatal(error) => Err(error),
                        _ => Ok(()),
                    };
                }
                // What was sent is on its way all the same: committed, it need not be sent again.
                Ended::Session(error) => {
                    let settled = tokio::select! {
                        settled = stream.settle() => settled,
                        () = self.cancelled.cancelled() => Ok(()),
                    };
                    settled.err().map_or((Ended::Session(error), true), |failed| (failed, false))
                }
                // Whose fault it is, if it is a row's.
                Ended::Publisher(error) => match stream.find_refused().await {
                    Some((position, reason)) => (Ended::Refused(position, reason), false),
                    None => {
                        if matches!(error, PublishError::TransactionRefused(_)) {
                            stream.search_refused();
                        }
                        (Ended::Publisher(error), false)
                    }
                },
                ended => (ended, false),
            };
            let committed = stream.committed().clone();
            let session = stream.into_session();
            self.remember(&server, committed.end_lsn);
            match ended {
                (Ended::Session(error), true) => {
                    drop(session);
                    let kept = (config.delivery == Delivery::ExactlyOnce).then_some(committed);
                    self.publisher = Some((publisher, kept));
                    self.session_ended(error).await?;
                }
                (ended, _) => {
                    session.close().await;
                    publisher.close().await;
                    self.publishing_ended(ended, &mut refusals).await?;
                }
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
        let choices = Choices {
            adopt_slot: self.config.adopt_slot || (progress.is_none() && self.config.slot_start_lsn.is_some()),
            accept_timeline: self.config.accept_timeline,
        };
        Ok(progress::check(server, name, progress, choices)?)
    }

    /// Starts over with a new publisher, or not at all.
    async fn publishing_ended(&mut self, ended: Ended, refusals: &mut Refusals) -> Result<(), ConnectorError> {
        match ended {
            Ended::Refused(position, reason) if self.stops_at_once() => {
                Err(ConnectorError::Row { position, reason: reason.into() })
            }
            Ended::Refused(position, reason) => {
                refusals.add(&position, causes::text(&reason));
                Ok(())
            }
            // It is looked for at once.
            Ended::Publisher(PublishError::TransactionRefused(_)) => Ok(()),
            Ended::Publisher(error) => self.publisher_failed(error).await,
            Ended::Session(error) => self.session_ended(error).await,
            Ended::Fatal(error) => Err(error),
            Ended::Cancelled => Ok(()),
        }
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
