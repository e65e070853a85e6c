//! Connections: many that have said one thing and then nothing.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use super::Target;
use crate::connection::{Connection, raise_descriptors};
use crate::figures::Figures;

/// How long memory is given to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// Open idle connections, and say what each costs
#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectionsLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Connections
    #[arg(long, default_value_t = 2_000)]
    pub(crate) count: usize,
}

impl ConnectionsLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        raise_descriptors();
        let server = self.target.process();
        let before = server.map(|server| server.resident_bytes()).transpose()?;
        let mut connections = Vec::with_capacity(self.count);
        for index in 0..self.count {
            let mut connection = Connection::open(&self.target.bootstrap)?;
            connection.greet().with_context(|| format!("connection {index}"))?;
            connections.push(connection);
        }
        thread::sleep(SETTLE);
        let mut figures = Figures::default();
        figures.add("connections", self.count as f64);
        if let (Some(server), Some(before)) = (server, before) {
            let grown = server.resident_bytes()? as f64 - before as f64;
            figures.add("kb_each", grown / 1e3 / self.count as f64);
        }
        // All of them must still be there.
        for (index, connection) in connections.iter_mut().enumerate() {
            connection.greet().with_context(|| format!("connection {index} is gone"))?;
        }
        Ok(figures)
    }
}
