//! What a running pillion shows of itself over HTTP: `/metrics`, `/healthz`, `/readyz`, and a page with its JSON API.
//!
//! ```text
//! browser, Prometheus, kubelet ─ server ─ guard ─┬─ health ──┐
//!                                                ├─ metrics ─┼─ watched: the broker's and connectors' own numbers
//!                                                ├─ api ─────┤
//!                                                └─ assets   └─ client: topics, records and groups of any cluster
//! ```
//! Invariants: it never holds up what it watches; every answer, list and wait has a bound; nothing is changed unless
//! `ui.allow.writes` says so, and then only by a page of its own.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod api;
mod assets;
mod config;
mod exposition;
mod guard;
mod health;
mod history;
mod metrics;
mod process;
mod server;
mod watched;

pub use config::{ConsoleConfig, ConsoleConfigError};
pub use server::{Console, ConsoleError};
pub use watched::{Cluster, Watched, WatchedConnector};
