//! Broker and connectors in one process, started and stopped in order.
//!
//! A connector is a client like any other: it speaks Kafka's protocol to the broker's address, also when that broker
//! is in this process. Invariant: the broker answers before a connector starts, and ends after all of them. One
//! connector that cannot go on ends the process: whatever restarts it sees that something needs a hand. The console
//! answers first and ends last, so that it can say what is not there yet, or any more.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use pillion_broker::{Broker, RunningBroker};
use pillion_cdc::{Connector, ConnectorConfig, ConnectorError};
use pillion_client::SecurityConfig;
use pillion_console::{Cluster, Console, Watched, WatchedConnector};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::config::{Configuration, NamedConnector};
use crate::reloading::{Reloading, Reread};

/// Spans of this target are there for the log's lines only and are not exported: they last as long as the process.
const LOG_CONTEXT: &str = "log_context";

/// What runs. Stop it: dropping it ends the process's work without waiting for it.
pub(crate) struct Sidecar {
    broker: Option<RunningBroker>,
    connectors: Connectors,
    console: Option<Console>,
}

/// Connectors at work, and what each is called in messages.
#[derive(Default)]
struct Connectors {
    tasks: JoinSet<Result<(), ConnectorError>>,
    names: HashMap<Id, String>,
    stop: CancellationToken,
    /// Where the console looks, if there is one.
    watched: Watched,
}

impl Sidecar {
    /// Starts what the configuration has.
    ///
    /// # Errors
    /// When the broker or the console cannot start: data directory, addresses.
    pub(crate) async fn start(configuration: Configuration) -> Result<Self> {
        for warning in &configuration.warnings {
            tracing::warn!("{warning}");
        }
        let console = Console::start(&configuration.console).await.context("the console cannot start")?;
        let watched = console.as_ref().map(Console::watched).cloned().unwrap_or_default();
        let broker = match configuration.broker {
            Some(config) => {
                watched.broker_is_coming();
                Some(Broker::start(config).await.context("the broker cannot start")?)
            }
            None => None,
        };
        for (name, address) in broker.iter().flat_map(|broker| broker.addresses()) {
            tracing::info!(listener = name, %address, "broker answers");
        }
        let connectors = Connectors { watched: watched.clone(), ..Connectors::default() };
        let mut sidecar = Self { broker, connectors, console };
        if let (Some(broker), Some(address)) = (&sidecar.broker, sidecar.broker_address()) {
            let security = SecurityConfig::default();
            watched.show_cluster(Cluster { bootstrap_servers: vec![address.to_string()], security });
            watched.broker_started(broker.observer());
        }
        let own_address = sidecar.broker_address();
        if let Some(config) = configuration.connector {
            sidecar.connectors.start(None, config, own_address.filter(|_| !configuration.is_bootstrap_given));
        }
        for NamedConnector { name, config, is_bootstrap_given } in configuration.named_connectors {
            sidecar.connectors.start(Some(name), config, own_address.filter(|_| !is_bootstrap_given));
        }
        Ok(sidecar)
    }

    /// Address of the broker's first listener, connectable from this machine.
    pub(crate) fn broker_address(&self) -> Option<SocketAddr> {
        let bound = self.broker.as_ref()?.address();
        let mut reachable = bound;
        if bound.ip().is_unspecified() {
            let loopback = if bound.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
            reachable.set_ip(loopback);
        }
        Some(reachable)
    }

    /// Prints the address the broker's first listener is bound to: the first line on standard output, for scripts.
    pub(crate) fn announce(&self) -> Result<()> {
        let Some(broker) = &self.broker else { return Ok(()) };
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{}", broker.address())?;
        stdout.flush()?;
        Ok(())
    }

    /// Waits until a connector ends by itself, which it does only when it cannot go on; forever without one.
    ///
    /// # Errors
    /// Always, with the reason.
    pub(crate) async fn ended(&mut self) -> Result<()> {
        let Some((name, ended)) = self.connectors.next().await else { return std::future::pending().await };
        match ended.with_context(|| format!("{name} broke off"))? {
            Ok(()) => Err(anyhow!("{name} ended although nobody stopped it")),
            Err(error) => Err(anyhow::Error::new(error).context(format!("{name} cannot go on"))),
        }
    }

    /// Stops the connectors, then the broker.
    ///
    /// # Errors
    /// What the connectors could not finish; the broker is stopped all the same.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let mut outcome = Ok(());
        self.connectors.watched.stopping();
        self.connectors.stop.cancel();
        while let Some((name, ended)) = self.connectors.next().await {
            let ended = match ended {
                Ok(ended) => ended.with_context(|| format!("{name} did not stop cleanly")),
                Err(error) => Err(anyhow::Error::new(error).context(format!("{name} broke off"))),
            };
            outcome = outcome.and(ended);
        }
        if let Some(broker) = self.broker {
            let closed = broker.shutdown().await.context("the broker did not stop cleanly");
            outcome = outcome.and(closed);
        }
        if let Some(console) = self.console {
            console.stop().await;
        }
        outcome
    }
}

impl Connectors {
    /// Starts one; `broker` takes the place of its brokers.
    fn start(&mut self, name: Option<String>, mut config: ConnectorConfig, broker: Option<SocketAddr>) {
        if let Some(address) = broker {
            config.bootstrap_servers = vec![address.to_string()];
        }
        let span = match &name {
            Some(name) => tracing::error_span!(target: LOG_CONTEXT, "connector", name),
            None => tracing::Span::none(),
        };
        let brokers = config.bootstrap_servers.join(",");
        span.in_scope(|| {
            tracing::info!(database = %config.postgres, slot = config.slot, broker = brokers, "connector starts");
        });
        let (bootstrap_servers, security) = (config.bootstrap_servers.clone(), config.security.clone());
        self.watched.show_cluster(Cluster { bootstrap_servers, security });
        self.watched.connector_started(WatchedConnector {
            name: name.clone().unwrap_or_else(|| "default".to_owned()),
            status: config.status.clone(),
            config: Arc::new(config.clone()),
        });
        let task = self.tasks.spawn(Connector::run(config, self.stop.clone()).instrument(span));
        let called = name.map_or_else(|| "the connector".to_owned(), |name| format!("the connector {name}"));
        self.names.insert(task.id(), called);
    }

    /// The next one that ends; `None` when none is left. Dropping the future takes nothing.
    async fn next(&mut self) -> Option<(String, Result<Result<(), ConnectorError>, JoinError>)> {
        let (id, ended) = match self.tasks.join_next_with_id().await? {
            Ok((id, ended)) => (id, Ok(ended)),
            Err(error) => (error.id(), Err(error)),
        };
        Some((self.names.remove(&id).unwrap_or_default(), ended))
    }
}

/// Runs a configuration until `stop` is cancelled or a part cannot go on; stops in order either way. SIGHUP has it read
/// anew by `reread`.
pub(crate) async fn run(configuration: Configuration, reread: Reread, stop: CancellationToken) -> Result<()> {
    let mut reloading = Reloading::new(reread)?;
    let mut sidecar = Sidecar::start(configuration).await?;
    let outcome = match sidecar.announce() {
        Ok(()) => loop {
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                ended = sidecar.ended() => break ended,
                () = reloading.asked() => {}
            }
            reloading.reload(sidecar.broker.as_ref()).await;
        },
        Err(error) => Err(error),
    };
    let stopped = sidecar.stop().await;
    outcome.and(stopped)
}
