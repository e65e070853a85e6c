//! Whether the server and the role can replicate at all.

use tokio_postgres::Client;

use super::CheckFailure;
use crate::control::ControlError;

/// The first version whose standbys decode.
const STANDBY_VERSION_MIN: i32 = 16;

/// Checks what holds for the whole server.
pub(super) async fn check(client: &Client, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    // Managed servers give no REPLICATION attribute away, but membership in a role of theirs that stands for it.
    let query = "select current_setting('wal_level'), current_user::text,
        exists (select from pg_roles r where r.rolname = current_user and (r.rolsuper or r.rolreplication))
        or exists (select from pg_roles r where r.rolname in ('rds_replication', 'rds_superuser')
                   and pg_has_role(current_user, r.oid, 'member')),
        pg_is_in_recovery(), current_setting('server_version_num')::int / 10000";
    let row = client.query_one(query, &[]).await?;
    let found: String = row.try_get(0)?;
    if found != "logical" {
        failures.push(CheckFailure::WalLevel { found });
    }
    if !row.try_get(2)? {
        failures.push(CheckFailure::Role { role: row.try_get(1)? });
    }
    let version = row.try_get(4)?;
    if row.try_get(3)? && version < STANDBY_VERSION_MIN {
        failures.push(CheckFailure::Standby { version });
    }
    Ok(())
}

/// Checks that there is room for the slot, if it is still to be made, and for a session.
pub(super) async fn capacity(
    client: &Client,
    slot: &str,
    failures: &mut Vec<CheckFailure>,
) -> Result<(), ControlError> {
    let query = "select current_setting('max_replication_slots')::int8, current_setting('max_wal_senders')::int8,
        (select count(*) from pg_replication_slots), (select count(*) from pg_stat_replication),
        exists (select from pg_replication_slots where slot_name = $1),
        exists (select from pg_replication_slots where slot_name = $1 and active)";
    let row = client.query_one(query, &[&slot]).await?;
    let number = |index: usize| row.try_get::<_, i64>(index);
    let (slots, senders) = (number(0)?, number(1)?);
    let (is_there, is_active): (bool, bool) = (row.try_get(4)?, row.try_get(5)?);
    if !is_there && number(2)? >= slots {
        failures.push(CheckFailure::NoFreeSlot { limit: slots });
    }
    if !is_active && number(3)? >= senders {
        failures.push(CheckFailure::NoFreeSender { limit: senders });
    }
    Ok(())
}
