//! What a command needs around it: telemetry and an event loop.

use anyhow::{Context, Result};
use pillion_trace_context::telemetry::{LogFormat, TelemetrySettings, init_with};
use tokio::runtime::{Builder, Runtime};

/// Fewest and most worker threads. One worker would let a slow disk or a long answer stop every other connection; more
/// than four do not pay on a machine that runs a sidecar's neighbours too.
const WORKERS: std::ops::RangeInclusive<usize> = 2..=4;

/// What kind of program a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs on: logs from level `info`, spans by OTLP where the environment says.
    Service,
    /// Talks to a person, and runs on: logs from level `warn`, for people; spans likewise.
    Conversation,
    /// Answers and ends: logs from level `warn`, for people; no spans.
    Tool,
}

/// Sets up telemetry and an event loop, and runs `work` to its end.
pub(super) fn run(kind: Kind, work: impl Future<Output = Result<()>>) -> Result<()> {
    run_adjusted(kind, |_| {}, work)
}

/// As [`run`], with telemetry as `adjust` leaves it.
pub(super) fn run_adjusted(
    kind: Kind,
    adjust: impl FnOnce(&mut TelemetrySettings),
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let mut settings = TelemetrySettings::from_environment("pillion", env!("CARGO_PKG_VERSION"))?;
    let is_level_given = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    if !is_level_given("PILLION_LOG") && !is_level_given("RUST_LOG") {
        let level = if kind == Kind::Service { "info" } else { "warn" };
        // The replication library logs each lost connection as an error; the connector says it, once.
        settings.log_filter = format!("{level},pgwire_replication=off");
    }
    if kind != Kind::Service {
        settings.log_format = settings.log_format.or(Some(LogFormat::Human));
    }
    if kind == Kind::Tool {
        settings.export = None;
    }
    adjust(&mut settings);
    // Kept until everything has ended, so that the last spans leave.
    let _telemetry = init_with(&settings)?;
    event_loop()?.block_on(work)
}

fn event_loop() -> Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(*WORKERS.start(), usize::from);
    let workers = cores.clamp(*WORKERS.start(), *WORKERS.end());
    Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("pillion-worker")
        .enable_all()
        .build()
        .context("cannot start the worker threads")
}
