//! The example services as child processes.
//!
//! They know nothing of pillion: each gets its database, its brokers and its HTTP address from the environment, says on
//! its first line of output where it listens, and logs to a file of its own.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use super::TraceAddress;
use super::fault::Variable;
use crate::child_process::{ChildProcess, describe_exit, end_of_log};

/// A service's program.
#[derive(Debug)]
pub(super) struct ServiceProgram {
    pub(super) name: &'static str,
    /// The database of its own; `None`: it keeps nothing.
    pub(super) database: Option<&'static str>,
    /// Whether a connector publishes its events. One that keeps only what it reads has none to publish.
    pub(super) has_outbox: bool,
}

impl ServiceProgram {
    const fn new(name: &'static str, database: Option<&'static str>, has_outbox: bool) -> Self {
        Self { name, database, has_outbox }
    }
}

/// In the order they are started: each is told the addresses of those before it.
pub(super) const PROGRAMS: [ServiceProgram; 8] = [
    ServiceProgram::new("order", Some("shop_order"), true),
    ServiceProgram::new("payment", Some("shop_payment"), true),
    ServiceProgram::new("inventory", Some("shop_inventory"), true),
    ServiceProgram::new("mailer", None, false),
    ServiceProgram::new("customer", Some("shop_customer"), true),
    ServiceProgram::new("loyalty", Some("shop_loyalty"), false),
    ServiceProgram::new("history", Some("shop_history"), false),
    ServiceProgram::new("storefront", None, false),
];

/// Where requests go.
pub(super) const FRONT: &str = "storefront";

/// The program that all services are; its first argument says which.
const PROGRAM: &str = "shop";

/// Bound of making a service's tables, and of a service's start.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Bound of a service's stop before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// The services' programs.
#[derive(Debug)]
pub(super) struct Programs {
    directory: PathBuf,
}

/// What the services are told.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// By the service's name.
    pub(super) database_urls: HashMap<&'static str, String>,
    pub(super) bootstrap_servers: String,
    /// For logs, and for what a service without a database leaves behind.
    pub(super) log_directory: PathBuf,
    /// Further variables.
    pub(super) variables: Vec<Variable>,
    /// Where their spans go, unless the environment says.
    pub(super) traces: Option<TraceAddress>,
}

/// One running service.
#[derive(Debug)]
struct Service {
    process: ChildProcess,
    address: SocketAddr,
    log: PathBuf,
    /// Held so that a later line of the service finds a reader's end.
    _stdout: BufReader<ChildStdout>,
}

/// The running services.
#[derive(Debug)]
pub(super) struct Services {
    running: Vec<Service>,
}

impl Programs {
    /// Finds the programs in `directory`, or beside our own.
    ///
    /// # Errors
    /// When one is missing, with how to build it.
    pub(super) fn find(directory: Option<&Path>) -> Result<Self> {
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => {
                let own = std::env::current_exe().context("cannot tell where this program is; say --services-dir")?;
                own.parent().context("this program is in no directory")?.to_owned()
            }
        };
        if !directory.join(PROGRAM).is_file() {
            bail!(
                "the example's services, the program `{PROGRAM}`, are not in {}: build them (`make demo`, or `cargo \
                 build --release -p pillion-saga`), or say where they are with --services-dir",
                directory.display()
            );
        }
        Ok(Self { directory })
    }

    /// Lets each service make its tables and end: the publication must name them before they are written to.
    pub(super) async fn make_tables(&self, surroundings: &Surroundings) -> Result<()> {
        for ServiceProgram { name, .. } in PROGRAMS.iter().filter(|program| program.database.is_some()) {
            let (mut command, log) = self.command(name, surroundings)?;
            let running =
                command.arg("--migrate").stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).status();
            let status =
                timeout(START_PATIENCE, running).await.with_context(|| format!("{name} --migrate took too long"))?;
            let status = status.with_context(|| format!("cannot run {name}"))?;
            if !status.success() {
                bail!("{name} --migrate ended with {}; its log:\n{}", describe_exit(status), end_of_log(&log));
            }
        }
        Ok(())
    }

    /// Starts every service and waits until each says where it listens.
    pub(super) async fn start(&self, surroundings: &Surroundings) -> Result<Services> {
        let mut services = Services { running: Vec::new() };
        for ServiceProgram { name, .. } in PROGRAMS {
            match self.start_one(name, surroundings, &services).await {
                Ok(service) => services.running.push(service),
                Err(error) => {
                    services.stop().await?;
                    return Err(error);
                }
            }
        }
        Ok(services)
    }

    async fn start_one(&self, name: &str, surroundings: &Surroundings, before: &Services) -> Result<Service> {
        let (mut command, log) = self.command(name, surroundings)?;
        for (name, address, _) in before.list() {
            command.env(format!("{}_URL", name.to_uppercase()), format!("http://{address}"));
        }
        command.stdout(Stdio::piped());
        let mut process = ChildProcess::spawn(name, command, Signal::TERM, None).await?;
        let mut stdout = BufReader::new(process.take_stdout().context("standard output was asked for")?);
        let mut line = String::new();
        let read = timeout(START_PATIENCE, stdout.read_line(&mut line)).await;
        match (read, line.trim().parse()) {
            (Ok(Ok(_)), Ok(address)) => Ok(Service { process, address, log, _stdout: stdout }),
            _ => {
                let status = process.stop(STOP_PATIENCE).await?;
                bail!("{name} did not start ({}); its log:\n{}", describe_exit(status), end_of_log(&log))
            }
        }
    }

    fn command(&self, name: &str, surroundings: &Surroundings) -> Result<(Command, PathBuf)> {
        let log_path = surroundings.log_directory.join(format!("{name}.log"));
        let log = File::options().create(true).append(true).open(&log_path);
        let log = log.with_context(|| format!("cannot write {}", log_path.display()))?;
        let mut command = Command::new(self.directory.join(PROGRAM));
        command
            .arg(name)
            .env("DATABASE_URL", surroundings.database_urls.get(name).map_or("", String::as_str))
            .env("KAFKA_BOOTSTRAP_SERVERS", &surroundings.bootstrap_servers)
            .env("HTTP_LISTEN", "127.0.0.1:0")
            // Each service has a name of its own; ours would make one of all four.
            .env_remove("OTEL_SERVICE_NAME")
            .env("MAIL_DIRECTORY", surroundings.log_directory.join("mails"))
            .envs(surroundings.traces.into_iter().flat_map(TraceAddress::environment))
            .stderr(log);
        for (_, variable, value) in surroundings.variables.iter().filter(|(service, ..)| *service == name) {
            command.env(variable, value);
        }
        Ok((command, log_path))
    }
}

impl Services {
    /// Where a service listens.
    pub(super) fn address(&self, name: &str) -> Option<SocketAddr> {
        self.running.iter().find(|service| service.process.name() == name).map(|service| service.address)
    }

    /// Name, address and log of each.
    pub(super) fn list(&self) -> impl Iterator<Item = (&str, SocketAddr, &Path)> {
        self.running.iter().map(|service| (service.process.name(), service.address, service.log.as_path()))
    }

    /// Waits until one ends by itself.
    ///
    /// # Errors
    /// Always: which, how, and the end of its log.
    pub(super) async fn ended(&mut self) -> Result<()> {
        /// A service's end is no news that a moment's delay would spoil.
        const LOOK_EVERY: Duration = Duration::from_millis(200);
        loop {
            for service in &mut self.running {
                if let Some(status) = service.process.try_wait()? {
                    let name = service.process.name();
                    bail!("{name} ended by itself ({}); its log:\n{}", describe_exit(status), end_of_log(&service.log));
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stops all, one after another.
    pub(super) async fn stop(self) -> Result<()> {
        let mut outcome = Ok(());
        for service in self.running {
            let name = service.process.name().to_owned();
            let stopped = service.process.stop(STOP_PATIENCE).await.and_then(|status| match status.success() {
                true => Ok(()),
                false => bail!("{name} ended with {}; its log:\n{}", describe_exit(status), end_of_log(&service.log)),
            });
            outcome = outcome.and(stopped);
        }
        outcome
    }
}
