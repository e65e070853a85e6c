//! Opening what a session needs: Postgres' stream, then the cluster, each tried again for as long as it takes.

use std::time::Duration;

use super::ConnectorError;
use super::run::Engine;
use crate::causes;
use crate::progress::{Progress, SourceName};
use crate::publish::{Cluster, PublishError};
use crate::replication::{ReplicationError, ReplicationSource, ServerIdentity};
use crate::status::State;

/// Connecting to a broker may take half a minute to fail; the log says that it is tried well before.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// Between two attempts to take a slot that looks free.
const STANDBY_DELAY_MAX: Duration = Duration::from_millis(200);
/// Sessions refused in a row, without a message between, before the refusal is taken as final. One more is opened so
/// that its checks can say what is wrong better than Postgres did.
const REFUSED_SESSIONS_MAX: u32 = 2;

impl<S: ReplicationSource, C: Cluster> Engine<S, C> {
    /// `None` when cancelled.
    pub(super) async fn open_session(&mut self) -> Result<Option<(ServerIdentity, S::Session)>, ConnectorError> {
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
                Err(error @ ReplicationError::SlotBusy { .. }) => self.stand_by(&error).await,
                Err(error) if error.is_retryable() => self.wait_for_postgres(&error).await,
                Err(error) => return Err(ConnectorError::Postgres(error.into())),
            }
        }
    }

    pub(super) async fn session_ended(&mut self, error: ReplicationError) -> Result<(), ConnectorError> {
        if matches!(error, ReplicationError::Refused { .. }) {
            self.refused_sessions += 1;
        }
        let may_pass = error.is_retryable() || self.refused_sessions > 0;
        if !may_pass || self.refused_sessions >= REFUSED_SESSIONS_MAX {
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

    /// Another connector has the slot. This one takes over when that is gone.
    async fn stand_by(&mut self, error: &ReplicationError) {
        let reason = causes::text(error);
        self.config.status.set_state(State::Standby);
        self.config.status.set_error(&reason);
        let delay = self.postgres.failed(reason);
        let cancelled = self.cancelled.clone();
        tokio::select! {
            () = cancelled.cancelled() => {}
            () = self.source.until_free() => {}
        }
        self.pause(delay.min(STANDBY_DELAY_MAX)).await;
    }

    /// The publisher kept from the last session, or a new one; `None` when cancelled. The slot stays ours meanwhile,
    /// and the session goes on telling Postgres that it is alive.
    pub(super) async fn connect_publisher(
        &mut self,
        source: &SourceName,
    ) -> Result<Option<(C::Publisher, Option<Progress>)>, ConnectorError> {
        if let Some(publisher) = self.publisher.take() {
            return Ok(Some(publisher));
        }
        loop {
            self.config.status.set_state(State::WaitingForBroker);
            let Some(connected) = self.try_connect(source).await else { return Ok(None) };
            match connected {
                Ok(publisher) => return Ok(Some((publisher, None))),
                Err(error) => self.publisher_failed(error).await?,
            }
        }
    }

    /// One attempt, which says that it is made if it takes long; `None` when cancelled.
    async fn try_connect(&self, source: &SourceName) -> Option<Result<C::Publisher, PublishError>> {
        let mut connecting = std::pin::pin!(self.cluster.connect(source));
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

    pub(super) async fn publisher_failed(&mut self, error: PublishError) -> Result<(), ConnectorError> {
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
