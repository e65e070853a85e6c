//! Consumer groups: membership, assignments and committed offsets under the classic protocol.
//!
//! ```text
//! handlers ──event──► hosting ──event, now──► shard ──► group        pure: no clock, no I/O, no tasks
//!    ▲                  │  ▲                    │
//!    └────── answer ────┘  └── durable ── log ◄─┴── records
//! ```
//! A group lives in one partition of `__consumer_offsets` (`placement`); the groups of a partition are a shard, the
//! pure state machine this folder is about. `record` is what it writes, `record_codec` the bytes of that.

pub(crate) mod action;
pub(crate) mod coordinator;
pub(crate) mod description;
pub(crate) mod event;
mod group;
pub(crate) mod limits;
mod member;
mod members;
mod offsets;
mod pending_offsets;
pub(crate) mod record;
pub(crate) mod record_codec;
pub(crate) mod shard;
mod subscription;

pub(crate) use crate::hosting::moment;

#[cfg(test)]
mod tests;
