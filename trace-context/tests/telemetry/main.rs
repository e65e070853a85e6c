//! Telemetry against a collector in the test process.

#![allow(clippy::unwrap_used)]

mod collector;
mod export;
mod http;
mod metrics;
mod process;
