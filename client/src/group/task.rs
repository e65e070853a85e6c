//! The task of a group's member: joins, syncs, sends heartbeats, and assigns when it leads. It does what the machine
//! says and publishes the machine's view; the caller's part is to poll, and to let go of what it is told to.

use std::collections::BTreeMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pillion_wire::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
};
use pillion_wire::{ErrorCode, Request};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::config::GroupConfig;
use super::leading;
use super::machine::{Action, Event, Membership, View};
use super::protocol::{self, PROTOCOL_TYPE, Subscription};
use super::requests;
use crate::client::ClientShared;
use crate::connection::{ConnectionError, Pool};
use crate::coordinator::CoordinatorKind;
use crate::error::ClientError;

/// A leave is tried for no longer than this: the session timeout does the same in the end.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Room a coordinator gets beyond the rebalance timeout to answer a join.
const JOIN_GRACE: Duration = Duration::from_secs(5);

/// What the caller tells the task.
pub(super) enum Command {
    Subscribed(Vec<String>),
    Released(u64),
    /// It polls again after it was taken out.
    Polled,
    Leave,
}

/// When the caller polled last.
#[derive(Debug)]
pub(super) struct LastPoll(Mutex<Instant>);

impl LastPoll {
    pub(super) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(super) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn elapsed(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// What came of a join or sync.
struct Answered {
    event: Event,
    /// Of a join: what the sync needs to know.
    joined: Option<Box<JoinGroupResponse>>,
    /// Of a leader's sync: the partitions of the group's topics.
    counts: Option<BTreeMap<String, i32>>,
}

impl From<Event> for Answered {
    fn from(event: Event) -> Self {
        Self { event, joined: None, counts: None }
    }
}

/// A member's task.
pub(super) struct Task {
    pub(super) client: Arc<ClientShared>,
    pub(super) config: Arc<GroupConfig>,
    pub(super) last_poll: Arc<LastPoll>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) views: watch::Sender<View>,
    membership: Membership,
    pool: Arc<Pool>,
    topics: Vec<String>,
    /// The join or sync on its way.
    asking: Pending<Answered>,
    beating: Pending<(i32, Result<ErrorCode, ClientError>)>,
    joined: Option<Box<JoinGroupResponse>>,
    /// Partitions of the topics that the last assignment made here was made from.
    counts: Option<BTreeMap<String, i32>>,
    failures: u32,
}

impl Task {
    pub(super) fn new(
        client: Arc<ClientShared>,
        config: Arc<GroupConfig>,
        last_poll: Arc<LastPoll>,
        commands: mpsc::Receiver<Command>,
        views: watch::Sender<View>,
    ) -> Self {
        let cooperative = config.assignors.iter().all(|assignor| assignor.is_cooperative());
        Self {
            membership: Membership::new(cooperative, config.group_instance_id.is_some()),
            pool: Arc::new(Pool::new(client.connector.clone())),
            topics: config.topics.clone(),
            client,
            config,
            last_poll,
            commands,
            views,
            asking: None,
            beating: None,
            joined: None,
            counts: None,
            failures: 0,
        }
    }

    /// Serves the member until its caller leaves or is dropped, the client is shut down, or the group refuses it.
    pub(super) async fn run(mut self) {
        let cancelled = self.client.connector.cancelled.clone();
        let mut ticks = interval(self.config.heartbeat_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut changes = self.client.metadata.changes();
        let mut leave = None;
        if !self.topics.is_empty() {
            self.feed(Event::Subscribed);
        }
        while !self.membership.is_ended() {
            let event = tokio::select! {
                () = cancelled.cancelled() => break,
                command = self.commands.recv() => match command {
                    Some(Command::Subscribed(topics)) => {
                        self.topics = topics;
                        Event::Subscribed
                    }
                    Some(Command::Released(number)) => Event::Released(number),
                    Some(Command::Polled) => Event::Polled,
                    Some(Command::Leave) | None => Event::Leave,
                },
                answered = ready(&mut self.asking) => {
                    self.asking = None;
                    self.answered(answered)
                }
                (generation, beat) = ready(&mut self.beating) => {
                    self.beating = None;
                    self.beaten(generation, beat)
                }
                _ = ticks.tick() => match self.tick() {
                    Some(event) => event,
                    None => continue,
                },
                () = changes.next() => match self.topics_changed() {
                    Some(event) => event,
                    None => continue,
                },
            };
            if let Some(member_id) = self.feed(event) {
                if self.membership.is_ended() {
                    leave = Some(member_id);
                } else {
                    self.asks().leave(&member_id).await;
                }
            }
        }
        // Whoever waits for the leave sees the view's sender go.
        if let Some(member_id) = leave {
            self.asks().leave(&member_id).await;
        }
        self.pool.close();
    }

    /// Feeds the machine, does what it says, and publishes its view; gives the id of a member to take out.
    fn feed(&mut self, event: Event) -> Option<String> {
        let mut leave = None;
        for action in self.membership.on(event) {
            match action {
                Action::Join { delayed } => self.join(delayed),
                Action::Sync => self.sync(),
                Action::Leave { member_id } => {
                    if self.asking.take().is_some() {
                        // A join may hold up what comes behind it on its connection for minutes.
                        self.pool.close();
                    }
                    leave = Some(member_id);
                }
                Action::FindCoordinator => self.forget_coordinator(),
            }
        }
        self.views.send_replace(self.membership.view().clone());
        leave
    }

    fn join(&mut self, delayed: bool) {
        let (last, generation) = self.membership.last();
        let subscription = Subscription {
            topics: self.topics.clone(),
            owned: self.membership.owned().clone(),
            last: last.clone(),
            generation,
        };
        let request = requests::join(&self.config, &self.membership.view().member_id, &subscription);
        self.failures = if delayed { self.failures + 1 } else { 0 };
        let pause = self.client.connector.backoff.jittered(self.failures);
        let asks = self.asks();
        self.beating = None;
        self.asking = Some(Box::pin(async move {
            tokio::time::sleep(pause).await;
            let answer = async {
                let request = request.map_err(|source| ConnectionError::Encode { what: "JoinGroup", source })?;
                asks.ask::<JoinGroupRequest>(request, asks.config.max_poll_interval + JOIN_GRACE).await
            };
            match answer.await {
                Ok(response) => of_join(response),
                Err(error) => failed(error, |code| Event::JoinRefused { code, member_id: String::new() }).into(),
            }
        }));
    }

    fn sync(&mut self) {
        let Some(joined) = self.joined.take() else { return };
        let (asks, view) = (self.asks(), self.membership.view());
        let (generation_id, member_id) = (view.generation, view.member_id.clone());
        self.counts = None;
        self.asking = Some(Box::pin(async move {
            let synced = async {
                let (mut assignments, mut counts) = (Vec::new(), None);
                if joined.leader == member_id {
                    let led = leading::assign(&asks.client, &joined, asks.client.config.request_timeout).await?;
                    (assignments, counts) = (led.assignments, Some(led.counts));
                }
                let request = SyncGroupRequest {
                    group_id: asks.config.group_id.clone(),
                    generation_id,
                    member_id,
                    group_instance_id: asks.config.group_instance_id.clone(),
                    protocol_type: Some(PROTOCOL_TYPE.to_owned()),
                    protocol_name: joined.protocol_name.clone(),
                    assignments,
                };
                let wait = asks.config.max_poll_interval + JOIN_GRACE;
                let response = asks.ask::<SyncGroupRequest>(request, wait).await?;
                let event = match ErrorCode::from_code(response.error_code) {
                    ErrorCode::None => Event::Synced(
                        protocol::decode_assignment(&response.assignment)
                            .map_err(|source| ConnectionError::Decode { what: "SyncGroup", source })?,
                    ),
                    code => Event::SyncRefused(code),
                };
                Ok(Answered { event, joined: None, counts })
            };
            synced.await.unwrap_or_else(|error| failed(error, Event::SyncRefused).into())
        }));
    }

    fn answered(&mut self, answered: Answered) -> Event {
        if answered.joined.is_some() {
            self.failures = 0;
            self.joined = answered.joined;
        }
        self.counts = answered.counts;
        answered.event
    }

    /// Every heartbeat interval: a sign of life when one is due, and a look at whether the caller still polls.
    fn tick(&mut self) -> Option<Event> {
        for topic in &self.topics {
            self.client.metadata.track(topic, false);
        }
        if self.last_poll.elapsed() > self.config.max_poll_interval {
            return Some(Event::PollOverdue);
        }
        let view = self.membership.view();
        if self.membership.beats() && self.beating.is_none() {
            let request = HeartbeatRequest {
                group_id: self.config.group_id.clone(),
                generation_id: view.generation,
                member_id: view.member_id.clone(),
                group_instance_id: self.config.group_instance_id.clone(),
            };
            let (asks, generation) = (self.asks(), view.generation);
            let wait = self.config.session_timeout;
            self.beating = Some(Box::pin(async move {
                let answer = asks.ask::<HeartbeatRequest>(request, wait).await;
                (generation, answer.map(|response| ErrorCode::from_code(response.error_code)))
            }));
        }
        self.look_for_missing_topics();
        None
    }

    fn beaten(&mut self, generation: i32, beat: Result<ErrorCode, ClientError>) -> Event {
        let code = beat.unwrap_or_else(|error| {
            tracing::debug!(error = &error as &dyn std::error::Error, "heartbeat failed");
            ErrorCode::CoordinatorNotAvailable
        });
        Event::Beat { generation, code }
    }

    /// A topic that does not exist yet is looked for more often than what is known is renewed.
    fn look_for_missing_topics(&self) {
        let cluster = self.client.metadata.cluster();
        if self.topics.iter().any(|topic| cluster.topic(topic).is_none_or(|found| found.partitions.is_empty())) {
            self.client.metadata.request();
        }
    }

    /// As the leader: whether topics have other partitions than when they were assigned.
    fn topics_changed(&mut self) -> Option<Event> {
        let counts = self.counts.as_ref().filter(|_| self.membership.is_stable())?;
        let now = leading::counts(&self.client, counts.keys());
        (now != *counts).then(|| {
            self.counts = None;
            Event::TopicsChanged
        })
    }

    fn forget_coordinator(&self) {
        self.client.coordinators.forget_any(CoordinatorKind::Group, &self.config.group_id);
    }

    fn asks(&self) -> Asks {
        Asks { client: self.client.clone(), config: self.config.clone(), pool: self.pool.clone() }
    }
}

/// What asks the coordinator.
struct Asks {
    client: Arc<ClientShared>,
    config: Arc<GroupConfig>,
    pool: Arc<Pool>,
}

impl Asks {
    async fn connection(&self) -> Result<Arc<crate::connection::Connection>, ClientError> {
        let found = self.client.coordinators.find(&self.client, CoordinatorKind::Group, &self.config.group_id).await?;
        Ok(self.pool.connection(&found).await?)
    }

    async fn leave(&self, member_id: &str) {
        let left = async {
            let build = |version| requests::leave(&self.config, member_id, version);
            self.connection()
                .await?
                .request_by::<LeaveGroupRequest>((0, i16::MAX), build)
                .await
                .map_err(ClientError::from)
        };
        if let Ok(Err(error)) = tokio::time::timeout(LEAVE_TIMEOUT, left).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "member could not say that it leaves");
        }
    }

    /// Asks once, and waits for the answer as long as given.
    async fn ask<R: Request>(&self, request: R, wait: Duration) -> Result<R::Response, ClientError> {
        let connection = self.connection().await?;
        let version = connection.version::<R>(i16::MAX)?;
        let answer = connection.exchange_later(&request, version, wait).await;
        let frame = answer.unwrap_or(Err(ConnectionError::NotAnswered { what: R::API }))?;
        Ok(connection.decode::<R>(&frame, version)?)
    }
}

fn of_join(response: JoinGroupResponse) -> Answered {
    match ErrorCode::from_code(response.error_code) {
        ErrorCode::None => {
            let event = Event::Joined { generation: response.generation_id, member_id: response.member_id.clone() };
            Answered { event, joined: Some(Box::new(response)), counts: None }
        }
        code => Event::JoinRefused { code, member_id: response.member_id }.into(),
    }
}

/// What a failed request means: nothing will help against some errors, the coordinator's refusal is its answer, and
/// the rest may pass.
fn failed(error: ClientError, refused: impl FnOnce(ErrorCode) -> Event) -> Event {
    match error {
        ClientError::Broker { code, .. } if !code.is_retriable() => refused(code),
        ClientError::Connection(
            error @ (ConnectionError::UnsupportedApi { .. }
            | ConnectionError::Decode { .. }
            | ConnectionError::Encode { .. }),
        ) => Event::Failed(error.into()),
        error => {
            tracing::debug!(error = &error as &dyn std::error::Error, "group coordinator cannot be reached");
            Event::Unreachable
        }
    }
}

/// What is under way, when it is done; never when nothing is.
async fn ready<T>(under_way: &mut Pending<T>) -> T {
    match under_way {
        Some(future) => future.await,
        None => pending().await,
    }
}
