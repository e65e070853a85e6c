//! What the server knows of a replication slot, and when pillion made it.
//!
//! Read-only, and open to every role: `pg_replication_slots` and comments need no privilege.

use std::time::Duration;

use tokio_postgres::{Client, Row};

use super::CheckFailure;
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::outbox::Source;

#[cfg(test)]
mod tests;

/// How often a standby asks whether the slot is free. Asking is one row of a view; starting a session to find out
/// would leave an error in the server's log each time.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// One row of `pg_replication_slots`. Columns that a version lacks are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotState {
    /// `slot_type`: `logical` or `physical`.
    pub(crate) kind: String,
    /// Its output plugin; empty for a physical slot.
    pub(crate) plugin: String,
    /// Its database; empty for a physical slot.
    pub(crate) database: String,
    /// `confirmed_flush_lsn`; [`Lsn::ZERO`] where there is none.
    pub(crate) confirmed_flush: Lsn,
    /// `restart_lsn`: the oldest log kept for it. None once it is lost.
    pub(crate) restart: Option<Lsn>,
    /// `wal_status`: `reserved`, `extended`, `unreserved` or `lost`.
    pub(crate) wal_status: Option<String>,
    /// `safe_wal_size`: bytes that may still be written before the slot is in danger; None without a limit.
    pub(crate) safe_wal_bytes: Option<i64>,
    /// The server's process that streams from it.
    pub(crate) active_pid: Option<i32>,
    /// `invalidation_reason`, from PostgreSQL 17 on.
    pub(crate) invalidation_reason: Option<String>,
    /// `conflicting`, from PostgreSQL 16 on: a standby's slot that recovery had to give up.
    pub(crate) is_conflicting: bool,
    /// `synced`, from PostgreSQL 17 on: the copy that a standby keeps, which nobody may stream from.
    pub(crate) is_synced: bool,
}

impl SlotState {
    /// Whether nothing can be read from it ever again.
    pub(crate) fn is_lost(&self) -> bool {
        self.wal_status.as_deref() == Some("lost") || self.invalidation_reason.is_some() || self.is_conflicting
    }

    /// Why it is lost, with the setting behind it.
    fn loss(&self) -> &'static str {
        match self.invalidation_reason.as_deref() {
            Some("idle_timeout") => "nobody read from it for idle_replication_slot_timeout",
            Some("rows_removed" | "wal_level_insufficient") => {
                "the standby had to apply what its primary did: vacuum, or a lower wal_level"
            }
            None if self.is_conflicting => {
                "the standby had to apply what its primary did: vacuum, or a lower wal_level"
            }
            _ => "it held back more log than max_slot_wal_keep_size allows, and Postgres removed it",
        }
    }
}

/// The slot `name`; None when there is none.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked.
pub(crate) async fn slot_state(control: &Control, name: &str) -> Result<Option<SlotState>, ControlError> {
    read(control.client(), name).await
}

/// Where the slot stood when [`crate::outbox`] made it, as the publication's comment records it; None when somebody
/// else made the slot, or the publication, or recorded another slot since.
///
/// Equal to the slot's `confirmed_flush_lsn`, it says that nobody has read from the slot yet.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked.
pub(crate) async fn slot_made_at(control: &Control, source: &Source) -> Result<Option<Lsn>, ControlError> {
    let query = "select obj_description(oid, 'pg_publication') from pg_publication where pubname = $1";
    let row = control.client().query_opt(query, &[&source.publication]).await?;
    let comment: Option<String> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(comment.and_then(|comment| made_at(&comment, &source.slot)))
}

/// Returns once no session holds the slot, or the slot is gone: at the latest half a second later. Another may take
/// it in between.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked any more.
pub(crate) async fn until_slot_is_free(control: &Control, name: &str) -> Result<(), ControlError> {
    while slot_state(control, name).await?.is_some_and(|state| state.active_pid.is_some()) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Checks that there is a slot, that it is ours to read from, and that it still can be.
pub(super) async fn check(client: &Client, name: &str, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    let database: String = client.query_one("select current_database()::text", &[]).await?.try_get(0)?;
    let name = name.to_owned();
    let Some(state) = read(client, &name).await? else {
        failures.push(CheckFailure::NoSlot { name });
        return Ok(());
    };
    if state.kind != "logical" || state.plugin != "pgoutput" || state.database != database {
        let found = match state.kind.as_str() {
            "logical" => format!("a {} slot of database {}", state.plugin, state.database),
            _ => "a physical slot".to_owned(),
        };
        failures.push(CheckFailure::OtherSlot { name, found, database });
    } else if state.is_lost() {
        let cause = state.loss().to_owned();
        failures.push(CheckFailure::SlotInvalidated { name, cause, confirmed: state.confirmed_flush.to_string() });
    } else if state.is_synced {
        failures.push(CheckFailure::SlotSynced { name });
    }
    Ok(())
}

pub(super) async fn read(client: &Client, name: &str) -> Result<Option<SlotState>, ControlError> {
    // By way of JSON, for a column that a version lacks is an error by its name.
    let query = "select slot_type, coalesce(plugin, ''), coalesce(database, ''), confirmed_flush_lsn::text,
            restart_lsn::text, wal_status, safe_wal_size, active_pid, to_jsonb(s)->>'invalidation_reason',
            coalesce((to_jsonb(s)->>'conflicting')::boolean, false), coalesce((to_jsonb(s)->>'synced')::boolean, false)
        from pg_replication_slots s where slot_name = $1";
    let Some(row) = client.query_opt(query, &[&name]).await? else { return Ok(None) };
    Ok(Some(SlotState {
        kind: row.try_get(0)?,
        plugin: row.try_get(1)?,
        database: row.try_get(2)?,
        confirmed_flush: position(&row, 3)?.unwrap_or_default(),
        restart: position(&row, 4)?,
        wal_status: row.try_get(5)?,
        safe_wal_bytes: row.try_get(6)?,
        active_pid: row.try_get(7)?,
        invalidation_reason: row.try_get(8)?,
        is_conflicting: row.try_get(9)?,
        is_synced: row.try_get(10)?,
    }))
}

fn position(row: &Row, column: usize) -> Result<Option<Lsn>, ControlError> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| text.parse().map_err(|_| ControlError::Answer(text))).transpose()
}

/// Reads `pillion: slot <name> made at <lsn>`.
fn made_at(comment: &str, slot: &str) -> Option<Lsn> {
    let (name, lsn) = comment.strip_prefix("pillion: slot ")?.split_once(" made at ")?;
    (name == slot).then(|| lsn.trim_end().parse().ok()).flatten()
}
