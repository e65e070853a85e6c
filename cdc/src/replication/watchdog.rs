//! Asks the server for its position every few seconds on a connection of its own.
//!
//! It notices a server that vanished without closing its connections, and it knows the server's position for the
//! lag also while nothing is sent to us. It also looks at how much log the slot holds back, and warns before the
//! server's disk is full of it, or the server gives the slot up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::checks::{self, SlotState};
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::outbox::Source;
use crate::postgres_url::PostgresUrl;

const INTERVAL: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Log held back for the slot that is worth a warning, in bytes, where the server sets no limit itself; and each time
/// it has doubled again.
const RETAINED_BYTES_WARNING: u64 = 1 << 30;

/// A task that asks, and what it learnt. Dropping it ends the task.
pub(super) struct Watchdog {
    task: JoinHandle<()>,
    seen: Arc<Seen>,
    reason: watch::Receiver<Option<String>>,
}

/// What the server said last.
#[derive(Default)]
struct Seen {
    server_lsn: AtomicU64,
    retained_bytes: AtomicU64,
}

impl Watchdog {
    /// Goes on with a connection that is there, and makes new ones to `url`.
    pub(super) fn start(url: PostgresUrl, control: Control, source: Source) -> Watchdog {
        let seen = Arc::new(Seen::default());
        let (bark, reason) = watch::channel(None);
        let task = tokio::spawn(watch_server(url, control, source, Arc::clone(&seen), bark));
        Watchdog { task, seen, reason }
    }

    /// Ready once the server no longer answers, with the reason.
    pub(super) async fn barked(&mut self) -> String {
        match self.reason.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the watchdog's task ended".to_owned(),
        }
    }

    /// The server's position as of the last answer.
    pub(super) fn server_lsn(&self) -> Lsn {
        Lsn::new(self.seen.server_lsn.load(Ordering::Relaxed))
    }

    /// Bytes of log that the server keeps for the slot, as of the last answer.
    pub(super) fn retained_bytes(&self) -> u64 {
        self.seen.retained_bytes.load(Ordering::Relaxed)
    }

    /// Ends the task and waits for its end.
    pub(super) async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch_server(
    url: PostgresUrl,
    mut control: Control,
    source: Source,
    seen: Arc<Seen>,
    bark: watch::Sender<Option<String>>,
) {
    let mut warning = RetentionWarning::default();
    loop {
        match tokio::time::timeout(ANSWER_TIMEOUT, look(&control, &source)).await {
            Ok(Ok((_, _, Some(unpublished)))) => break drop(bark.send(Some(unpublished))),
            Ok(Ok((server_lsn, state, None))) => {
                seen.server_lsn.store(server_lsn.as_u64(), Ordering::Relaxed);
                let restart = state.as_ref().and_then(|state| state.restart);
                let retained_bytes = restart.map_or(0, |restart| server_lsn.bytes_since(restart));
                seen.retained_bytes.store(retained_bytes, Ordering::Relaxed);
                let limited = state.and_then(|state| state.safe_wal_bytes);
                if let Some(reason) = warning.of(retained_bytes, limited) {
                    tracing::warn!(slot = source.slot, retained_bytes, "{reason}");
                }
            }
            // This connection alone may have been ended by an administrator: a new one decides.
            Ok(Err(_)) => match Control::connect(&url).await {
                Ok(reconnected) => control = reconnected,
                Err(error) => break drop(bark.send(Some(error.to_string()))),
            },
            Err(_) => {
                break drop(
                    bark.send(Some(format!("the server did not answer within {} s", ANSWER_TIMEOUT.as_secs()))),
                );
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The server's position, the slot, and what the publication leaves out by now: rows of a table taken out of it, or of a
/// publication that is gone (from PostgreSQL 18 on), are missing in the stream without a word.
async fn look(control: &Control, source: &Source) -> Result<(Lsn, Option<SlotState>, Option<String>), ControlError> {
    let server_lsn = control.server_lsn().await?;
    let state = checks::slot_state(control, &source.slot).await?;
    let mut failures = Vec::new();
    checks::published(control.client(), source, &mut failures).await?;
    Ok((server_lsn, state, failures.first().map(ToString::to_string)))
}

/// When the log held back for a slot is worth a line. Pure.
#[derive(Debug, Default)]
struct RetentionWarning {
    /// What was retained when it was last said.
    said_at: Option<u64>,
}

impl RetentionWarning {
    /// Words for `retained` bytes, when they are due: with a limit once less than a fifth of it is left, otherwise at
    /// [`RETAINED_BYTES_WARNING`], and each time it has doubled. `left` is what may still be written before the server
    /// gives the slot up (`safe_wal_size`); `None` without a limit.
    fn of(&mut self, retained: u64, left: Option<i64>) -> Option<&'static str> {
        let is_large = match left {
            Some(left) => u64::try_from(left).unwrap_or(0) < retained / 4,
            None => retained >= RETAINED_BYTES_WARNING,
        };
        if !is_large {
            self.said_at = None;
            return None;
        }
        if self.said_at.is_some_and(|said_at| retained < said_at.saturating_mul(2)) {
            return None;
        }
        self.said_at = Some(retained);
        Some(match left {
            Some(_) => {
                "the server will give the slot up soon (max_slot_wal_keep_size): rows are written faster than they are published, or the broker is away"
            }
            None => {
                "the server keeps much log for the slot: rows are written faster than they are published, or the broker is away; max_slot_wal_keep_size bounds what it may take of the disk, at the price of the slot"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retained_log_is_said_at_a_gigabyte_and_each_time_it_has_doubled() {
        let mut warning = RetentionWarning::default();
        assert_eq!(warning.of(RETAINED_BYTES_WARNING - 1, None), None);
        assert!(warning.of(RETAINED_BYTES_WARNING, None).is_some());
        assert_eq!(warning.of(RETAINED_BYTES_WARNING + 1, None), None);
        assert!(warning.of(2 * RETAINED_BYTES_WARNING, None).is_some());
        assert_eq!(warning.of(0, None), None);
        assert!(warning.of(RETAINED_BYTES_WARNING, None).is_some(), "a new story");
    }

    #[test]
    fn with_a_limit_it_is_said_when_a_fifth_of_it_is_left() {
        let mut warning = RetentionWarning::default();
        assert_eq!(warning.of(79, Some(21)), None);
        assert!(warning.of(81, Some(19)).is_some_and(|reason| reason.contains("max_slot_wal_keep_size")));
        assert_eq!(warning.of(90, Some(10)), None, "once");
        let mut late = RetentionWarning::default();
        assert!(late.of(200, Some(-100)).is_some());
    }
}
