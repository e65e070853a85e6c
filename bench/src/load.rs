//! The loads: each asks one thing of a broker over the wire, and says what it took.

pub(crate) mod commits;
pub(crate) mod connections;
pub(crate) mod fetch;
pub(crate) mod fetch_stream;
pub(crate) mod group;
pub(crate) mod partitions;
pub(crate) mod produce;
pub(crate) mod roundtrip;
pub(crate) mod transactions;

use clap::Args;

use crate::process::Process;

/// The broker that a load asks.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The broker's address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9092")]
    pub(crate) bootstrap: String,
    /// The broker's process, to measure what it uses
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,
}

impl Target {
    /// The broker's process.
    pub(crate) fn process(&self) -> Option<Process> {
        self.server_pid.map(Process::new)
    }
}
