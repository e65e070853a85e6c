//! Transactions: records and a group's offsets that become visible together, or not at all (KIP-98, KIP-890).
//!
//! ```text
//! TransactionalProducer ─ begin → Transaction ─ send → the producer's accumulator, behind its gate
//!                                      │ commit, abort
//!                                      ▼
//!                         Driver (one task) ⇄ Machine (pure) : which request when
//!                                      │
//!                         Calls → transaction coordinator, group coordinator
//! ```
//!
//! The next transaction may be begun and filled while the one before is committed: its records are batched and wait
//! behind the gate, and leave as soon as the coordinator has answered.
//!
//! **Invariant:** transactions are committed in the order they were begun, and none behind one that failed unless the
//! caller was told of the failure before beginning it.

mod calls;
mod config;
mod driver;
mod error;
mod machine;
mod requests;
mod shared;
mod verdict;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::task::TaskTracker;

pub use config::TransactionalConfig;
pub use error::{AbortCause, TransactionError, TransactionErrorClass};

use calls::{CallError, Calls};
use driver::{Command, Driver, Told};
use machine::End;
use requests::GroupOffsets;
use shared::{Commands, Filling, Shared};

use crate::client::ClientShared;
use crate::committed::{CommittedOffset, GroupMetadata};
use crate::producer::{Acks, DeliveryHandle, Dispatch, ProduceError, Producer, ProducerRecord};

/// Transactions begun and not ended, at most.
const IN_FLIGHT_MAX: usize = 16;

/// A producer of transactions. When it is dropped, what was ended is carried out still, and the rest aborted.
pub struct TransactionalProducer {
    producer: Producer,
    shared: Arc<Shared>,
    commands: Commands,
}

impl TransactionalProducer {
    /// Takes the transactional id over: fences the producer before, and has ended what that left open.
    pub(crate) async fn start(
        client: Arc<ClientShared>,
        config: TransactionalConfig,
    ) -> Result<Self, TransactionError> {
        let transactional_id = config.transactional_id;
        let producer_config = crate::ProducerConfig { acks: Acks::All, ..config.producer };
        let producer = Producer::start(client.clone(), producer_config, Some(transactional_id.clone()));
        let calls = Arc::new(Calls {
            client: client.clone(),
            dispatch: producer.dispatch().clone(),
            transactional_id: transactional_id.clone(),
            transaction_timeout_ms: i32::try_from(config.transaction_timeout.as_millis()).unwrap_or(i32::MAX),
            max_block: config.max_block,
        });
        let initialized = calls.initialize(None).await.map_err(|error| match error {
            CallError::Unreachable { waited, source, .. } => {
                TransactionError::TimedOut { transactional_id: transactional_id.clone(), waited, source }
            }
            error => calls.fatal(error),
        })?;
        let turns = config.max_in_flight_transactions.clamp(1, IN_FLIGHT_MAX);
        let shared = Arc::new(Shared::new(transactional_id, turns));
        let (commands, receiver) = mpsc::unbounded_channel();
        let driver = Driver::new(calls, shared.clone(), producer.clone(), initialized, receiver);
        client.connector.tasks.spawn(driver.run());
        Ok(Self { producer, shared, commands })
    }

    /// Begins a transaction, also while earlier ones are being committed; waits while as many are under way as the
    /// configuration allows.
    ///
    /// # Errors
    /// [`TransactionError::AlreadyOpen`] while another one is filled; [`TransactionError::Aborted`], once, when an
    /// earlier one failed and nobody was told yet; what the producer has ended with.
    pub async fn begin(&self) -> Result<Transaction, TransactionError> {
        if let Some(ended) = self.shared.ended() {
            return Err(ended);
        }
        let transactional_id = || self.shared.transactional_id.clone();
        let filling = Filling::begin(&self.shared)
            .ok_or_else(|| TransactionError::AlreadyOpen { transactional_id: transactional_id() })?;
        let turn = self.shared.turns.clone().acquire_owned().await;
        let turn = turn.map_err(|_| self.shared.ended().unwrap_or(TransactionError::Closed))?;
        let begun = self.producer.dispatch().begin_transaction();
        let number =
            begun.map_err(|source| TransactionError::Aborted { transactional_id: transactional_id(), source })?;
        let group = TaskTracker::new();
        let _ = self.commands.send(Command::Begun { number, group: group.clone() });
        Ok(Transaction {
            number,
            group,
            producer: self.producer.clone(),
            commands: self.commands.clone(),
            offsets: Vec::new(),
            open: Some((filling, turn)),
        })
    }

    /// The name the producer keeps across restarts.
    #[must_use]
    pub fn transactional_id(&self) -> &str {
        &self.shared.transactional_id
    }
}

impl std::fmt::Debug for TransactionalProducer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = &self.shared.transactional_id;
        formatter.debug_struct("TransactionalProducer").field("transactional_id", id).finish_non_exhaustive()
    }
}

/// A transaction that is being filled. Dropped, it is aborted.
#[must_use = "a transaction that is not committed is aborted"]
pub struct Transaction {
    number: u64,
    group: TaskTracker,
    producer: Producer,
    commands: Commands,
    offsets: Vec<GroupOffsets>,
    /// Taken when it is ended.
    open: Option<(Filling, OwnedSemaphorePermit)>,
}

impl Transaction {
    /// Queues a record, as [`Producer::send`]. It goes out once the transaction before is ended.
    ///
    /// # Errors
    /// As [`Producer::send`]. A record that fails, here or later, dooms the transaction: it cannot be committed any
    /// more, and [`Transaction::commit`] tells why.
    pub async fn send(&self, record: ProducerRecord) -> Result<DeliveryHandle, ProduceError> {
        self.producer.send_in(self.number, &self.group, record).await
    }

    /// Queues many records in order, at less cost each than [`Transaction::send`] has: only the transaction's outcome
    /// tells their fate.
    ///
    /// # Errors
    /// As [`Transaction::send`], for the first that fails; those before it may be queued.
    pub async fn send_all(&self, records: Vec<ProducerRecord>) -> Result<(), ProduceError> {
        self.producer.send_all_in(self.number, &self.group, records).await
    }

    /// Has offsets committed for a consumer group with the transaction: of a partition given twice the last one.
    /// [`Transaction::commit`] tells when that fails, such as for a member that is no longer of the group.
    pub fn send_offsets(&mut self, offsets: Vec<CommittedOffset>, group: &GroupMetadata) {
        requests::merge(&mut self.offsets, group, offsets);
    }

    /// Commits: waits for every record, then makes them and the offsets visible. The next transaction may be begun at
    /// once; the outcome is what the handle resolves to, and dropping that changes nothing.
    pub fn commit(mut self) -> TransactionOutcome {
        self.close(End::Commit)
    }

    /// Aborts: what is not sent yet never will be, and the rest is passed over by readers of committed records.
    pub fn abort(mut self) -> TransactionOutcome {
        self.close(End::Abort)
    }

    fn close(&mut self, end: End) -> TransactionOutcome {
        let (outcome, told) = oneshot::channel();
        let dispatch = self.producer.dispatch();
        if let Some((_filling, turn)) = self.open.take() {
            if end == End::Abort {
                dispatch.drop_transaction(self.number);
            }
            let told = Told { outcome, _turn: turn };
            let offsets = std::mem::take(&mut self.offsets);
            let _ = self.commands.send(Command::Closed { number: self.number, end, offsets, told });
        }
        TransactionOutcome { told, dispatch: dispatch.clone() }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.open.is_some() {
            drop(self.close(End::Abort));
        }
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Transaction").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Resolves once a transaction is ended: `Ok` when it was committed, or aborted as asked.
///
/// [`TransactionError::Aborted`] when it could not be committed, and was aborted instead; other errors end the
/// producer.
#[must_use = "whether a transaction was committed is told nowhere else"]
pub struct TransactionOutcome {
    told: oneshot::Receiver<Result<(), TransactionError>>,
    dispatch: Arc<Dispatch>,
}

impl Future for TransactionOutcome {
    type Output = Result<(), TransactionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let told = std::task::ready!(Pin::new(&mut self.told).poll(context));
        let outcome = told.unwrap_or(Err(TransactionError::Closed));
        if outcome.is_err() {
            self.dispatch.note_seen();
        }
        Poll::Ready(outcome)
    }
}

impl std::fmt::Debug for TransactionOutcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TransactionOutcome").finish_non_exhaustive()
    }
}
