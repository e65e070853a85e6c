//! What a command needs around it: telemetry and an event loop.

use anyhow::{Context, Result};
use pillion_trace_context::telemetry::{LogFormat, TelemetrySettings, init_with};
use tokio::runtime::{Builder, Runtime};

use crate::reloading::log_level;

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
    run_adjusted(kind, None, |_| {}, work)
}

/// As [`run`], with the log level of a configuration; the environment's comes before it.
pub(super) fn run_at(kind: Kind, level: Option<&str>, work: impl Future<Output = Result<()>>) -> Result<()> {
    run_adjusted(kind, level, |_| {}, work)
}

/// As [`run_at`], with telemetry as `adjust` leaves it.
pub(super) fn run_adjusted(
    kind: Kind,
    level: Option<&str>,
    adjust: impl FnOnce(&mut TelemetrySettings),
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let mut settings = TelemetrySettings::from_environment("pillion", env!("CARGO_PKG_VERSION"))?;
    if !log_level::is_in_environment() {
        settings.log_filter = log_level::filter(level.unwrap_or(if kind == Kind::Service { "info" } else { "warn" }));
    }
    if kind != Kind::Service {
        settings.log_format = settings.log_format.or(Some(LogFormat::Human));
    }
    if kind == Kind::Tool {
        (settings.export, settings.metrics) = (None, None);
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
