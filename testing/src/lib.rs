//! A broker that speaks Kafka's protocol for tests: in this process, on a free port of this machine, with a directory of
//! its own, gone when dropped. Each test has its own, so that tests need not clear up behind each other.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = pillion_test::start().await?;
//! // Any Kafka client: bootstrap.servers = broker.bootstrap_servers()
//! println!("{}", broker.bootstrap_servers());
//! # Ok(())
//! # }
//! ```
//!
//! It is pillion's broker as it is, but for [`DEFAULTS`]. It runs on a thread with an event loop of its own, so that a
//! test's event loop may have one thread, may block, and may end first.

use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use pillion_broker::{Broker, BrokerConfig, RunningBroker};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Where it differs from a broker that is to keep something: it waits for no disk, and needs no free space.
pub const DEFAULTS: [(&str, &str); 2] = [("log.durability", "async"), ("log.min.free.bytes", "0")];

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is unknown, or its value is.
    #[error("the broker does not take the setting {key}={value}: {reason}")]
    Setting {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No directory, no thread or no event loop.
    #[error("the broker has no place to run: a directory below TMPDIR and a thread are needed")]
    Place(#[source] io::Error),
    /// The broker itself.
    #[error("the broker did not start")]
    Broker(#[source] pillion_broker::StartError),
}

/// A running broker. Dropping it stops it and removes what it has stored.
#[derive(Debug)]
pub struct TestBroker {
    address: SocketAddr,
    /// Dropped to say so.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Removed last.
    _directory: TempDir,
}

/// Starts a broker.
///
/// # Errors
/// When there is no room for it.
pub async fn start() -> Result<TestBroker, StartError> {
    start_with(&[]).await
}

/// Starts a broker with settings of its own, by Kafka's names: `start_with(&[("num.partitions", "3")])`.
///
/// # Errors
/// When a setting is refused, or there is no room for it.
pub async fn start_with(settings: &[(&str, &str)]) -> Result<TestBroker, StartError> {
    let directory = tempfile::Builder::new().prefix("pillion-test-").tempdir().map_err(StartError::Place)?;
    let mut config = BrokerConfig::new(directory.path(), "127.0.0.1:0");
    for &(key, value) in DEFAULTS.iter().chain(settings) {
        config.set(key, value).map_err(|error| StartError::Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            reason: error.to_string(),
        })?;
    }
    let (started, has_started) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("pillion-test".to_owned())
        .spawn(move || run(config, started, stopped))
        .map_err(StartError::Place)?;
    // The thread says something, or has panicked, which its message tells.
    let outcome =
        has_started.await.unwrap_or_else(|_| Err(StartError::Place(io::Error::other("the thread broke off"))));
    Ok(TestBroker { address: outcome?, stop: Some(stop), thread: Some(thread), _directory: directory })
}

fn run(config: BrokerConfig, started: oneshot::Sender<Result<SocketAddr, StartError>>, stop: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // Nobody listens only where the test has ended already.
            let _ = started.send(Err(StartError::Place(error)));
            return;
        }
    };
    runtime.block_on(async {
        match Broker::start(config).await {
            Ok(broker) => serve(broker, started, stop).await,
            Err(error) => {
                let _ = started.send(Err(StartError::Broker(error)));
            }
        }
    });
}

async fn serve(
    broker: RunningBroker,
    started: oneshot::Sender<Result<SocketAddr, StartError>>,
    stop: oneshot::Receiver<()>,
) {
    if started.send(Ok(broker.address())).is_ok() {
        // Told, or dropped: either way it is time.
        let _ = stop.await;
    }
    // What is stored goes with the directory, so a stop that was not clean loses nothing.
    let _ = broker.shutdown().await;
}

impl TestBroker {
    /// `host:port`, for `bootstrap.servers`.
    #[must_use]
    pub fn bootstrap_servers(&self) -> String {
        self.address.to_string()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the broker was printed when it happened.
            let _ = thread.join();
        }
    }
}
