//! A broker and a connector in front of it, as each side has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Delivery;
use super::consumer::Consumer;
use super::database::{Database, PUBLICATION};
use crate::children::{Child, OwnFolder};
use crate::process::Process;
use crate::server::{Durability, Program, Server};
use crate::suite::results::Side;

/// How each side is started.
#[derive(Debug)]
pub(super) struct Ways {
    directory: PathBuf,
    pillion: PathBuf,
    broker: Program,
    kafka: Option<Program>,
    debezium: Option<PathBuf>,
    delivery: Delivery,
}

impl Ways {
    /// `pillion` is our binary; brokers' data goes below `directory`.
    pub(super) fn new(
        directory: PathBuf,
        pillion: Program,
        kafka: Option<Program>,
        debezium: Option<PathBuf>,
        delivery: Delivery,
    ) -> Result<Self> {
        let Program::Pillion(binary) = &pillion else { bail!("not our binary") };
        Ok(Self { directory, pillion: binary.clone(), broker: pillion, kafka, debezium, delivery })
    }

    /// The sides with a connector that can be started.
    pub(super) fn connectors(&self) -> Vec<Side> {
        let kafka = self.kafka.is_some();
        let sides = [(Side::Pillion, true), (Side::Kafka, kafka), (Side::Debezium, kafka && self.debezium.is_some())];
        sides.into_iter().filter_map(|(side, there)| there.then_some(side)).collect()
    }

    fn broker(&self, side: Side) -> Result<&Program> {
        match side {
            Side::Pillion => Ok(&self.broker),
            _ => self.kafka.as_ref().context("there is no Kafka"),
        }
    }
}

/// A running broker with an empty topic and, once it is started, a connector.
pub(super) struct Relay<'a> {
    ways: &'a Ways,
    side: Side,
    slot: String,
    url: String,
    broker: Server,
    connector: Option<Child>,
    standby: Option<Child>,
    folder: OwnFolder,
}

impl<'a> Relay<'a> {
    /// Starts the side's broker; its connector will stream from `slot`.
    pub(super) fn start(ways: &'a Ways, side: Side, database: &Database, slot: &str) -> Result<Self> {
        let folder = OwnFolder::data(&ways.directory, &format!("cdc-{}", side.name()))?;
        // Each as it is by default: ours syncs, Kafka does not.
        let durability = if side == Side::Pillion { Durability::Synced } else { Durability::Written };
        let broker = ways.broker(side)?.start(folder.path(), durability, |command| command)?;
        Ok(Self {
            ways,
            side,
            slot: slot.to_owned(),
            url: database.url(),
            broker,
            connector: None,
            standby: None,
            folder,
        })
    }

    /// A consumer of the new topic.
    pub(super) fn consumer(&self) -> Result<Consumer> {
        Consumer::of_new_topic(self.broker.address())
    }

    /// Starts the connector, or starts it again.
    pub(super) fn start_connector(&mut self) -> Result<()> {
        let log = self.folder.path().join("connector.log");
        self.connector = Some(Child::start("the connector", self.command(), &log)?);
        Ok(())
    }

    /// Starts a second connector on the same slot, which waits for the first one's end.
    pub(super) fn start_standby(&mut self) -> Result<()> {
        let log = self.folder.path().join("standby.log");
        self.standby = Some(Child::start("the standby", self.command(), &log)?);
        Ok(())
    }

    /// Kills the connector and takes the standby, which is left to notice, in its place.
    pub(super) fn kill_connector_for_standby(&mut self) -> Result<()> {
        self.kill_connector()?;
        self.connector = self.standby.take();
        Ok(())
    }

    fn command(&self) -> Command {
        let (folder, bootstrap) = (self.folder.path(), self.broker.address());
        let mut command = match (self.side, &self.ways.debezium) {
            (Side::Debezium, Some(program)) => debezium(program, &self.url, bootstrap, &self.slot, folder),
            _ => self.pillion(bootstrap),
        };
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            if name.starts_with("PILLION_") || name.starts_with("OTEL_") {
                command.env_remove(&variable);
            }
        }
        command.current_dir(folder);
        command
    }

    fn pillion(&self, bootstrap: &str) -> Command {
        let mut command = Command::new(&self.ways.pillion);
        command.args(["cdc", "--postgres", &self.url, "--bootstrap", bootstrap]);
        let settings = [("slot.name", self.slot.as_str()), ("delivery", self.ways.delivery.name())];
        // The slots are copies, or made without `outbox init`.
        let adopt = (self.ways.delivery == Delivery::ExactlyOnce).then_some(("adopt.slot", "true"));
        for (key, value) in settings.into_iter().chain(adopt) {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command
    }

    /// Fails if broker or connector have ended.
    pub(super) fn check_running(&mut self) -> Result<()> {
        self.broker.check_running()?;
        self.connector.as_mut().map_or(Ok(()), Child::check_running)
    }

    /// The connector's process.
    pub(super) fn connector(&self) -> Result<Process> {
        Ok(Process::new(self.connector.as_ref().context("the connector has not been started")?.id()))
    }

    /// The broker's process.
    pub(super) fn broker(&self) -> Process {
        self.broker.process()
    }

    /// Processor time of connector and broker.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        Ok(self.connector()?.cpu_time()? + self.broker().cpu_time()?)
    }

    /// Kills the connector.
    pub(super) fn kill_connector(&mut self) -> Result<()> {
        self.connector.take().map_or(Ok(()), |connector| connector.kill().map(drop))
    }

    /// Stops both; what the connector leaves in the database goes too.
    pub(super) fn stop(mut self, database: &Database) -> Result<()> {
        if let Some(connector) = self.connector.take() {
            connector.stop()?;
        }
        self.broker.stop()?;
        database.drop_slot(&self.slot)
    }
}

fn debezium(program: &Path, url: &str, bootstrap: &str, slot: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["run", "--pg", url, "--bootstrap", bootstrap, "--slot", slot, "--publication", PUBLICATION]);
    command.arg("--offsets").arg(folder.join("offsets.dat"));
    command
}
