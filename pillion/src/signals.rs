//! SIGTERM and SIGINT ask for an end in order; a second one ends at once.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a shell reports for a program ended by SIGINT.
const EXIT_CODE_INTERRUPTED: i32 = 130;

/// Returns a token that the first SIGTERM or SIGINT cancels. The second ends the process without ceremony: children
/// are then stopped by their guards, and what the broker acknowledged is on disk already.
pub(crate) fn stop_on_signal() -> Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping; once more ends at once");
        told.cancel();
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        std::process::exit(EXIT_CODE_INTERRUPTED);
    });
    Ok(stop)
}
