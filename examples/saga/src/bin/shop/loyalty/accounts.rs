//! The accounts, built from the service's own topic and from nothing else.
//!
//! Invariant: an account's version rises by one with each event that counted. One whose version is not the next was
//! decided upon an account that has changed since; it is void, here and at everybody else's.

use anyhow::Result;
use deadpool_postgres::Transaction;
use pillion_saga::database::{Database, execute, query_opt};
use pillion_saga::loyalty::{POINTS_GRANTED, PointsGranted};
use pillion_saga::messaging::Event;
use tracing::{error, info};
use uuid::Uuid;

/// A customer's account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) points: i64,
    /// 0 before the first event.
    pub(crate) version: i64,
}

/// Takes the next events of the topic.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn build(transaction: &Transaction<'_>, events: &[Event]) -> Result<()> {
    for event in events {
        match event.payload() {
            Ok(granted) => take(transaction, &granted).await?,
            // It says the same to everybody: nobody counts it.
            Err(error) => error!("passing over partition {} offset {}: {error:#}", event.partition, event.offset),
        }
    }
    Ok(())
}

async fn take(transaction: &Transaction<'_>, granted: &PointsGranted) -> Result<()> {
    let PointsGranted { customer, points, version, cause, .. } = granted;
    let open = "INSERT INTO accounts (customer, points, version) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING";
    execute(transaction, open, &[customer]).await?;
    let add = "UPDATE accounts SET points = points + $2::bigint, version = $3::bigint
               WHERE customer = $1 AND version = $3::bigint - 1 AND $2::bigint >= 0
                   AND NOT EXISTS (SELECT FROM grants WHERE cause = $4)";
    if execute(transaction, add, &[customer, points, version, cause]).await? == 0 {
        info!("version {version} of the account of {customer} is void: the account has moved on");
        return Ok(());
    }
    let note = "INSERT INTO grants (cause, customer, points, version) VALUES ($1, $2, $3, $4)";
    execute(transaction, note, &[cause, customer, points, version]).await?;
    Ok(())
}

/// The account; `None` for who has none yet.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn find(database: &Database, customer: &str) -> Result<Option<Account>> {
    let connection = database.connection().await?;
    let find = "SELECT points, version FROM accounts WHERE customer = $1";
    let Some(row) = query_opt(&connection, find, &[&customer]).await? else { return Ok(None) };
    Ok(Some(Account { points: row.try_get("points")?, version: row.try_get("version")? }))
}

/// Whether an event with this cause has counted.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn is_granted(database: &Database, cause: Uuid) -> Result<bool> {
    let connection = database.connection().await?;
    Ok(query_opt(&connection, "SELECT FROM grants WHERE cause = $1", &[&cause]).await?.is_some())
}

/// Whether the topic's record at this offset has been read.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn has_read(database: &Database, partition: i32, offset: i64) -> Result<bool> {
    let connection = database.connection().await?;
    let read = "SELECT FROM positions WHERE topic = $1 AND partition = $2 AND next_offset > $3";
    Ok(query_opt(&connection, read, &[&POINTS_GRANTED.topic(), &partition, &offset]).await?.is_some())
}
