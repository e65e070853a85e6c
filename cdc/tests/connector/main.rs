//! The connector against a real Postgres. What it publishes is recorded in memory: the way to a broker is tested
//! where there is one.

#![allow(clippy::unwrap_used)]

mod column_types;
mod doctor;
mod polling;
mod production;
mod prune;
mod recorder;
mod recovery;
mod republish;
mod routing;
mod setup;
mod snapshot;
mod tables;
mod tls;

use std::time::{Duration, Instant};

use anyhow::Result;
use pillion_cdc::{Connector, ConnectorConfig, ConnectorError, Lsn, Status};
use pillion_test_postgres::Server;
use recorder::Recorder;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

/// A connector at work.
struct Running {
    task: JoinHandle<Result<(), ConnectorError>>,
    cancelled: CancellationToken,
    status: Status,
}

fn config(server: &Server) -> ConnectorConfig {
    let mut config = ConnectorConfig::new(server.url().parse().unwrap(), vec!["127.0.0.1:1".to_owned()]);
    config.auto_init = true;
    config
}

fn start(config: ConnectorConfig, recorder: &Recorder) -> Running {
    let cancelled = CancellationToken::new();
    let status = config.status.clone();
    let task = tokio::spawn(Connector::run_with(config, recorder.clone(), cancelled.clone()));
    Running { task, cancelled, status }
}

impl Running {
    /// Waits until the slot is this connector's: from then on, rows are captured.
    async fn until_streaming(&self) {
        until("streaming", || self.status.snapshot().sessions > 0).await;
    }

    async fn stop(self) -> Result<(), ConnectorError> {
        self.cancelled.cancel();
        self.task.await.expect("no panic")
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Inserts one row of `table`, whose id is `00000000-0000-0000-0000-` and the number in twelve digits.
async fn insert(client: &impl tokio_postgres::GenericClient, table: &str, number: u64) -> Result<String> {
    let id = id(number);
    let statement = format!(
        "insert into {table} (id, aggregatetype, aggregateid, type, payload) values ('{id}', 'order', '{}', 'Created', '{{\"n\": {number}}}')",
        number % 7
    );
    client.batch_execute(&statement).await?;
    Ok(id)
}

fn id(number: u64) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}

async fn confirmed_flush(client: &Client) -> Result<Lsn> {
    let query = "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = 'pillion'";
    let text: String = client.query_one(query, &[]).await?.try_get(0)?;
    Ok(text.parse()?)
}

/// The ids of recorded events, in order.
fn ids(recorder: &Recorder) -> Vec<String> {
    let id = |event: &pillion_cdc::router::OutboxEvent| String::from_utf8(event.id().unwrap().to_vec()).unwrap();
    recorder.events().iter().map(id).collect()
}
