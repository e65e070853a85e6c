//! The example services as child processes, with a Postgres, a broker and a connector between them: each can be killed
//! and started again where it was.
//!
//! All services share one Postgres, in a schema each: the outbox of every one is published by one connector.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Output;

use anyhow::{Context, Result};
use pillion_test_postgres::Server;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::http::{Answer, request};
use crate::program::{self, Program};
use crate::waiting::wait_for;

/// Services and their schemas; the mailer and the storefront have no tables.
const SERVICES: [(&str, &str); 8] = [
    ("order", "orders"),
    ("payment", "payments"),
    ("inventory", "inventory"),
    ("mailer", ""),
    ("customer", "customers"),
    ("loyalty", "loyalty"),
    ("history", "history"),
    ("storefront", ""),
];

/// The schemas whose outbox is published.
const WITH_OUTBOX: [&str; 4] = ["orders", "payments", "inventory", "customers"];

/// What a program is called that is no service.
pub const BROKER: &str = "broker";
/// The same.
pub const CONNECTOR: &str = "connector";

/// A running shop.
pub struct Shop {
    /// Everybody's.
    pub postgres: Server,
    broker_data: TempDir,
    /// `host:port` of each program that listens, for as long as the shop lives.
    addresses: BTreeMap<&'static str, String>,
    environment: Vec<(String, String)>,
    programs: BTreeMap<&'static str, Program>,
}

impl Shop {
    /// Starts everything: `environment` is for all programs, as OTEL_EXPORTER_OTLP_ENDPOINT.
    ///
    /// # Errors
    /// When something does not start, with what it said.
    pub async fn open(environment: &[(&str, &str)]) -> Result<Shop> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let names = SERVICES.iter().map(|(name, _)| *name).chain([BROKER]);
        let addresses = free_addresses(names)?;
        let postgres = Server::start_with(&["max_connections=200"]).await?;
        let broker_data = tempfile::tempdir()?;
        let mut shop = Shop { postgres, broker_data, addresses, environment, programs: BTreeMap::new() };
        for (name, _) in SERVICES.iter().filter(|(_, schema)| !schema.is_empty()) {
            let migrated = shop.run(name, &["--migrate"]).await?;
            anyhow::ensure!(migrated.status.success(), "{name}: {}", String::from_utf8_lossy(&migrated.stderr));
        }
        shop.start(BROKER).await?;
        shop.start(CONNECTOR).await?;
        shop.wait_for_stream().await?;
        for (name, _) in SERVICES {
            shop.start(name).await?;
        }
        Ok(shop)
    }

    /// Every name that [`Shop::kill`] takes, but for Postgres.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SERVICES.into_iter().map(|(name, _)| name).chain([BROKER, CONNECTOR])
    }

    /// Starts one program, where it was before.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(&mut self, name: &'static str) -> Result<()> {
        let program = match name {
            CONNECTOR => Program::start_silent("pillion cdc", self.connector()?)?,
            BROKER => Program::start("pillion broker", self.broker()?).await?,
            service => Program::start(service, self.command(service)?).await?,
        };
        self.programs.insert(name, program);
        Ok(())
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// When it does not run.
    pub async fn kill(&mut self, name: &str) -> Result<()> {
        self.program(name)?.kill().await
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal(&mut self, name: &str, signal: Signal) -> Result<()> {
        self.program(name)?.signal(signal)
    }

    /// `host:port` of the broker or of a service.
    #[must_use]
    pub fn address(&self, name: &str) -> &str {
        self.addresses.get(name).map_or("", String::as_str)
    }

    /// The end of what everybody logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.programs.iter().map(|(name, program)| format!("{name}:\n{}\n", program.log())).collect()
    }

    /// GET from a service.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn get(&self, service: &str, path: &str) -> Result<Answer> {
        request(self.address(service), "GET", path, &[], None).await
    }

    /// POST to a service.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn post(&self, service: &str, path: &str, headers: &[&str], body: &Value) -> Result<Answer> {
        request(self.address(service), "POST", path, headers, Some(body)).await
    }

    /// Runs one of the programs to its end, with a service's surroundings.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run(&self, program: &str, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(program)?.args(arguments).output().await?)
    }

    fn program(&mut self, name: &str) -> Result<&mut Program> {
        self.programs.get_mut(name).with_context(|| format!("{name} does not run"))
    }

    fn command(&self, program: &str) -> Result<Command> {
        let mut command = program::service(program)?;
        command.env("DATABASE_URL", self.postgres.url());
        command.env("KAFKA_BOOTSTRAP_SERVERS", self.address(BROKER));
        for (service, schema) in SERVICES {
            command.env(format!("{}_URL", service.to_uppercase()), format!("http://{}", self.address(service)));
            if !schema.is_empty() {
                command.env(format!("{}_DATABASE_SCHEMA", service.to_uppercase()), schema);
            }
            if service == program {
                command.env("HTTP_LISTEN", self.address(service)).env("DATABASE_SCHEMA", schema);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn broker(&self) -> Result<Command> {
        let mut command = program::command("pillion")?;
        command.arg("broker").arg("--data-dir").arg(self.broker_data.path()).args(["--listen", self.address(BROKER)]);
        // What else is on the machine's disk is no part of a test.
        for setting in ["log.min.free.bytes=0", "num.partitions=3", "group.min.session.timeout.ms=500"] {
            command.args(["--set", setting]);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn connector(&self) -> Result<Command> {
        let mut command = program::command("pillion")?;
        command.args(["cdc", "--auto-init", "--postgres", &self.postgres.url(), "--bootstrap", self.address(BROKER)]);
        for schema in WITH_OUTBOX {
            command.args(["--table", &format!("{schema}.outbox")]);
        }
        command.args(["--set", "topic.creation.default.partitions=3"]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Only what is committed after the slot was made is published.
    async fn wait_for_stream(&self) -> Result<()> {
        let client = self.postgres.connect().await?;
        wait_for("the connector to stream", || async {
            Ok(client.query_opt("SELECT FROM pg_replication_slots WHERE active", &[]).await?.map(drop))
        })
        .await
        .with_context(|| self.log())
    }
}

/// Below the ports that systems give to outgoing connections: one of those would be in the way of a restart.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A port for each, which nobody else has at the moment.
fn free_addresses(names: impl Iterator<Item = &'static str>) -> Result<BTreeMap<&'static str, String>> {
    let mut held = Vec::new();
    let mut addresses = BTreeMap::new();
    for name in names {
        let free = std::iter::repeat_with(|| TcpListener::bind(("127.0.0.1", rand::random_range(PORTS))));
        let listener = free.take(1_000).find_map(Result::ok).context("no port is free")?;
        addresses.insert(name, listener.local_addr()?.to_string());
        held.push(listener);
    }
    Ok(addresses)
}
