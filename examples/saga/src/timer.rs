//! Work that time asks for instead of an event: one look after another, none while the one before is still going on.

use std::time::Duration;

use anyhow::Result;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Calls `look` every `period` until `stop`. An error is logged once, until a look succeeds again: the database is away
/// as a rule. The look makes its own spans, and none when it finds nothing.
pub async fn every(period: Duration, stop: CancellationToken, name: &str, look: impl AsyncFn() -> Result<()>) {
    let mut has_warned = false;
    let looking = async {
        loop {
            tokio::time::sleep(period).await;
            match look().await {
                Ok(()) => has_warned = false,
                Err(error) if !has_warned => {
                    warn!("{name}: {error:#}");
                    has_warned = true;
                }
                Err(_) => (),
            }
        }
    };
    stop.run_until_cancelled(looking).await.unwrap_or(());
}
