//! Moves batches from the accumulator to sockets and answers back, on whichever thread is there: the caller that
//! begins to wait for a delivery, the task of the connection that read an answer, or the producer's own task.
//!
//! **Invariant:** one thread at a time takes requests from the accumulator and submits them ([`Turn`]), so that
//! batches of a partition reach the socket in the order of their sequence numbers. Nothing is encoded, compressed or
//! written under the accumulator's lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_wire::messages::ProduceRequest;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use super::accumulator::{Accumulator, Slot};
use super::batch::Batch;
use super::partition::{Outcome, Settled};
use super::plan::{Outgoing, Step, Wants};
use super::request::{self, Target};
use super::{Acks, ProduceError};
use crate::client::ClientShared;
use crate::connection::{Connection, ConnectionError, Pool};
use crate::metadata::wants_refresh;

/// What a producer's parts share.
pub(crate) struct Dispatch {
    pub(super) client: Arc<ClientShared>,
    pub(super) pool: Pool,
    pub(super) acks: Acks,
    pub(super) delivery_timeout: Duration,
    pub(super) buffer_memory: usize,
    pub(super) memory: Arc<Semaphore>,
    state: Mutex<State>,
    /// Wakes the producer's task: there is something to connect to, look up or wait for.
    pub(super) wake: Notify,
    /// What batches carry when the producer is transactional.
    pub(super) transactional_id: Option<String>,
    /// Wakes whoever sees to the transactions: one is doomed, or wants partitions added to it.
    pub(super) transactions: Notify,
    this: Weak<Self>,
}

pub(super) struct State {
    pub(super) accumulator: Accumulator,
    turn: Turn,
    /// What the accumulator waits for, as last seen.
    wants: Wants,
    /// Until when the task sleeps at most.
    wakes_at: Option<Instant>,
    /// Records queued since the last flush began, and those of earlier flushes not settled yet.
    pub(super) groups: Vec<TaskTracker>,
}

/// Who takes requests from the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Free,
    Taken,
    /// Taken, and there is more to look at before it is given back.
    Again,
}

/// A request on its way, as its completion finds it.
struct Sent {
    node: i32,
    version: i16,
    batches: Vec<(Slot, Batch)>,
    targets: Vec<Target>,
}

impl Dispatch {
    pub(super) fn new(
        client: Arc<ClientShared>,
        config: &super::ProducerConfig,
        transactional_id: Option<String>,
        accumulator: Accumulator,
    ) -> Arc<Self> {
        let pool = Pool::new(client.connector.clone());
        let buffer_memory = config.buffer_memory.clamp(1, u32::MAX as usize);
        Arc::new_cyclic(|this| Self {
            client,
            pool,
            acks: config.acks,
            delivery_timeout: config.delivery_timeout,
            buffer_memory,
            memory: Arc::new(Semaphore::new(buffer_memory)),
            state: Mutex::new(State {
                accumulator,
                turn: Turn::Free,
                wants: Wants::default(),
                wakes_at: None,
                groups: vec![TaskTracker::new()],
            }),
            wake: Notify::new(),
            transactional_id,
            transactions: Notify::new(),
            this: this.clone(),
        })
    }

    /// Sends what can be sent, unless another thread is at it; wakes the task when it has something to see to.
    pub(super) fn drive(&self) {
        let Some(wants) = self.send_all() else { return };
        if wants.enlist {
            self.transactions.notify_one();
        }
        let mut state = self.lock();
        let sooner = wants.wake_at.is_some_and(|at| state.wakes_at.is_none_or(|planned| at < planned));
        let urgent = sooner || !wants.same_chores(&state.wants);
        state.wants = wants;
        drop(state);
        if urgent {
            self.wake.notify_one();
        }
    }

    /// As [`Dispatch::drive`], for the task itself: gives what it has to see to, before it sleeps until then.
    pub(super) fn drive_for_task(&self) -> Wants {
        let wants = self.send_all();
        let mut state = self.lock();
        if let Some(wants) = wants {
            state.wants = wants;
        }
        if state.wants.enlist {
            self.transactions.notify_one();
        }
        state.wakes_at = state.wants.wake_at;
        state.wants.clone()
    }

    /// Sends what can be sent and gives what the rest waits for; `None` when another thread is at it and goes on.
    fn send_all(&self) -> Option<Wants> {
        {
            let mut state = self.lock();
            if state.turn != Turn::Free {
                state.turn = Turn::Again;
                return None;
            }
            state.turn = Turn::Taken;
        }
        let mut cluster = self.client.metadata.cluster();
        loop {
            let mut state = self.lock();
            let step = state.accumulator.next(Instant::now(), &cluster, |node| self.pool.established(node).is_some());
            match step {
                Step::Send(outgoing) => {
                    let names: Vec<_> =
                        outgoing.batches.iter().map(|(slot, _)| state.accumulator.name(*slot)).collect();
                    drop(state);
                    let targets = names.into_iter().map(|name| Target::new(name, &cluster)).collect();
                    self.send(outgoing, targets);
                }
                Step::Wait(_) if state.turn == Turn::Again => {
                    state.turn = Turn::Taken;
                    drop(state);
                    cluster = self.client.metadata.cluster();
                }
                Step::Wait(wants) => {
                    state.turn = Turn::Free;
                    return Some(wants);
                }
            }
        }
    }

    /// Encodes a request and submits it.
    fn send(&self, outgoing: Outgoing, targets: Vec<Target>) {
        let Outgoing { node, batches, timeout } = outgoing;
        let mut encoded = Vec::with_capacity(batches.len());
        let mut sent = Sent { node, version: 0, batches: Vec::with_capacity(batches.len()), targets: Vec::new() };
        let mut unbuildable = Vec::new();
        for ((slot, mut batch), target) in batches.into_iter().zip(targets) {
            match batch.encode() {
                Ok(bytes) => {
                    encoded.push((target.clone(), bytes));
                    sent.batches.push((slot, batch));
                    sent.targets.push(target);
                }
                Err(error) => {
                    unbuildable.push((slot, batch, Outcome::Unbuildable(ProduceError::Records(error.into()))));
                }
            }
        }
        if !unbuildable.is_empty() {
            self.settle_unsent(unbuildable);
        }
        let connection = self.pool.established(node).ok_or(ConnectionError::UnknownBroker { node });
        let ready = connection.and_then(|connection| {
            let (oldest, newest) = self.versions();
            let newest = newest.min(request::newest_version(sent.targets.iter()));
            let version = connection.version_from::<ProduceRequest>(oldest, newest)?;
            Ok((connection, version))
        });
        match ready {
            Ok((connection, version)) => {
                sent.version = version;
                self.submit(&connection, encoded, sent, timeout);
            }
            Err(error) => self.lost(sent, &error),
        }
    }

    fn submit(&self, connection: &Arc<Connection>, encoded: Vec<(Target, Bytes)>, sent: Sent, timeout: Duration) {
        let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        let message = request::build(self.transactional_id.clone(), self.acks.code(), timeout_ms, encoded);
        let version = sent.version;
        let (this, answering) = (self.this.clone(), Arc::downgrade(connection));
        let acks = self.acks;
        let completion = Box::new(move |answer: Result<Bytes, ConnectionError>| {
            let Some(this) = this.upgrade() else { return };
            match answer {
                Ok(_) if acks == Acks::None => this.unanswered(sent),
                Ok(frame) => {
                    let decoded =
                        answering.upgrade().map(|answering| answering.decode::<ProduceRequest>(&frame, version));
                    match decoded {
                        Some(Ok(response)) => {
                            let outcomes = request::outcomes(response, version, &sent.targets);
                            this.completed(sent, outcomes);
                        }
                        Some(Err(error)) => this.lost(sent, &error),
                        None => this.lost(sent, &ConnectionError::NotAnswered { what: "Produce" }),
                    }
                }
                Err(error) => this.lost(sent, &error),
            }
        });
        if acks == Acks::None {
            connection.submit_unanswered(&message, version, completion);
        } else {
            connection.submit(&message, version, timeout, completion);
        }
    }

    fn unanswered(&self, sent: Sent) {
        let written = || Outcome::Answered { code: pillion_wire::ErrorCode::None, message: None, base_offset: -1 };
        let outcomes = sent.batches.iter().map(|_| written()).collect();
        self.completed(sent, outcomes);
    }

    fn lost(&self, sent: Sent, error: &ConnectionError) {
        // The leader may be gone for good.
        self.client.metadata.request();
        let outcomes = sent.batches.iter().map(|_| Outcome::Lost(error.clone())).collect();
        self.completed(sent, outcomes);
    }

    fn completed(&self, sent: Sent, outcomes: Vec<Outcome>) {
        let stale = |outcome: &Outcome| matches!(outcome, Outcome::Answered { code, .. } if wants_refresh(*code));
        if outcomes.iter().any(stale) {
            self.client.metadata.request();
        }
        let outcomes = sent.batches.into_iter().zip(outcomes).map(|((slot, batch), outcome)| (slot, batch, outcome));
        let settled = self.lock().accumulator.complete(sent.node, outcomes.collect(), Instant::now());
        self.settle(settled);
        self.sweep();
        self.drive();
    }

    fn settle_unsent(&self, outcomes: Vec<(Slot, Batch, Outcome)>) {
        let settled = self.lock().accumulator.complete_unsent(outcomes, Instant::now());
        self.settle(settled);
        self.sweep();
    }

    /// Tells fates; after a fatal one the producer has ended and what had no partition yet fails, too.
    fn settle(&self, settled: Vec<Settled>) {
        for settled in settled {
            match settled {
                Settled::Done(batch, fate) => batch.settle(fate),
                Settled::Fatal(batch, error) => {
                    batch.settle(Err(error.clone()));
                    self.end(error);
                }
            }
        }
    }

    /// Ends the producer.
    pub(crate) fn end(&self, error: ProduceError) {
        let (batches, unrouted) = {
            let mut state = self.lock();
            (state.accumulator.end(error.clone()), state.accumulator.take_unrouted())
        };
        self.memory.close();
        for (batch, error) in batches {
            batch.settle(Err(error));
        }
        for pending in unrouted {
            pending.refuse(error.clone());
        }
    }

    /// Why the producer has ended, if it has.
    pub(super) fn ended(&self) -> Option<ProduceError> {
        self.lock().accumulator.ended().cloned()
    }

    /// Gives up what has waited too long.
    pub(super) fn expire(&self) {
        let expired = self.lock().accumulator.expire(Instant::now());
        self.settle(expired.batches);
        for (pending, error) in expired.records {
            pending.refuse(error);
        }
        self.sweep();
        for connection in expired.brokers.into_iter().filter_map(|node| self.pool.established(node)) {
            connection.close();
        }
    }

    /// Takes in the present view of the cluster.
    pub(super) fn learn(&self) {
        let cluster = self.client.metadata.cluster();
        let refused = self.lock().accumulator.learn(&cluster);
        for (pending, error) in refused {
            pending.refuse(error);
        }
        self.sweep();
    }

    /// Gives the producer an id.
    pub(super) fn set_identity(&self, identity: super::partition::Identity) {
        self.lock().accumulator.set_identity(identity);
    }

    /// Waits until every record queued before is settled.
    pub(super) async fn flush(self: &Arc<Self>) {
        let groups = {
            let mut state = self.lock();
            state.groups.retain(|group| !group.is_empty());
            for group in &state.groups {
                group.close();
            }
            let groups = state.groups.clone();
            state.groups.push(TaskTracker::new());
            state.accumulator.begin_flush();
            groups
        };
        let _flushing = Hurry(self.clone());
        self.drive();
        for group in groups {
            group.wait().await;
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it is held nothing lingers.
pub(crate) struct Hurry(pub(super) Arc<Dispatch>);

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.lock().accumulator.end_flush();
    }
}

impl std::fmt::Debug for Dispatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Dispatch").field("acks", &self.acks).finish_non_exhaustive()
    }
}
