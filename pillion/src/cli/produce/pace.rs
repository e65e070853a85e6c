//! So many records a second at most.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// When the next record may leave. One that is late is not made up for by a burst.
pub(super) struct Pace {
    step: Duration,
    next: Instant,
}

impl Pace {
    /// So many a second, 1 at least.
    pub(super) fn new(per_second: u32) -> Self {
        Self { step: Duration::from_secs(1) / per_second.max(1), next: Instant::now() }
    }

    /// Waits for the next record's turn.
    pub(super) async fn wait(&mut self) {
        let now = Instant::now();
        // A timer is no finer than a millisecond: what falls into one leaves together.
        if self.next > now + Duration::from_millis(1) {
            sleep_until(self.next).await;
        }
        self.next = self.next.max(now) + self.step;
    }
}
