//! The messages of Postgres' `pgoutput` plugin, protocol version 1, decoded from bytes: no I/O, no clock.
//!
//! Between the replication session (which hands over each CopyData payload) and the router (which sees rows).
//! Format: PostgreSQL documentation, "Logical Replication Message Formats". Invariant: bytes from outside never
//! panic, never choose an allocation's size, and a message is taken only when all of its bytes are accounted for.

mod decode;
mod message;

#[cfg(test)]
mod tests;

pub(crate) use decode::unix_micros;
pub use decode::{DecodeError, decode};
pub use message::{Cell, Column, Message, Operation, Relation};
