//! The states of a transactional id, with Kafka's names and numbers.

/// How a transactional id stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionState {
    /// Its producer has begun no transaction.
    Empty,
    /// A transaction is open.
    Ongoing,
    /// It is to be committed: markers are being written.
    PrepareCommit,
    /// It is to be aborted: markers are being written.
    PrepareAbort,
    /// It was committed.
    CompleteCommit,
    /// It was aborted.
    CompleteAbort,
    /// The id is being forgotten. Only logs of other brokers say so.
    Dead,
    /// The producer is being fenced, before the abort. Only logs of other brokers say so.
    PrepareEpochFence,
}

use TransactionState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit, PrepareEpochFence,
};

/// In the order of their numbers.
const STATES: [TransactionState; 8] =
    [Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead, PrepareEpochFence];

impl TransactionState {
    /// Its number in records.
    pub(crate) fn number(self) -> i8 {
        self as i8
    }

    /// The state of a number.
    pub(crate) fn of_number(number: i8) -> Option<Self> {
        STATES.get(usize::try_from(number).ok()?).copied()
    }

    /// Its name in answers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Empty => "Empty",
            Ongoing => "Ongoing",
            PrepareCommit => "PrepareCommit",
            PrepareAbort => "PrepareAbort",
            CompleteCommit => "CompleteCommit",
            CompleteAbort => "CompleteAbort",
            Dead => "Dead",
            PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// The state of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        STATES.into_iter().find(|state| state.name() == name)
    }

    /// Whether the transaction's fate is decided, and markers may be missing.
    pub(crate) fn is_prepared(self) -> bool {
        matches!(self, PrepareCommit | PrepareAbort)
    }

    /// Whether no transaction is open or ending.
    pub(crate) fn is_idle(self) -> bool {
        matches!(self, Empty | CompleteCommit | CompleteAbort)
    }
}
