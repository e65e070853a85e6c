//! SIGHUP: file, environment and flags are read again, and what can be changed while the process runs is.
//!
//! Invariant: a configuration with a problem changes nothing; what differs and cannot be changed is named in a warning.

pub(crate) mod log_level;

use anyhow::{Context, Result};
use pillion_broker::RunningBroker;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Configuration;

/// Reads the configuration as it was read at the start.
pub(crate) type Reread = Box<dyn Fn() -> Result<Configuration> + Send>;

/// Waits for SIGHUP, and says how to read the configuration anew.
pub(crate) struct Reloading {
    hangup: Signal,
    reread: Reread,
}

impl Reloading {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system lets nobody listen.
    pub(crate) fn new(reread: Reread) -> Result<Self> {
        Ok(Self { hangup: signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?, reread })
    }

    /// Waits for the next SIGHUP. Dropping the future takes nothing.
    pub(crate) async fn asked(&mut self) {
        if self.hangup.recv().await.is_none() {
            std::future::pending().await
        }
    }

    /// Reads the configuration and changes what can be changed.
    pub(crate) async fn reload(&self, broker: Option<&RunningBroker>) {
        let configuration = match (self.reread)() {
            Ok(configuration) => configuration,
            Err(error) => {
                return tracing::error!("nothing is reloaded: {error:#}");
            }
        };
        configuration.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        log_level::reload(configuration.log_level.as_deref());
        let held_back = match (broker, configuration.broker) {
            (Some(broker), Some(config)) => match broker.reload(config).await {
                Ok(held_back) => held_back,
                Err(error) => return tracing::error!(error = &error as &dyn std::error::Error, "nothing is reloaded"),
            },
            _ => Vec::new(),
        };
        if held_back.is_empty() {
            tracing::info!("the configuration is reloaded");
        } else {
            tracing::warn!(keys = held_back.join(","), "the configuration is reloaded; these wait for the next start");
        }
    }
}
