//! What works and will become a problem: settings of the server, and the slot's distance.

use std::time::Duration;

use tokio_postgres::Client;

use super::slot;
use crate::control::ControlError;
use crate::outbox::Source;

/// Sessions that say nothing for this long are ended; a shorter time ends some that are only slow.
const SENDER_TIMEOUT_MIN: Duration = Duration::from_secs(10);

/// What to say about the server's settings.
pub(super) async fn settings(client: &Client, warnings: &mut Vec<String>) -> Result<(), ControlError> {
    // In megabytes and milliseconds; the last exists from PostgreSQL 18 on.
    let query = "select name, setting::int8 from pg_settings
        where name in ('max_slot_wal_keep_size', 'wal_sender_timeout', 'idle_replication_slot_timeout')";
    for row in client.query(query, &[]).await? {
        let (name, value): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        match (name.as_str(), value) {
            ("max_slot_wal_keep_size", -1) => warnings.push(
                "max_slot_wal_keep_size is -1: while no connector runs, the slot keeps log until the disk is full and the database stops; set it to what the disk can spare (ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'), and alert on the slot's retained log".to_owned(),
            ),
            ("wal_sender_timeout", value) if value > 0 && u128::from(value.unsigned_abs()) < SENDER_TIMEOUT_MIN.as_millis() => {
                warnings.push(format!(
                    "wal_sender_timeout is {value} ms: a moment's pause ends the stream; set it to 10 s or more"
                ));
            }
            ("wal_sender_timeout", 0) => warnings.push(
                "wal_sender_timeout is 0: a connector that vanished holds the slot until TCP gives up; set it to 60 s"
                    .to_owned(),
            ),
            ("idle_replication_slot_timeout", value) if value > 0 => warnings.push(format!(
                "idle_replication_slot_timeout is {value} s: a connector that is away for longer loses its slot, and rows with it; set it to 0"
            )),
            _ => {}
        }
    }
    Ok(())
}

/// What to say about a slot that works.
pub(super) async fn slot(client: &Client, source: &Source, warnings: &mut Vec<String>) -> Result<(), ControlError> {
    let Some(state) = slot::read(client, &source.slot).await? else { return Ok(()) };
    if state.wal_status.as_deref() == Some("unreserved") {
        warnings.push(format!(
            "slot {} is about to be lost: it holds back more log than max_slot_wal_keep_size allows, and the next checkpoint removes it; start the connector, or raise the setting, now",
            source.slot
        ));
    }
    Ok(())
}

/// What to say about rows that the publication leaves out on purpose (PostgreSQL 15 and later).
pub(super) async fn filters(client: &Client, source: &Source, warnings: &mut Vec<String>) -> Result<(), ControlError> {
    let query = "select schemaname || '.' || tablename, to_jsonb(t)->>'rowfilter' from pg_publication_tables t
        where pubname = $1 and to_jsonb(t)->>'rowfilter' is not null";
    for row in client.query(query, &[&source.publication]).await? {
        let (table, filter): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        warnings.push(format!(
            "publication {} leaves out rows of table {table} for which not {filter}: they are never published",
            source.publication
        ));
    }
    Ok(())
}
