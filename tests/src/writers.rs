//! Services that write outbox rows and stand it when Postgres goes away.
//!
//! What they have committed is what the table holds: a commit whose answer was lost may have happened or not.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::ledger::Event;
use crate::waiting::wait_for;

/// Rows of one transaction at most; most have one.
const TRANSACTION_ROWS_MAX: usize = 20;
/// How long one statement may take: a connection may go without a word.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

const INSERT: &str = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
    VALUES ($1, 'order', $2, 'OrderPlaced', jsonb_build_object('number', $3::bigint))";

/// Writers at work, each with a key of its own.
pub struct Writers {
    url: String,
    stop: Arc<AtomicBool>,
    committed: Arc<AtomicUsize>,
    tasks: JoinSet<()>,
}

impl Writers {
    /// Starts so many, each with `pause` between its transactions.
    #[must_use]
    pub fn start(url: &str, count: usize, pause: Duration) -> Self {
        Self::of_keys("key", url, count, pause)
    }

    /// The same with keys that begin with this.
    #[must_use]
    pub fn of_keys(prefix: &str, url: &str, count: usize, pause: Duration) -> Self {
        let (stop, committed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for writer in 0..count {
            let (stop, committed, url) = (Arc::clone(&stop), Arc::clone(&committed), url.to_owned());
            let key = format!("{prefix}-{writer}");
            tasks.spawn(async move {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Postgres may be away.
                    if let Ok(client) = connect(&url).await {
                        let _ended = write(&client, &key, &mut number, &stop, &committed, pause).await;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        }
        Self { url: url.to_owned(), stop, committed, tasks }
    }

    /// Rows committed so far, as far as it was answered.
    #[must_use]
    pub fn count(&self) -> usize {
        self.committed.load(Ordering::Relaxed)
    }

    /// Waits until so many more rows are committed.
    ///
    /// # Errors
    /// When they are not.
    pub async fn more(&self, rows: usize) -> Result<()> {
        let goal = self.count() + rows;
        wait_for("rows to be written", || async { Ok((self.count() >= goal).then_some(())) }).await
    }

    /// Stops them, and adds a last row of every key: whatever comes behind it at a consumer is a repeat. Answers all
    /// rows.
    ///
    /// # Errors
    /// When Postgres does not answer.
    pub async fn stop(mut self) -> Result<HashSet<Event>> {
        self.stop.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
        let client = connect(&self.url).await.context("the table is to be read")?;
        client
            .batch_execute(
                "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
                 SELECT gen_random_uuid(), 'order', aggregateid, 'Last', jsonb_build_object('number', 1000000000)
                 FROM (SELECT DISTINCT aggregateid FROM outbox WHERE aggregateid NOT IN
                     (SELECT aggregateid FROM outbox WHERE type = 'Last')) AS keys",
            )
            .await?;
        rows(&client).await
    }
}

/// Every row of the table.
///
/// # Errors
/// When Postgres does not answer.
pub async fn rows(client: &Client) -> Result<HashSet<Event>> {
    let all = "SELECT id::text, aggregateid, (payload->>'number')::bigint FROM outbox";
    let rows = client.query(all, &[]).await?;
    Ok(rows.iter().map(|row| Event { id: row.get(0), key: row.get(1), number: row.get(2) }).collect())
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Writes until told to stop or refused. Numbers are never used again, whether or not a row came of them.
async fn write(
    client: &Client,
    key: &str,
    number: &mut i64,
    stop: &AtomicBool,
    committed: &AtomicUsize,
    pause: Duration,
) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let rows = if is_large(*number) { TRANSACTION_ROWS_MAX } else { 1 };
        tokio::time::timeout(STATEMENT_TIMEOUT, async {
            client.batch_execute("BEGIN").await?;
            for _ in 0..rows {
                *number += 1;
                client.execute(INSERT, &[&Uuid::new_v4(), &key, &*number]).await?;
            }
            client.batch_execute("COMMIT").await
        })
        .await??;
        committed.fetch_add(rows, Ordering::Relaxed);
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Whether the transaction behind this number has many rows: one in sixteen.
fn is_large(number: i64) -> bool {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()) >> 60 == 0
}
