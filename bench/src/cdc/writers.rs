//! Services that write outbox rows at a steady rate, each row a transaction, and remember when each was committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::backlog::padding;
use super::database::Database;

/// Connections among which rows are dealt out; each writes rows of a key of its own.
const WRITERS: u64 = 8;

const INSERT: &str = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES
    (gen_random_uuid(), 'order', $1, 'OrderPlaced', jsonb_build_object('n', $2::bigint, 'pad', $3::text))";

/// A row's number and when its commit was answered.
pub(super) type Committed = (u64, Instant);

/// Running writers.
pub(super) struct Writers {
    tasks: Vec<JoinHandle<Result<Vec<Committed>>>>,
}

impl Writers {
    /// Starts writing the rows of these numbers, `rate` a second: open loop, so that a slow commit makes none later.
    ///
    /// # Errors
    /// When Postgres takes no connection.
    pub(super) fn start(database: &Database, numbers: std::ops::Range<u64>, rate: u64) -> Result<Self> {
        let begun = Instant::now() + Duration::from_millis(50);
        let pad: Arc<str> = padding().into();
        let mut tasks = Vec::new();
        for writer in 0..WRITERS {
            let (client, pad) = (database.connect()?, Arc::clone(&pad));
            let first = numbers.start;
            let own: Vec<u64> = numbers.clone().skip(writer as usize).step_by(WRITERS as usize).collect();
            let due = move |number: u64| begun + Duration::from_secs_f64((number - first) as f64 / rate as f64);
            tasks.push(database.runtime().spawn(write(client, format!("writer-{writer}"), own, due, pad)));
        }
        Ok(Self { tasks })
    }

    /// Whether all rows are written.
    pub(super) fn are_done(&self) -> bool {
        self.tasks.iter().all(JoinHandle::is_finished)
    }

    /// Every row's number with the moment its commit was answered.
    ///
    /// # Errors
    /// When a row could not be written.
    pub(super) fn end(self, database: &Database) -> Result<Vec<Committed>> {
        let mut all = Vec::new();
        for task in self.tasks {
            all.extend(database.runtime().block_on(task)?.context("a row could not be written")?);
        }
        Ok(all)
    }
}

async fn write(
    client: Client,
    key: String,
    numbers: Vec<u64>,
    due: impl Fn(u64) -> Instant,
    pad: Arc<str>,
) -> Result<Vec<Committed>> {
    let insert = client.prepare(INSERT).await?;
    let mut committed = Vec::with_capacity(numbers.len());
    for number in numbers {
        tokio::time::sleep_until(due(number).into()).await;
        client.execute(&insert, &[&key, &number.cast_signed(), &&*pad]).await?;
        committed.push((number, Instant::now()));
    }
    Ok(committed)
}
