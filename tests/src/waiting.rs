//! Waiting for conditions.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};

/// Bound of every wait: far beyond what anything takes, so that a slow machine fails no test.
pub const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// Asks again and again until `condition` has an answer.
///
/// # Errors
/// After [`PATIENCE`], naming `what` was waited for.
pub async fn wait_for<T, F: Future<Output = Result<Option<T>>>>(
    what: &str,
    mut condition: impl FnMut() -> F,
) -> Result<T> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = condition().await? {
            return Ok(answer);
        }
        if tokio::time::Instant::now() > deadline {
            bail!("waited {PATIENCE:?} in vain for {what}");
        }
        tokio::time::sleep(POLL).await;
    }
}
