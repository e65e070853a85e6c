//! Waiting between attempts: a delay that doubles, with jitter, and one line of log however long it takes.

use std::time::Duration;

use futures_util::FutureExt;
use rand::Rng;
use tokio::time::Instant;

/// The first delay; a server that is merely restarting is back within a few of them.
const DELAY_MIN: Duration = Duration::from_millis(50);
/// The longest: streaming goes on within about a second of the server's return, and a server under siege hears from
/// each connector at most once a second.
const DELAY_MAX: Duration = Duration::from_secs(1);

/// A failure this long after the one before is a new story, and the delays start over.
const QUIET: Duration = Duration::from_secs(10);

/// Attempts at one thing.
pub(super) struct Waiting {
    what: &'static str,
    delay: Duration,
    failed_at: Option<Instant>,
    said: Option<String>,
}

impl Waiting {
    /// `what` names the peer, for the log.
    pub(super) fn new(what: &'static str) -> Waiting {
        Waiting { what, delay: DELAY_MIN, failed_at: None, said: None }
    }

    /// An attempt failed: says so unless it said just that before, and returns how long to wait.
    pub(super) fn failed(&mut self, reason: String) -> Duration {
        if self.said.as_ref() == Some(&reason) {
            tracing::debug!(reason, "still waiting for {}", self.what);
        } else {
            tracing::warn!(reason, "waiting for {}", self.what);
            self.said = Some(reason);
        }
        let now = Instant::now();
        if self.failed_at.replace(now).is_some_and(|before| now.duration_since(before) > self.delay + QUIET) {
            self.delay = DELAY_MIN;
        }
        let delay = self.delay;
        self.delay = (delay * 2).min(DELAY_MAX);
        delay.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// Waits for what the peer has to do, and says so if it takes longer than `silence`.
    pub(super) async fn patiently<F: Future>(&mut self, silence: Duration, doing: F) -> F::Output {
        let mut doing = std::pin::pin!(doing);
        if let Some(done) = doing.as_mut().now_or_never() {
            return done;
        }
        if let Ok(done) = tokio::time::timeout(silence, doing.as_mut()).await {
            return done;
        }
        if !self.has_said() {
            self.failed(format!("it has not answered for {} s", silence.as_secs()));
        }
        doing.await
    }

    /// Whether the log knows that it is being waited for.
    pub(super) fn has_said(&self) -> bool {
        self.said.is_some()
    }

    /// It works again. The delays start over only when it stays so: a peer that comes and goes is no reason to
    /// hurry.
    pub(super) fn recovered(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("{} is back", self.what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_double_up_to_the_longest_and_start_over_after_quiet() {
        let mut waiting = Waiting::new("a peer");
        let mut nominal = DELAY_MIN;
        for _ in 0..10 {
            let delay = waiting.failed("down".to_owned());
            assert!(delay <= nominal && delay >= nominal / 2, "{delay:?} of {nominal:?}");
            nominal = (nominal * 2).min(DELAY_MAX);
            waiting.recovered();
        }
        tokio::time::advance(QUIET * 2).await;
        assert!(waiting.failed("down".to_owned()) <= DELAY_MIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_long_is_said_once_and_waited_for() {
        let mut waiting = Waiting::new("the broker");
        assert_eq!(waiting.patiently(Duration::from_secs(5), async { 1 }).await, 1);
        assert!(!waiting.has_said());
        let soon = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            2
        };
        assert_eq!(waiting.patiently(Duration::from_secs(5), soon).await, 2);
        assert!(!waiting.has_said());
        let late = async {
            tokio::time::sleep(Duration::from_secs(6)).await;
            3
        };
        assert_eq!(waiting.patiently(Duration::from_secs(5), late).await, 3);
        assert!(waiting.has_said());
    }
}
