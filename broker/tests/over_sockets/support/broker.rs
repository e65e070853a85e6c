//! A broker in this process, on a runtime of its own so that it can be stopped cleanly or cut off.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use pillion_broker::{
    Broker, BrokerConfig, BrokerObserver, DataDirectoryError, Disk, RealDisk, RunningBroker, StartError, StopError,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{Client, eventually};

/// A running broker; dropped, it is cut off without a clean stop.
pub(crate) struct TestBroker {
    pub(crate) address: SocketAddr,
    /// Before `running`, for tasks must be gone when the directory's lock is given back.
    runtime: Option<Runtime>,
    running: Option<RunningBroker>,
    _directory: Option<TempDir>,
}

/// A configuration for tests: any free port, any free space.
pub(crate) fn config(directory: &Path, settings: &[(&str, &str)]) -> BrokerConfig {
    let mut config = BrokerConfig::new(directory, "127.0.0.1:0");
    for (key, value) in [("log.min.free.bytes", "0")].iter().chain(settings) {
        config.set(key, value).expect("the setting is known");
    }
    config
}

impl TestBroker {
    /// A broker in a new directory.
    pub(crate) fn fresh(settings: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let mut broker = Self::start(directory.path(), settings);
        broker._directory = Some(directory);
        broker
    }

    /// A broker in a directory of the caller's.
    pub(crate) fn start(directory: &Path, settings: &[(&str, &str)]) -> Self {
        let mut started = None;
        eventually("starting", || match Self::try_start(Arc::new(RealDisk), config(directory, settings)) {
            Ok(broker) => {
                started = Some(broker);
                true
            }
            // Another test's child process, between fork and exec, has the lock that a broker here just gave back.
            Err(StartError::DataDirectory(DataDirectoryError::InUse(_))) => false,
            Err(error) => panic!("the broker does not start: {error:?}"),
        });
        started.expect("it has started")
    }

    pub(crate) fn try_start(disk: Arc<dyn Disk>, config: BrokerConfig) -> Result<Self, StartError> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime can be made");
        let running = runtime.block_on(Broker::start_on(disk, config))?;
        let address = running.address();
        Ok(Self { address, runtime: Some(runtime), running: Some(running), _directory: None })
    }

    /// Where each listener is bound.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let running = self.running.as_ref().expect("it runs until it is stopped");
        running.addresses().iter().map(|(_, address)| *address).collect()
    }

    /// Looks at what it has counted.
    pub(crate) fn observer(&self) -> BrokerObserver {
        self.running.as_ref().expect("it runs until it is stopped").observer()
    }

    /// Bytes of large requests it is receiving or working on.
    pub(crate) fn request_bytes_in_use(&self) -> usize {
        self.running.as_ref().expect("it runs until it is stopped").request_bytes_in_use()
    }

    /// A new connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Stops it cleanly.
    pub(crate) fn stop(self) {
        self.try_stop().expect("the stop is clean");
    }

    /// Stops it, as cleanly as may be.
    pub(crate) fn try_stop(mut self) -> Result<(), StopError> {
        let (runtime, running) = (self.runtime.take(), self.running.take());
        let (runtime, running) = (runtime.expect("it runs"), running.expect("it runs"));
        runtime.block_on(running.shutdown())
    }

    /// Cuts it off: no answers go out any more, nothing is closed.
    pub(crate) fn abandon(self) {
        drop(self);
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        drop(self.runtime.take());
        drop(self.running.take());
    }
}
