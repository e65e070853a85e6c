//! Brokers under test: started in fresh folders on free ports, measured until they answer, always ended.

mod kafka;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub(crate) use self::kafka::Kafka;
use crate::children::Child;
use crate::connection::Connection;
use crate::load::Target;
use crate::process::Process;

/// Between two looks whether a broker answers.
const LOOK: Duration = Duration::from_micros(200);
/// How long a broker may take until it answers.
const START_WAIT_MAX: Duration = Duration::from_secs(120);

/// When a broker may acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// Once the batch is in the page cache: Kafka's default.
    Written,
    /// Once the batch is synced to disk: ours.
    Synced,
}

/// A program that can be started as a broker.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    /// Our broker's binary.
    Pillion(PathBuf),
    /// An Apache Kafka installation.
    Kafka(Kafka),
    /// This very program as a broker that stores nothing.
    Null(PathBuf),
}

/// A running broker; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: String,
    /// From the start of the program to the first answer to ApiVersions.
    pub(crate) started_in: Duration,
    /// Processor time until then.
    pub(crate) started_cpu: Duration,
}

impl Program {
    /// Our broker's binary: the one given, or the one beside this program.
    pub(crate) fn pillion(given: Option<&Path>) -> Result<Self> {
        let beside = std::env::current_exe()?.with_file_name("pillion");
        let binary = given.unwrap_or(&beside);
        ensure!(binary.is_file(), "{} is missing: cargo build --release -p pillion", binary.display());
        Ok(Self::Pillion(binary.to_owned()))
    }

    /// Its name in tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pillion(_) => "pillion",
            Self::Kafka(_) => "kafka",
            Self::Null(_) => "null",
        }
    }

    /// Starts it in `folder`, which keeps its data and its log, and waits until it answers. `wrap` may change how the
    /// process is started.
    pub(crate) fn start(
        &self,
        folder: &Path,
        durability: Durability,
        wrap: impl FnOnce(Command) -> Command,
    ) -> Result<Server> {
        self.start_with(folder, durability, &[], wrap)
    }

    /// The same, with settings that have the same name for every broker.
    pub(crate) fn start_with(
        &self,
        folder: &Path,
        durability: Durability,
        settings: &[(&str, &str)],
        wrap: impl FnOnce(Command) -> Command,
    ) -> Result<Server> {
        fs::create_dir_all(folder)?;
        let port = free_port()?;
        let address = format!("127.0.0.1:{port}");
        let mut command = match self {
            Self::Pillion(binary) => pillion_command(binary, folder, &address, durability, settings),
            Self::Kafka(kafka) => kafka.command(folder, [port, free_port()?], durability, settings)?,
            Self::Null(binary) => {
                let mut command = Command::new(binary);
                command.args(["null", "--listen", &address]);
                command
            }
        };
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            if name.starts_with("PILLION_") || name.starts_with("OTEL_") {
                command.env_remove(&variable);
            }
        }
        let log = folder.join(format!("{}.log", self.name()));
        let begun = Instant::now();
        let child = Child::start(self.name(), wrap(command), &log)?;
        Server::wait(child, address, begun)
    }
}

fn pillion_command(
    binary: &Path,
    folder: &Path,
    address: &str,
    durability: Durability,
    settings: &[(&str, &str)],
) -> Command {
    let durability = match durability {
        Durability::Written => "log.durability=async",
        Durability::Synced => "log.durability=sync",
    };
    let mut command = Command::new(binary);
    command.arg("broker").arg("--data-dir").arg(folder.join("data"));
    command.args(["--listen", address, "--set", durability]).current_dir(folder);
    for (name, value) in settings {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    command
}

impl Server {
    fn wait(mut child: Child, address: String, begun: Instant) -> Result<Self> {
        loop {
            if Connection::open(&address).and_then(|mut connection| connection.greet()).is_ok() {
                break;
            }
            child.check_running()?;
            ensure!(begun.elapsed() < START_WAIT_MAX, "no answer at {address}:\n{}", child.end_of_log());
            thread::sleep(LOOK);
        }
        let started_in = begun.elapsed();
        let started_cpu = Process::new(child.id()).cpu_time()?;
        Ok(Self { child, address, started_in, started_cpu })
    }

    /// Its address.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub(crate) fn process(&self) -> Process {
        Process::new(self.child.id())
    }

    /// It as a load's target.
    pub(crate) fn target(&self) -> Target {
        Target { bootstrap: self.address.clone(), server_pid: Some(self.child.id()) }
    }

    /// Fails with the end of its log if it has ended.
    pub(crate) fn check_running(&mut self) -> Result<()> {
        self.child.check_running()
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(self) -> Result<()> {
        self.child.stop().map(drop)
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(self) -> Result<()> {
        self.child.kill().map(drop)
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
    Ok(listener.local_addr()?.port())
}
