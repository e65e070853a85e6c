//! The crate on a real Postgres, from a service's point of view.

#![allow(clippy::unwrap_used)]

mod inbox;
mod outbox;
mod service;
#[cfg(feature = "sqlx")]
mod sqlx;
mod tracing;
