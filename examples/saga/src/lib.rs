//! What the three services of the saga share, one small file per concern, each meant to be copied into a service.
//!
//! The way of one event: a handler opens a transaction ([`database`]), changes its own tables and writes the event
//! beside them ([`outbox`]) together with the trace it belongs to ([`trace_context`]). A connector publishes the row to
//! a Kafka topic. The next service reads it ([`messaging`]), makes sure it has not seen it before ([`inbox`]), reacts
//! in one transaction of its own, and so on until the saga ends.
//!
//! Invariant: state, inbox and outbox of a service change in one database transaction or not at all; nothing here ever
//! publishes a record.

pub mod database;
pub mod events;
pub mod http;
pub mod inbox;
pub mod log_format;
pub mod messaging;
pub mod outbox;
pub mod settings;
pub mod telemetry;
pub mod topics;
pub mod trace_context;
pub mod traced;
