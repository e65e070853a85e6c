//! Removes rows that are old and published.
//!
//! The stream reads the log, not the table, so a row may be deleted at any time without being lost to it. It is kept
//! all the same until it is published, for everything else that reads the table: `outbox republish`,
//! `snapshot=initial`, and whoever has to find out by hand what happened.
//!
//! # What counts as published
//! 1. Take the horizon: `pg_snapshot_xmin`, the oldest transaction that may still be running. Every row that is
//!    visible and whose transaction precedes the horizon was committed before now. (A row's transaction may be a
//!    subtransaction; its number is higher than its parent's, so it precedes the horizon only if the parent does.)
//! 2. After that, write a message of our own to the log and take its position: every commit of step 1 lies before it.
//! 3. Wait until the slot is confirmed beyond it. The slot is never confirmed beyond what is published, so now all rows
//!    of step 1 are.
//!
//! Each batch is a transaction of its own, and a partition that is dropped too: whatever ends the command, what is done
//! is done, and running it again goes on. Transaction numbers are compared as Postgres does, modulo 2^32; a row that two
//! billion transactions followed may be taken for a younger one, and stays.

mod rows;
#[cfg(test)]
mod tests;
mod whole_partitions;

use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;
use tokio_postgres::Client;

use super::partitions;
use super::row_time::{self, NoRowTime};
use crate::checks;
use crate::config::ConnectorConfig;
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::quoting::TableName;

/// How often the slot's position is asked for.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What is removed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneOptions {
    /// Only rows written longer ago than this.
    pub older_than: Duration,
    /// About so many rows in one transaction, 1 or more.
    pub batch: u32,
    /// How long a connector that is behind may take to catch up.
    pub wait: Duration,
    /// Only count.
    pub dry_run: bool,
}

/// What was removed of one table, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The table.
    pub table: TableName,
    /// Rows deleted one by one.
    pub rows: u64,
    /// Partitions dropped, with all their rows.
    pub partitions: Vec<String>,
    /// Partitions that are old and stay for now, and why.
    pub kept: Vec<String>,
    /// Batches passed over because somebody else had locked their rows.
    pub batches_locked: u64,
}

/// Nothing was removed, or not everything.
#[derive(Debug, Error)]
pub enum PruneError {
    /// The database.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// There is no slot to say what is published.
    #[error(
        "replication slot {0} does not exist, so nothing says what is published: name the right one, or run `pillion outbox init`"
    )]
    NoSlot(String),
    /// The slot will never say it.
    #[error(
        "replication slot {0} is invalidated, so nothing says what is published; `pillion doctor` says how to go on"
    )]
    SlotLost(String),
    /// The connector did not catch up.
    #[error(
        "nothing is removed: slot {slot} is confirmed up to {confirmed}, {bytes} bytes short of {needed}, and the connector did not catch up in {} s; is one running? (`pillion outbox status`)",
        waited.as_secs()
    )]
    Behind {
        /// The slot.
        slot: String,
        /// Its position.
        confirmed: Lsn,
        /// Where it must be.
        needed: Lsn,
        /// What lies between.
        bytes: u64,
        /// How long was waited.
        waited: Duration,
    },
    /// A table whose rows have no time.
    #[error(transparent)]
    NoRowTime(#[from] NoRowTime),
}

impl From<tokio_postgres::Error> for PruneError {
    fn from(error: tokio_postgres::Error) -> PruneError {
        PruneError::Control(error.into())
    }
}

/// What makes a row old and published.
struct Rule {
    /// Rows written before this, as a `timestamptz` constant.
    cutoff: String,
    /// Rows whose transaction precedes this one.
    horizon: i64,
}

impl Rule {
    /// SQL: whether the row's transaction precedes the horizon, modulo 2^32.
    fn precedes(&self) -> String {
        let horizon = self.horizon.rem_euclid(1 << 32);
        format!("(xmin::text::int8 - {horizon} + 6442450944) % 4294967296 < 2147483648")
    }
}

/// Removes from every table what is old and published. Needs SELECT and DELETE on the tables; to drop partitions and
/// make the coming ones, their owner.
///
/// # Errors
/// [`PruneError`]; what was removed before stays removed.
pub async fn prune(config: &ConnectorConfig, options: &PruneOptions) -> Result<Vec<Pruned>, PruneError> {
    let control = Control::connect(&config.postgres).await?;
    let client = control.client();
    client.batch_execute("set timezone = 'UTC'; set lock_timeout = '2s'").await?;
    let query = "select (now() - $1 * interval '1 second')::text, pg_snapshot_xmin(pg_current_snapshot())::text::int8";
    let row = client.query_one(query, &[&options.older_than.as_secs_f64()]).await?;
    let rule = Rule { cutoff: row.try_get(0)?, horizon: row.try_get(1)? };
    if !options.dry_run {
        // Committed and flushed at once, which also takes an idle connector past it.
        let emitted = "select pg_logical_emit_message(true, 'pillion', 'prune')::text";
        let text: String = client.query_one(emitted, &[]).await?.try_get(0)?;
        let needed = text.parse().map_err(|_| ControlError::Answer(text))?;
        until_confirmed(&control, &config.slot, needed, options.wait).await?;
    }
    let mut pruned = Vec::with_capacity(config.tables.len());
    for table in &config.tables {
        pruned.push(prune_table(client, table, config, &rule, options).await?);
    }
    Ok(pruned)
}

async fn until_confirmed(control: &Control, slot: &str, needed: Lsn, wait: Duration) -> Result<(), PruneError> {
    let deadline = Instant::now() + wait;
    loop {
        let state = checks::slot_state(control, slot).await?.ok_or_else(|| PruneError::NoSlot(slot.to_owned()))?;
        if state.is_lost() {
            return Err(PruneError::SlotLost(slot.to_owned()));
        }
        let confirmed = state.confirmed_flush;
        // The message's transaction ends a little later, and the slot is confirmed at ends of transactions.
        if confirmed > needed {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let (slot, bytes) = (slot.to_owned(), needed.bytes_since(confirmed));
            return Err(PruneError::Behind { slot, confirmed, needed, bytes, waited: wait });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn prune_table(
    client: &Client,
    table: &TableName,
    config: &ConnectorConfig,
    rule: &Rule,
    options: &PruneOptions,
) -> Result<Pruned, PruneError> {
    let time = row_time::of_table(client, table, &config.router).await??;
    let mut pruned =
        Pruned { table: table.clone(), rows: 0, partitions: Vec::new(), kept: Vec::new(), batches_locked: 0 };
    let mut is_in_use = false;
    for leaf in whole_partitions::leaves(client, table, &time, &rule.cutoff).await? {
        if leaf.is_old && leaf.is_owned {
            // Dropping takes the whole table for a moment: whoever has it has it for the next partition too, and
            // inserts should not wait again for nothing.
            match is_in_use {
                true => pruned.kept.push(format!("{} waits for the next time too", leaf.table)),
                false => is_in_use = !whole_partitions::drop_one(client, &leaf, rule, options, &mut pruned).await?,
            }
        } else if !leaf.is_new {
            rows::delete(client, &leaf, &time, rule, options, &mut pruned).await?;
        }
    }
    if !options.dry_run
        && let Some(interval) = whole_partitions::interval(client, table).await?
    {
        client.batch_execute(&partitions::create_ahead(table, interval)).await?;
    }
    Ok(pruned)
}
