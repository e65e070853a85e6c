//! What the console looks at: whoever starts a part tells of it here.
//!
//! Parts come one after another while pillion starts, and the console answers all the while: what is to come and is not
//! there yet is a reason not to be ready.

use std::sync::Arc;

use parking_lot::RwLock;
use pillion_broker::BrokerObserver;
use pillion_cdc::{ConnectorConfig, Status};
use pillion_client::SecurityConfig;

/// A connector.
#[derive(Debug, Clone)]
pub struct WatchedConnector {
    /// Its name; `default` for the one of the plain keys.
    pub name: String,
    /// How it is doing.
    pub status: Status,
    /// Its settings: whom to ask about its slot. Nobody is shown its password.
    pub config: Arc<ConnectorConfig>,
}

/// The cluster whose topics the page shows.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// `host:port` of some of its brokers.
    pub bootstrap_servers: Vec<String>,
    /// TLS and SASL.
    pub security: SecurityConfig,
}

/// All that is looked at. Clones are the same.
#[derive(Clone, Default)]
pub struct Watched {
    parts: Arc<RwLock<Parts>>,
}

#[derive(Default)]
struct Parts {
    is_broker_coming: bool,
    is_stopping: bool,
    broker: Option<BrokerObserver>,
    connectors: Vec<WatchedConnector>,
    cluster: Option<Cluster>,
}

impl Watched {
    /// A broker is about to be started.
    pub fn broker_is_coming(&self) {
        self.parts.write().is_broker_coming = true;
    }

    /// The broker has started.
    pub fn broker_started(&self, broker: BrokerObserver) {
        let mut parts = self.parts.write();
        parts.is_broker_coming = true;
        parts.broker = Some(broker);
    }

    /// A connector is running.
    pub fn connector_started(&self, connector: WatchedConnector) {
        self.parts.write().connectors.push(connector);
    }

    /// Whose topics the page shows, unless somebody said so before.
    pub fn show_cluster(&self, cluster: Cluster) {
        self.parts.write().cluster.get_or_insert(cluster);
    }

    /// Everything is about to stop.
    pub fn stopping(&self) {
        self.parts.write().is_stopping = true;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.parts.read().is_stopping
    }

    /// Whether there is a broker, or will be.
    pub(crate) fn has_broker(&self) -> bool {
        self.parts.read().is_broker_coming
    }

    pub(crate) fn broker(&self) -> Option<BrokerObserver> {
        self.parts.read().broker.clone()
    }

    pub(crate) fn connectors(&self) -> Vec<WatchedConnector> {
        self.parts.read().connectors.clone()
    }

    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.parts.read().cluster.clone()
    }
}
