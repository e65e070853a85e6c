//! Whose rows these are, and that nobody else polls them under the same name.

use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::quoting::literal;
use crate::replication::{ServerIdentity, SlotPosition};
use crate::stored::ask;

/// Takes the name for as long as the connection lasts; false while another connector has it. In the place of a slot,
/// which has one reader at a time, stands an advisory lock, which any role may take, on a standby too.
pub(super) async fn take(control: &Control, name: &str) -> Result<bool, ControlError> {
    let key = literal(&format!("pillion polling {name}"));
    let query = format!("SELECT pg_try_advisory_lock(hashtextextended({key}, 0))");
    let rows = ask(control.client(), &query).await?;
    Ok(rows.first().and_then(|row| row.get(0)) == Some("t"))
}

/// Which server answers. Where the role may not ask for the system identifier, the database's object id stands for it:
/// it survives restarts and failovers, and tells databases of one server apart, not servers.
pub(super) async fn identify(control: &Control) -> Result<ServerIdentity, ControlError> {
    let system_id = match allowed(control, "SELECT system_identifier FROM pg_control_system()").await? {
        Some(system_id) => system_id,
        None => {
            let query = "SELECT oid FROM pg_database WHERE datname = current_database()";
            format!("database-{}", allowed(control, query).await?.unwrap_or_default())
        }
    };
    // A standby has no log of its own to name; its control file says which timeline it follows.
    let timeline = match allowed(control, "SELECT pg_walfile_name(pg_current_wal_lsn())").await? {
        Some(file) => file.get(..8).and_then(|timeline| u32::from_str_radix(timeline, 16).ok()),
        None => {
            allowed(control, "SELECT timeline_id FROM pg_control_checkpoint()").await?.and_then(|id| id.parse().ok())
        }
    };
    // Whether the server fell behind what was published is told by its transaction ids instead.
    let flush_lsn = Lsn::new(u64::MAX);
    // And whether anything was published before, only the progress record says.
    let slot = SlotPosition { confirmed: Lsn::ZERO, is_new: true, is_pending: false };
    Ok(ServerIdentity { system_id, timeline: timeline.unwrap_or(0), flush_lsn, slot })
}

/// Whether the server can be asked how far its log is written to disk. A standby has only what is, and some
/// Postgres-like services do not say.
pub(super) async fn knows_flush(control: &Control) -> Result<bool, ControlError> {
    let query = "SELECT pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()";
    Ok(allowed(control, query).await?.is_some())
}

/// The answer's only value; `None` where the server refuses the question.
async fn allowed(control: &Control, query: &str) -> Result<Option<String>, ControlError> {
    match ask(control.client(), query).await {
        Ok(rows) => Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned)),
        Err(ControlError::Query(error)) if error.as_db_error().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}
