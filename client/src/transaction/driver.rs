//! The task that carries a transactional producer's transactions out: it feeds the machine what happens and does what
//! the machine says, one request to a coordinator at a time, while records go their own way.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::calls::{CallError, Calls};
use super::error::{AbortCause, TransactionError};
use super::machine::{Action, Conclusion, End, Event, Failure, Machine, Protocol, Request};
use super::requests::GroupOffsets;
use super::shared::Shared;
use super::verdict::{Verdict, judge_record};
use crate::producer::{Doomed, Identity, ProduceError, Producer, Unenlisted};

/// What callers tell the task.
pub(super) enum Command {
    /// A transaction was begun; the group holds its records.
    Begun { number: u64, group: TaskTracker },
    /// A transaction was ended.
    Closed { number: u64, end: End, offsets: Vec<GroupOffsets>, told: Told },
}

/// Who is told of a transaction's outcome.
pub(super) struct Told {
    pub(super) outcome: oneshot::Sender<Result<(), TransactionError>>,
    /// Makes room for another transaction.
    pub(super) _turn: OwnedSemaphorePermit,
}

/// What came of a request.
struct Answer {
    protocol: Protocol,
    identity: Identity,
    enlisted: Option<Unenlisted>,
}

/// What the task has waited for.
enum Happened {
    /// Callers or records have something to tell.
    Changed,
    Settled(u64),
    Answered(Result<Answer, Failure>),
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// Carries transactions out.
pub(super) struct Driver {
    calls: Arc<Calls>,
    shared: Arc<Shared>,
    /// Keeps the producer alive until the last transaction is ended.
    producer: Producer,
    machine: Machine,
    identity: Identity,
    protocol: Protocol,
    commands: mpsc::UnboundedReceiver<Command>,
    groups: HashMap<u64, TaskTracker>,
    offsets: HashMap<u64, Vec<GroupOffsets>>,
    told: HashMap<u64, Told>,
    asking: Pending<Result<Answer, Failure>>,
    settling: Pending<u64>,
}

impl Driver {
    /// A task for a producer that has been given its identity; its first transaction may begin.
    pub(super) fn new(
        calls: Arc<Calls>,
        shared: Arc<Shared>,
        producer: Producer,
        (identity, protocol): (Identity, Protocol),
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        producer.dispatch().release(1, identity, protocol == Protocol::V1);
        Self {
            calls,
            shared,
            producer,
            machine: Machine::new(protocol),
            identity,
            protocol,
            commands,
            groups: HashMap::new(),
            offsets: HashMap::new(),
            told: HashMap::new(),
            asking: None,
            settling: None,
        }
    }

    /// Serves until every handle is dropped and what they ended is done, or the client is shut down.
    pub(super) async fn run(mut self) {
        let cancelled = self.calls.client.connector.cancelled.clone();
        let dispatch = self.producer.dispatch().clone();
        let mut open = true;
        while open || !self.machine.is_idle() {
            let happened = tokio::select! {
                () = cancelled.cancelled() => break,
                command = self.commands.recv(), if open => match command {
                    Some(command) => {
                        self.take(command);
                        Happened::Changed
                    }
                    None => {
                        open = false;
                        continue;
                    }
                },
                () = dispatch.transactions_changed() => Happened::Changed,
                number = ready(&mut self.settling) => Happened::Settled(number),
                answer = ready(&mut self.asking) => Happened::Answered(answer),
            };
            while let Ok(command) = self.commands.try_recv() {
                self.take(command);
            }
            // A record's failure is noted before it is settled. Were it told behind that here, a transaction could be
            // committed without the record.
            self.take_dooms();
            match happened {
                Happened::Changed => self.want_partitions(),
                Happened::Settled(number) => {
                    self.settling = None;
                    self.feed(Event::Settled { sent: dispatch.has_sent(number) });
                }
                Happened::Answered(answer) => {
                    self.asking = None;
                    self.answered(answer);
                }
            }
            // What the machine doomed itself.
            self.take_dooms();
        }
        for (_, told) in self.told.drain() {
            let _ = told.outcome.send(Err(TransactionError::Closed));
        }
        self.shared.end(TransactionError::Closed);
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Begun { number, group } => drop(self.groups.insert(number, group)),
            Command::Closed { number, end, offsets, told } => {
                self.told.insert(number, told);
                let has_offsets = !offsets.is_empty();
                self.offsets.insert(number, offsets);
                self.feed(Event::Closed { number, end, offsets: has_offsets });
            }
        }
    }

    /// Feeds the machine what the records' side has doomed.
    fn take_dooms(&mut self) {
        for Doomed { from, to, cause } in self.producer.dispatch().doomed() {
            let event = match self.beyond_abort(&cause) {
                Some(error) => Event::Broken(error),
                None => Event::Doomed { from, to, cause },
            };
            self.feed(event);
        }
    }

    fn want_partitions(&mut self) {
        if self.protocol == Protocol::V1 && !self.producer.dispatch().unenlisted().partitions.is_empty() {
            self.feed(Event::PartitionsWanted);
        }
    }

    /// The error of a record's failure that the producer cannot go on behind.
    fn beyond_abort(&self, cause: &AbortCause) -> Option<TransactionError> {
        let AbortCause::Record(error) = cause else { return None };
        match (judge_record(error.error_code()), error.error_code()) {
            (Verdict::Abortable, _) | (_, None) => None,
            (verdict, Some(code)) => Some(self.calls.refusal("Produce", code, verdict)),
        }
    }

    fn answered(&mut self, answer: Result<Answer, Failure>) {
        match answer {
            Ok(answer) => {
                self.identity = answer.identity;
                if let Some(enlisted) = answer.enlisted {
                    self.producer.dispatch().enlist(&enlisted);
                }
                self.feed(Event::Answered { protocol: answer.protocol });
            }
            Err(failure) => self.feed(Event::Failed(failure)),
        }
    }

    /// Feeds the machine and does what it says.
    fn feed(&mut self, event: Event) {
        for action in self.machine.on(event) {
            match action {
                Action::Request { number, request } => self.ask(number, request),
                Action::Settle(number) => self.settle(number),
                // What is doomed with it is told with the next look around.
                Action::Doom { number, cause } => self.producer.dispatch().fail(number, cause),
                Action::Release { number, protocol } => {
                    self.protocol = protocol;
                    self.offsets.retain(|known, _| *known >= number);
                    self.groups.retain(|known, _| *known >= number);
                    self.producer.dispatch().release(number, self.identity, protocol == Protocol::V1);
                }
                Action::Conclude { number, outcome } => self.conclude(number, outcome),
                Action::Stop(error) => {
                    tracing::debug!(error = &error as &dyn std::error::Error, "transactional producer cannot go on");
                    let source = Arc::new(AbortCause::Producer(Box::new(error.clone())));
                    self.shared.end(error);
                    self.producer.dispatch().end(ProduceError::TransactionAborted { source });
                }
            }
        }
    }

    fn conclude(&mut self, number: u64, outcome: Result<(), Conclusion>) {
        let outcome = outcome.map_err(|conclusion| match conclusion {
            Conclusion::Failed(error) => error,
            Conclusion::Aborted(source) => {
                TransactionError::Aborted { transactional_id: self.calls.transactional_id.clone(), source }
            }
        });
        if let Some(told) = self.told.remove(&number) {
            // An outcome nobody waits for is one all the same.
            let _ = told.outcome.send(outcome);
        }
    }

    /// Has it told when every record of a transaction is settled.
    fn settle(&mut self, number: u64) {
        let group = self.groups.remove(&number).unwrap_or_default();
        group.close();
        let hurry = self.producer.dispatch().hurry();
        self.settling = Some(Box::pin(async move {
            let _hurry = hurry;
            group.wait().await;
            number
        }));
    }

    fn ask(&mut self, number: u64, request: Request) {
        let (calls, identity, protocol) = (self.calls.clone(), self.identity, self.protocol);
        let wanted = match request {
            Request::Enlist => Some(self.producer.dispatch().unenlisted()),
            _ => None,
        };
        let offsets = match request {
            Request::CommitOffsets => self.offsets.get(&number).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        self.asking = Some(Box::pin(async move {
            let (identity, protocol) = match request {
                Request::Enlist => {
                    let partitions = wanted.as_ref().map_or(&[][..], |wanted| &wanted.partitions);
                    calls.add_partitions(identity, partitions).await.map_err(|error| calls.failure(error))?;
                    (identity, protocol)
                }
                Request::CommitOffsets => {
                    for offsets in &offsets {
                        let committed = calls.commit_offsets(identity, protocol, offsets).await;
                        committed.map_err(|error| calls.failure(error))?;
                    }
                    (identity, protocol)
                }
                Request::End(end) => {
                    let ended = calls.end(identity, protocol, end).await;
                    ended.map_err(|error| of_ending(&calls, error))?
                }
                Request::Renew => {
                    let renewed = calls.initialize(Some(identity)).await;
                    renewed.map_err(|error| Failure::Fatal(calls.fatal(error)))?
                }
            };
            Ok(Answer { protocol, identity, enlisted: wanted })
        }));
    }
}

/// Without an answer to EndTxn nothing is known of the transaction.
fn of_ending(calls: &Calls, error: CallError) -> Failure {
    match error {
        CallError::Unreachable { .. } => Failure::Fatal(calls.fatal(error)),
        error => calls.failure(error),
    }
}

/// What is under way, when it is done; never when nothing is.
async fn ready<T>(under_way: &mut Pending<T>) -> T {
    match under_way {
        Some(future) => future.await,
        None => pending().await,
    }
}
