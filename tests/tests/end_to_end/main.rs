//! The whole of pillion on real parts: its programs, a real Postgres, real Kafka clients, real OTLP.

#![allow(clippy::unwrap_used)]

mod clients;
mod command_line;
mod consumed;
mod demo;
mod kills;
mod looking_after;
mod outbox_examples;
mod saga;
mod several_connectors;
mod shop;
mod sidecar;
mod trace;
mod transactions;
