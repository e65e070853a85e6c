//! What the services of the saga share, one small file per concern, each meant to be copied into a service; and the
//! services themselves, a folder each.
//!
//! The way of one event: a handler opens a transaction ([`database`]), changes its own tables and writes the event
//! beside them ([`outbox`]) together with the trace it belongs to ([`trace_context`]). A connector publishes the row to
//! a Kafka topic. The next service reads it ([`messaging`]), makes sure it has not seen it before ([`inbox`]), reacts
//! in one transaction of its own, and so on until the saga ends.
//!
//! Invariant: state, inbox and outbox of a service change in one database transaction or not at all. Only a service
//! without a database publishes records itself, and then what follows from a record it has read.

pub mod database;
pub mod events;
pub mod http;
pub mod inbox;
pub mod inventory;
pub mod log_format;
pub mod loyalty;
pub mod mailer;
pub mod messaging;
pub mod order;
pub mod outbox;
pub mod payment;
pub mod settings;
pub mod telemetry;
pub mod timer;
pub mod topics;
pub mod trace_context;
pub mod traced;
