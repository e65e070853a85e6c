//! `/metrics`: everything that is counted, in Prometheus' text format.
//!
//! Names begin with `pillion_`, but for the process's own, which Prometheus names. Sums over a broker's whole are
//! metrics of their own, so that a topic or group beyond the bound on series is missing only where it has a name.

mod broker;
mod connectors;
mod groups;
mod process;
mod topics;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use pillion_broker::SnapshotLimits;

use crate::exposition::{Exposition, Kind};
use crate::watched::Watched;

pub(crate) use connectors::state_name;

/// How many topics and groups have series of their own.
const LIMITS: SnapshotLimits = SnapshotLimits { topics: 1_000, groups: 500, topics_of_group: 100 };

/// Answers `/metrics`.
pub(crate) async fn serve(State(watched): State<Watched>) -> Response {
    // Ten thousand partitions are ten thousand locks: not on a thread that serves connections.
    match tokio::task::spawn_blocking(move || scrape(&watched)).await {
        Ok(text) => ([(CONTENT_TYPE, Exposition::CONTENT_TYPE)], text).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the numbers could not be gathered\n").into_response(),
    }
}

fn scrape(watched: &Watched) -> String {
    let mut exposition = Exposition::default();
    let version = env!("CARGO_PKG_VERSION");
    exposition
        .family(Kind::Gauge, "pillion_build_info", "Always 1; the version is its label.")
        .series(&[("version", version)], 1);
    let ready = u8::from(crate::health::readiness(watched, None).ready);
    exposition.gauge("pillion_ready", "1 while everything that was started serves, as /readyz says.", ready);
    if let Some(seen) = watched.broker().and_then(|broker| broker.snapshot(LIMITS)) {
        broker::write(&mut exposition, &seen);
        topics::write(&mut exposition, &seen);
        groups::write(&mut exposition, &seen);
    }
    connectors::write(&mut exposition, &watched.connectors());
    process::write(&mut exposition);
    exposition.finish()
}
