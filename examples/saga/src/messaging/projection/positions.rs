//! How far a projection has read: offsets in the service's own database.

use std::collections::BTreeMap;

use anyhow::Result;
use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::database::{Database, execute, query};

/// The table, which belongs into the service's schema.
pub const POSITIONS_TABLE: &str = include_str!("../../../sql/positions.sql");

/// Everybody in the same order, or two would wait for each other.
const LOCK: &str = "SELECT topic, partition, next_offset FROM positions ORDER BY topic, partition FOR UPDATE";

/// The offset to be read next, by topic and partition.
pub(super) type Positions = BTreeMap<(String, i32), i64>;

/// Sets the positions back to the beginning, in the transaction that empties what was built.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn rewind(transaction: &Transaction<'_>) -> Result<()> {
    query(transaction, LOCK, &[]).await?;
    execute(transaction, "UPDATE positions SET next_offset = 0", &[]).await?;
    Ok(())
}

/// The positions of these partitions; 0 for one that was never read.
pub(super) async fn load(database: &Database, partitions: &[(String, i32)]) -> Result<Positions> {
    let connection = database.connection().await?;
    let (topics, numbers): (Vec<&str>, Vec<i32>) =
        partitions.iter().map(|(topic, partition)| (topic.as_str(), *partition)).unzip();
    let begin = "INSERT INTO positions (topic, partition, next_offset)
         SELECT topic, partition, 0 FROM unnest($1::text[], $2::integer[]) AS new (topic, partition)
         ON CONFLICT DO NOTHING";
    execute(&connection, begin, &[&topics, &numbers]).await?;
    let rows = query(&connection, "SELECT topic, partition, next_offset FROM positions", &[]).await?;
    let mut positions = read(&rows)?;
    positions.retain(|key, _| partitions.contains(key));
    Ok(positions)
}

/// Whether nobody else has moved them: another instance, or a rebuild.
pub(super) async fn are_still(database: &Database, positions: &Positions) -> Result<bool> {
    let connection = database.connection().await?;
    let rows = query(&connection, "SELECT topic, partition, next_offset FROM positions", &[]).await?;
    agree(&rows, positions)
}

/// The same, and nobody moves them until the transaction ends.
pub(super) async fn lock(transaction: &Transaction<'_>, positions: &Positions) -> Result<bool> {
    agree(&query(transaction, LOCK, &[]).await?, positions)
}

/// Moves them.
pub(super) async fn advance(transaction: &Transaction<'_>, behind: &Positions) -> Result<()> {
    let (topics, partitions): (Vec<&str>, Vec<i32>) =
        behind.keys().map(|(topic, partition)| (topic.as_str(), *partition)).unzip();
    let offsets: Vec<i64> = behind.values().copied().collect();
    let advance = "UPDATE positions SET next_offset = behind.next_offset
         FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS behind (topic, partition, next_offset)
         WHERE positions.topic = behind.topic AND positions.partition = behind.partition";
    execute(transaction, advance, &[&topics, &partitions, &offsets]).await?;
    Ok(())
}

fn agree(rows: &[Row], positions: &Positions) -> Result<bool> {
    Ok(read(rows)?.iter().all(|(key, offset)| positions.get(key).is_none_or(|ours| ours == offset)))
}

fn read(rows: &[Row]) -> Result<Positions> {
    let position = |row: &Row| Ok(((row.try_get("topic")?, row.try_get("partition")?), row.try_get("next_offset")?));
    rows.iter().map(position).collect()
}
