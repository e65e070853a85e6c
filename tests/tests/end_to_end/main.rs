//! The whole of pillion on real parts: its programs, a real Postgres, real Kafka clients, real OTLP.

#![allow(clippy::unwrap_used)]

mod broker_spans;
mod clients;
mod command_line;
mod command_line_groups;
mod command_line_running;
mod console;
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
