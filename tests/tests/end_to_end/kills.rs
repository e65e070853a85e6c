//! SIGKILL of connector, broker or Postgres while rows are written: nothing that was committed is missing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use pillion_test_postgres::Server;
use pillion_tests::program::Program;
use pillion_tests::waiting::wait_for;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::consumed::{group_member, read_until};
use super::sidecar::{Broker, connector};

/// Rows before and after each kill.
const ROWS: usize = 150;

struct Scene {
    postgres: Server,
    broker: Broker,
    connector: Program,
    writer: Writer,
}

/// Inserts rows, each in a transaction, and remembers those whose commit succeeded.
struct Writer {
    stop: Arc<AtomicBool>,
    count: Arc<std::sync::atomic::AtomicUsize>,
    task: JoinHandle<Result<Vec<Uuid>>>,
}

impl Writer {
    fn start(url: String) -> Self {
        let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let task = tokio::spawn(write(url, Arc::clone(&stop), Arc::clone(&count)));
        Self { stop, count, task }
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    async fn stop(self) -> Result<Vec<Uuid>> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

async fn write(url: String, stop: Arc<AtomicBool>, count: Arc<std::sync::atomic::AtomicUsize>) -> Result<Vec<Uuid>> {
    let mut committed = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // Postgres may be away: then there is nothing to remember.
        let Ok((client, connection)) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(connection);
        while !stop.load(Ordering::Relaxed) {
            let id = Uuid::new_v4();
            let insert = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
                          VALUES ($1, 'order', $2, 'OrderPlaced', '{}')";
            let aggregate = (committed.len() % 7).to_string();
            if client.execute(insert, &[&id, &aggregate]).await.is_err() {
                break;
            }
            committed.push(id);
            count.store(committed.len(), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    Ok(committed)
}

impl Scene {
    async fn set() -> Result<Self> {
        let postgres = Server::start().await?;
        let broker = Broker::start(&[]).await?;
        let connector = Program::start_silent("pillion cdc", connector(&postgres, broker.address(), &[])?)?;
        let client = postgres.connect().await?;
        wait_for("the outbox table", || async {
            let there = "SELECT 1 FROM pg_replication_slots WHERE active AND to_regclass('outbox') IS NOT NULL";
            Ok(client.query_opt(there, &[]).await?)
        })
        .await?;
        let writer = Writer::start(postgres.url());
        Ok(Self { postgres, broker, connector, writer })
    }

    async fn rows_written(&self, more: usize) -> Result<()> {
        let goal = self.writer.count() + more;
        wait_for("rows to be written", || async { Ok((self.writer.count() >= goal).then_some(())) }).await
    }

    /// Every committed row reaches a consumer, with its id in a header.
    async fn end(self) -> Result<()> {
        self.rows_written(ROWS).await?;
        let Self { broker, connector, writer, postgres } = self;
        let committed: HashSet<String> = writer.stop().await?.iter().map(Uuid::to_string).collect();
        let consumer = group_member(broker.address(), "checker", &["outbox.event.order"])?;
        let mut missing = committed.clone();
        let mut seen = 0;
        let read = read_until(&consumer, |records| {
            for record in &records[seen..] {
                missing.remove(record.header("id").unwrap_or_default());
            }
            seen = records.len();
            missing.is_empty()
        });
        let records = read.await.map_err(|error| error.context(connector.log()))?;
        let keys: HashSet<_> = records.iter().filter_map(|record| record.key.clone()).collect();
        assert_eq!(keys.len(), 7, "keys are the aggregates' ids");
        drop(postgres);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_connector_goes_on_where_it_was() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        scene.rows_written(ROWS).await?;
        scene.connector.kill().await?;
        let command = connector(&scene.postgres, scene.broker.address(), &[])?;
        scene.connector = Program::start_silent("pillion cdc", command)?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_loses_no_row() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        scene.rows_written(ROWS).await?;
        scene.broker.program.kill().await?;
        scene.rows_written(ROWS / 3).await?;
        scene.broker.restart().await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_postgres_loses_no_committed_row() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        scene.rows_written(ROWS).await?;
        scene.postgres.kill()?;
        scene.postgres.restart().await?;
    }
    scene.end().await
}
