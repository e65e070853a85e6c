//! The console as browsers and scrapers meet it: over HTTP, looking at a real broker.

#![allow(clippy::unwrap_used)]

mod api;
mod boundaries;
mod deploy;
mod metrics;
mod scene;
