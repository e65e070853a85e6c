//! Start: from the start of the program to its first answer, and what it uses while nobody asks anything.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::children::OwnFolder;
use crate::figures::Figures;
use crate::process::Meter;
use crate::server::{Durability, Kafka, Program, Server};

/// How long a broker is left alone before its idleness is measured.
const SETTLE: Duration = Duration::from_secs(2);
/// Idle processor time is told for so many seconds.
const IDLE_SECONDS: f64 = 10.0;

/// Time a broker's start, and look at it while it is idle
#[derive(Debug, Clone, Args)]
pub(crate) struct StartLoad {
    /// Our broker's binary [default: beside this program]
    #[arg(long)]
    pub(crate) pillion: Option<PathBuf>,
    /// Start Apache Kafka from KAFKA_HOME or KAFKA_CLASSPATH instead
    #[arg(long)]
    pub(crate) kafka: bool,
    /// Seconds of idleness measured
    #[arg(long, default_value_t = IDLE_SECONDS)]
    pub(crate) idle: f64,
    /// Where its data goes, in a folder that is removed afterwards
    #[arg(long, default_value = "target/bench")]
    pub(crate) directory: PathBuf,
}

impl StartLoad {
    /// Measures.
    pub(crate) fn run(&self) -> Result<Figures> {
        let program = if self.kafka {
            Program::Kafka(Kafka::from_environment()?.context("set KAFKA_HOME or KAFKA_CLASSPATH")?)
        } else {
            Program::pillion(self.pillion.as_deref())?
        };
        let folder = OwnFolder::data(&self.directory, "start")?;
        let server = program.start(folder.path(), Durability::Synced, |command| command)?;
        let figures = look(&server, self.idle)?;
        server.stop()?;
        Ok(figures)
    }
}

/// The start of a server that has just started, and then its idleness over so many seconds.
pub(crate) fn look(server: &Server, idle_seconds: f64) -> Result<Figures> {
    let process = server.process();
    let mut figures = Figures::default();
    figures.add("start_ms", server.started_in.as_secs_f64() * 1e3);
    figures.add("start_cpu_ms", server.started_cpu.as_secs_f64() * 1e3);
    thread::sleep(SETTLE);
    let meter = Meter::start(Some(process))?;
    thread::sleep(Duration::from_secs_f64(idle_seconds));
    let used = meter.read()?;
    let cpu = used.server_cpu.unwrap_or_default().as_secs_f64() * 1e3;
    figures.add("idle_cpu_ms_in_10_s", cpu * IDLE_SECONDS / used.time.as_secs_f64());
    figures.add("idle_resident_mb", process.resident_bytes()? as f64 / 1e6);
    figures.add("idle_threads", process.threads()? as f64);
    Ok(figures)
}
