//! The Postgres under the suite: one of its own, and what is asked of it.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::process::Process;

/// The publication of the outbox table.
pub(super) const PUBLICATION: &str = "pillion_outbox";
/// How long anything of Postgres' may take.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// Settings beyond those of a test's server: room for backlogs, and no checkpoint amidst a measurement.
const SETTINGS: [&str; 4] = ["shared_buffers=128MB", "max_wal_size=16GB", "checkpoint_timeout=1h", "autovacuum=off"];

/// Debezium's table and, beside it, what the connector needs.
const SCHEMA: &str = "
CREATE TABLE outbox (
    id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
    type varchar(255) NOT NULL, payload jsonb, tracingspancontext text);
CREATE PUBLICATION pillion_outbox FOR TABLE outbox WITH (publish = 'insert', publish_via_partition_root = true);";

/// A running server and a connection to it.
pub(super) struct Database {
    runtime: Runtime,
    server: Server,
    client: Client,
}

impl Database {
    /// Starts one with an empty outbox table.
    ///
    /// # Errors
    /// When there are no binaries, or it does not start.
    pub(super) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let server = runtime.block_on(Server::start_with(&SETTINGS)).context("cannot start a Postgres")?;
        let client = runtime.block_on(server.connect())?;
        let database = Self { runtime, server, client };
        database.execute(SCHEMA)?;
        Ok(database)
    }

    /// Where it answers.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Its version, as it says it.
    pub(super) fn version(&self) -> Result<String> {
        Ok(format!("PostgreSQL {}", self.text("SHOW server_version")?))
    }

    /// One of its programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.server.binaries().join(name)
    }

    /// The runtime that its connections need.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Another connection.
    pub(super) fn connect(&self) -> Result<Client> {
        self.runtime.block_on(self.server.connect())
    }

    /// Runs statements.
    pub(super) fn execute(&self, statements: &str) -> Result<()> {
        self.runtime.block_on(self.client.batch_execute(statements)).with_context(|| statements.to_owned())
    }

    /// The one value that a query answers, as text.
    pub(super) fn text(&self, query: &str) -> Result<String> {
        self.maybe_text(query)?.with_context(|| format!("nothing was answered to {query}"))
    }

    /// The same, or `None` for no row or NULL.
    pub(super) fn maybe_text(&self, query: &str) -> Result<Option<String>> {
        let answer = self.runtime.block_on(self.client.simple_query(query)).with_context(|| query.to_owned())?;
        let row = answer.into_iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        Ok(row.and_then(|row| row.get(0).map(str::to_owned)))
    }

    /// Makes a slot at the end of the WAL.
    pub(super) fn make_slot(&self, slot: &str) -> Result<()> {
        self.text(&format!("SELECT lsn FROM pg_create_logical_replication_slot('{slot}', 'pgoutput')")).map(drop)
    }

    /// Makes a slot that stands where `origin` stands.
    pub(super) fn copy_slot(&self, origin: &str, slot: &str) -> Result<()> {
        self.text(&format!("SELECT lsn FROM pg_copy_logical_replication_slot('{origin}', '{slot}')")).map(drop)
    }

    /// Drops a slot once nobody uses it.
    pub(super) fn drop_slot(&self, slot: &str) -> Result<()> {
        self.wait(&format!("slot {slot} to be free"), Duration::from_millis(10), || {
            let free = format!("SELECT 1 FROM pg_replication_slots WHERE slot_name = '{slot}' AND NOT active");
            Ok(self.maybe_text(&free)?.is_some().then_some(()))
        })?;
        self.execute(&format!("SELECT pg_drop_replication_slot('{slot}')"))
    }

    /// Waits until somebody streams from the slot: its walsender.
    pub(super) fn wait_streaming(&self, slot: &str, mut check: impl FnMut() -> Result<()>) -> Result<Process> {
        let active = format!("SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{slot}'");
        self.wait(&format!("slot {slot} to be streamed from"), Duration::from_millis(1), || {
            check()?;
            Ok(self.maybe_text(&active)?.and_then(|pid| pid.parse().ok()).map(Process::new))
        })
    }

    /// Waits until the slot is confirmed up to `lsn`.
    pub(super) fn wait_confirmed(&self, slot: &str, lsn: &str) -> Result<()> {
        let reached =
            format!("SELECT 1 FROM pg_replication_slots WHERE slot_name = '{slot}' AND confirmed_flush_lsn >= '{lsn}'");
        self.wait(&format!("slot {slot} to be confirmed up to {lsn}"), Duration::from_millis(5), || {
            Ok(self.maybe_text(&reached)?.map(drop))
        })
    }

    /// Asks again and again until there is an answer.
    pub(super) fn wait<T>(&self, what: &str, pause: Duration, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            ensure!(begun.elapsed() < WAIT_MAX, "waited {} s in vain for {what}", WAIT_MAX.as_secs());
            thread::sleep(pause);
        }
    }

    /// Kills the server and starts it again: the moment from which on it accepts connections.
    pub(super) fn kill_and_restart(&mut self) -> Result<Instant> {
        self.server.kill()?;
        self.runtime.block_on(self.server.restart())?;
        let accepts = Instant::now();
        self.client = self.runtime.block_on(self.server.connect())?;
        Ok(accepts)
    }
}
