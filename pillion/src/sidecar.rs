//! Broker and connector in one process, started and stopped in order.
//!
//! The connector is a client like any other: it speaks Kafka's protocol to the broker's address, also when that broker
//! is in this process. Invariant: the broker answers before the connector starts, and ends after it.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow};
use pillion_broker::{Broker, RunningBroker};
use pillion_cdc::{Connector, ConnectorError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Configuration;

/// What runs. Stop it: dropping it ends the process's work without waiting for it.
pub(crate) struct Sidecar {
    broker: Option<RunningBroker>,
    connector: Option<RunningConnector>,
}

struct RunningConnector {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ConnectorError>>,
}

impl Sidecar {
    /// Starts what the configuration has.
    ///
    /// # Errors
    /// When the broker cannot start: data directory, addresses.
    pub(crate) async fn start(configuration: Configuration) -> Result<Self> {
        for warning in &configuration.warnings {
            tracing::warn!("{warning}");
        }
        let broker = match configuration.broker {
            Some(config) => Some(Broker::start(config).await.context("the broker cannot start")?),
            None => None,
        };
        for (name, address) in broker.iter().flat_map(|broker| broker.addresses()) {
            tracing::info!(listener = name, %address, "broker answers");
        }
        let mut sidecar = Self { broker, connector: None };
        if let Some(mut config) = configuration.connector {
            if let (Some(address), false) = (sidecar.broker_address(), configuration.is_bootstrap_given) {
                config.bootstrap_servers = vec![address.to_string()];
            }
            tracing::info!(database = %config.postgres, broker = config.bootstrap_servers.join(","), "connector starts");
            let stop = CancellationToken::new();
            let task = tokio::spawn(Connector::run(config, stop.clone()));
            sidecar.connector = Some(RunningConnector { stop, task });
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

    /// Waits until the connector ends by itself, which it does only when it cannot go on; forever without one.
    ///
    /// # Errors
    /// Always, with the reason.
    pub(crate) async fn ended(&mut self) -> Result<()> {
        let Some(connector) = &mut self.connector else { return std::future::pending().await };
        let ended = (&mut connector.task).await;
        self.connector = None;
        match ended.context("the connector broke off")? {
            Ok(()) => Err(anyhow!("the connector ended although nobody stopped it")),
            Err(error) => Err(anyhow::Error::new(error).context("the connector cannot go on")),
        }
    }

    /// Stops the connector, then the broker.
    ///
    /// # Errors
    /// What the connector could not finish; the broker is stopped all the same.
    pub(crate) async fn stop(self) -> Result<()> {
        let mut outcome = Ok(());
        if let Some(connector) = self.connector {
            connector.stop.cancel();
            outcome = match connector.task.await {
                Ok(ended) => ended.context("the connector did not stop cleanly"),
                Err(error) => Err(anyhow::Error::new(error).context("the connector broke off")),
            };
        }
        if let Some(broker) = self.broker {
            let closed = broker.shutdown().await.context("the broker did not stop cleanly");
            outcome = outcome.and(closed);
        }
        outcome
    }
}

/// Runs a configuration until `stop` is cancelled or a part cannot go on; stops in order either way.
pub(crate) async fn run(configuration: Configuration, stop: CancellationToken) -> Result<()> {
    let mut sidecar = Sidecar::start(configuration).await?;
    let outcome = match sidecar.announce() {
        Ok(()) => tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = sidecar.ended() => ended,
        },
        Err(error) => Err(error),
    };
    let stopped = sidecar.stop().await;
    outcome.and(stopped)
}
