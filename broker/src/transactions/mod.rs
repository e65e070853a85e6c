//! Transactions: which producer may write under a transactional id, what belongs to its transaction, and how that ends
//! (KIP-98, KIP-360, KIP-890).
//!
//! ```text
//! handlers ──event──► hosting ──event, now──► shard ──► transaction      pure: no clock, no I/O, no tasks
//!    ▲                 │  ▲ ▲                   │
//!    └──── answer ─────┘  │ └─ durable ── log ◄─┼─ records
//!                         └─ written ─ markers ◄┘  into the partitions of the transaction
//! ```
//! A transactional id lives in one partition of `__transaction_state`; the ids of a partition are a shard. Once a
//! decision is durable there, markers are written into every partition of the transaction; a start after a crash
//! writes again those that may be missing.

pub(crate) mod action;
pub(crate) mod coordinator;
pub(crate) mod event;
pub(crate) mod limits;
pub(crate) mod record_codec;
pub(crate) mod shard;
pub(crate) mod state;
mod transaction;

#[cfg(test)]
mod tests;
