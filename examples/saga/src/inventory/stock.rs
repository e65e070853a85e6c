//! The stock itself, which orders race for.
//!
//! Invariant: of two orders that want the last item one gets it, and both learn which, whichever way is chosen.

use anyhow::Result;
use deadpool_postgres::Transaction;

use crate::database::{Conflict, execute, query_opt};

/// How two transactions that want the same row get out of each other's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locking {
    /// Read, decide, and write only if the version is still the one that was read; else decide anew. Nobody waits
    /// between reading and writing: for rows that are rarely wanted by two at once.
    Optimistic,
    /// `SELECT … FOR UPDATE`: whoever comes second waits for the first to commit. For rows that many want.
    Pessimistic,
}

/// How often is decided anew within one transaction, before the whole event is tried again with a pause.
const DECISIONS_MAX: u32 = 8;

/// Takes so many; `false` when there are not enough.
pub(super) async fn take(transaction: &Transaction<'_>, sku: &str, quantity: i32, locking: Locking) -> Result<bool> {
    let select = match locking {
        Locking::Optimistic => "SELECT available, version FROM stock WHERE sku = $1",
        Locking::Pessimistic => "SELECT available, version FROM stock WHERE sku = $1 FOR UPDATE",
    };
    for _ in 0..DECISIONS_MAX {
        let Some(row) = query_opt(transaction, select, &[&sku]).await? else { return Ok(false) };
        let (available, version): (i32, i32) = (row.try_get("available")?, row.try_get("version")?);
        if available < quantity {
            return Ok(false);
        }
        let update = "UPDATE stock SET available = available - $2, version = version + 1
                      WHERE sku = $1 AND version = $3";
        if execute(transaction, update, &[&sku, &quantity, &version]).await? == 1 {
            return Ok(true);
        }
    }
    Err(Conflict("the stock").into())
}

/// Puts so many back. Needs no version: whatever the stock is, it becomes more.
pub(super) async fn put_back(transaction: &Transaction<'_>, sku: &str, quantity: i32) -> Result<()> {
    let update = "UPDATE stock SET available = available + $2, version = version + 1 WHERE sku = $1";
    execute(transaction, update, &[&sku, &quantity]).await?;
    Ok(())
}
