//! One story: everything is set up, goes wrong for a minute, is healed, and is audited.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use pillion_test_postgres::Server;
use pillion_tests::ledger::Breach;
use pillion_tests::program;
use pillion_tests::proxy::Proxy;
use pillion_tests::reader::Reader;
use pillion_tests::writers::Writers;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, Kind};
use crate::connectors::{Connectors, PARTITIONS};
use crate::fault::Fault;

/// How long things go wrong.
const LENGTH: Duration = Duration::from_secs(60);
const WRITERS: usize = 6;
const PAUSE: Duration = Duration::from_millis(4);
/// After healing a record comes within this time, or never.
const PATIENCE: Duration = Duration::from_secs(90);
/// Breaches that are told of one story.
const BREACHES_SHOWN: usize = 20;

/// Everything that can go wrong.
pub(crate) struct Scene {
    pub(crate) postgres: Server,
    pub(crate) postgres_proxy: Proxy,
    pub(crate) cluster: Cluster,
    pub(crate) connectors: Connectors,
}

/// How a story ended well.
pub(crate) struct End {
    pub(crate) rows: usize,
    faults: usize,
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, faults } = self;
        write!(formatter, "{rows} rows, {faults} faults, nothing lost, repeated or out of order")
    }
}

/// Tells it.
pub(crate) async fn tell(seed: u64, kind: &Kind) -> Result<End> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut scene, url) = Scene::set(kind).await?;
    let writers = Writers::start(&url, WRITERS, PAUSE);
    let mut reader = Reader::of(&scene.cluster.address(), PARTITIONS)?;
    let (until, mut faults) = (Instant::now() + LENGTH, Vec::new());
    let mut found = Vec::new();
    while Instant::now() < until && found.is_empty() {
        found = reader.read_for(Duration::from_millis(rng.random_range(50..3_000))).await?;
        scene.connectors.supervise().await?;
        let fault = Fault::any(&mut rng);
        println!("  {} rows, {} events: {fault:?}", writers.count(), reader.ledger.count());
        faults.push(fault);
        fault.happen(&mut scene).await.with_context(|| format!("{fault:?}"))?;
    }
    let audit = audit(&mut scene, writers, &mut reader, found).await.and_then(|rows| {
        ensure!(scene.connectors.ended.is_empty(), "a connector ended by itself");
        Ok(rows)
    });
    audit.map(|rows| End { rows, faults: faults.len() }).with_context(|| {
        let ended = scene.connectors.ended.join("\n");
        format!(
            "faults: {faults:?}\n{}\nended by themselves:\n{ended}\nthe broker:\n{}",
            scene.connectors.log(),
            scene.cluster.log()
        )
    })
}

/// Everything that was committed has to come once, each key in order: how many rows that is.
async fn audit(scene: &mut Scene, writers: Writers, reader: &mut Reader, found: Vec<String>) -> Result<usize> {
    let rows = writers.stop().await?;
    let deadline = Instant::now() + PATIENCE;
    let mut found = found;
    let mut count = reader.ledger.count();
    while rows.iter().any(|row| !reader.ledger.has(row)) {
        found.extend(reader.read_for(Duration::from_secs(1)).await?);
        scene.connectors.supervise().await?;
        let is_more = reader.ledger.count() > count;
        count = reader.ledger.count();
        if !is_more && Instant::now() > deadline {
            break;
        }
    }
    let breaches: Vec<String> = reader.ledger.audit(&rows).iter().map(Breach::to_string).collect();
    if breaches.is_empty() {
        return Ok(rows.len());
    }
    found.truncate(BREACHES_SHOWN);
    let shown = breaches[..breaches.len().min(BREACHES_SHOWN)].join("\n");
    bail!("{} breaches in {} rows:\n{shown}\nwhere:\n{}", breaches.len(), rows.len(), found.join("\n"))
}

impl Scene {
    async fn set(kind: &Kind) -> Result<(Self, String)> {
        let postgres = Server::start_with(&["wal_sender_timeout=10s", "max_connections=60"]).await?;
        let url = postgres.url();
        let address = url.split(['@', '/']).find(|part| part.starts_with("127.")).context("Postgres has an address")?;
        let postgres_proxy = Proxy::raw(address.parse()?).await?;
        let init =
            program::command("pillion")?.args(["outbox", "init", "--apply", "--postgres", &url]).output().await?;
        ensure!(init.status.success(), "outbox init: {}", String::from_utf8_lossy(&init.stderr));
        let cluster = Cluster::start(kind).await?;
        let behind = url.replace(address, &postgres_proxy.address().to_string());
        let connectors = Connectors::start(behind, cluster.proxy.address().to_string())?;
        Ok((Self { postgres, postgres_proxy, cluster, connectors }, url.clone()))
    }

    /// SIGKILL of both connectors; the proxies' ends of their connections go too.
    pub(crate) async fn kill_connectors(&mut self) -> Result<()> {
        self.connectors.kill(0).await?;
        self.connectors.kill(1).await?;
        self.cluster.proxy.cut();
        self.postgres_proxy.cut();
        Ok(())
    }

    /// SIGSTOP of the walsender for so long; nothing where there is none.
    pub(crate) async fn pause_walsender(&self, time: Duration) -> Result<()> {
        let Some(walsender) = self.walsender().await? else { return Ok(()) };
        let pid = Pid::from_raw(walsender).context("a process has an id")?;
        // It may end meanwhile.
        let _ = kill_process(pid, Signal::STOP);
        sleep(time).await;
        let _ = kill_process(pid, Signal::CONT);
        Ok(())
    }

    /// Postgres ends the walsender; nothing where there is none.
    pub(crate) async fn end_walsender(&self) -> Result<()> {
        let Some(walsender) = self.walsender().await? else { return Ok(()) };
        let client = self.postgres.connect().await?;
        client.execute("SELECT pg_terminate_backend($1)", &[&walsender]).await?;
        Ok(())
    }

    async fn walsender(&self) -> Result<Option<i32>> {
        let client = self.postgres.connect().await?;
        let active = "SELECT active_pid FROM pg_replication_slots WHERE active_pid IS NOT NULL";
        let walsender: Option<i32> = client.query_opt(active, &[]).await?.map(|row| row.get(0));
        ensure!(walsender != Some(0), "a walsender has a process");
        Ok(walsender)
    }
}
