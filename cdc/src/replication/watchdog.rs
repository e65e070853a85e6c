//! Asks the server for its position every few seconds on a connection of its own.
//!
//! It notices a server that vanished without closing its connections, and it knows the server's position for the
//! lag also while nothing is sent to us.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::control::Control;
use crate::lsn::Lsn;
use crate::postgres_url::PostgresUrl;

const INTERVAL: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A task that asks, and what it learnt. Dropping it ends the task.
pub(super) struct Watchdog {
    task: JoinHandle<()>,
    server_lsn: Arc<AtomicU64>,
    reason: watch::Receiver<Option<String>>,
}

impl Watchdog {
    /// Goes on with a connection that is there, and makes new ones to `url`.
    pub(super) fn start(url: PostgresUrl, control: Control) -> Watchdog {
        let server_lsn = Arc::new(AtomicU64::new(0));
        let (bark, reason) = watch::channel(None);
        let task = tokio::spawn(watch_server(url, control, Arc::clone(&server_lsn), bark));
        Watchdog { task, server_lsn, reason }
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
        Lsn::new(self.server_lsn.load(Ordering::Relaxed))
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
    server_lsn: Arc<AtomicU64>,
    bark: watch::Sender<Option<String>>,
) {
    loop {
        match tokio::time::timeout(ANSWER_TIMEOUT, control.server_lsn()).await {
            Ok(Ok(lsn)) => server_lsn.store(lsn.as_u64(), Ordering::Relaxed),
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
