//! Which rows are meant, in which order: SQL over one table.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::{RepublishError, RepublishFrom};
use crate::config::ConnectorConfig;
use crate::control::ControlError;
use crate::lsn::Lsn;
use crate::outbox::row_time::{self, RowTime};
use crate::quoting::{TableName, identifier, literal};

/// Rows of one table.
pub(super) struct Selection {
    /// FROM, joins and WHERE; the table is `t`.
    pub(super) rows: String,
    /// ORDER BY.
    pub(super) order: String,
    /// The order in words.
    pub(super) order_name: &'static str,
    /// When a row was written, of type `timestamptz`.
    pub(super) time: String,
}

/// Makes what [`selection`] needs in the open transaction; for a position, the transactions committed from there on.
pub(super) async fn prepare(client: &Client, from: &RepublishFrom) -> Result<(), RepublishError> {
    let RepublishFrom::Lsn(lsn) = from else { return Ok(()) };
    let has_extension = "select exists (select from pg_extension where extname = 'pg_walinspect')";
    if !client.query_one(has_extension, &[]).await?.try_get::<_, bool>(0)? {
        return Err(RepublishError::NoWalInspect { lsn: *lsn });
    }
    // A row's transaction may be a subtransaction, which is committed with its parent.
    let commits = format!(
        "create temporary table pillion_commits on commit drop as
        select c.start_lsn, x.xid from
            (select start_lsn, xid, description from pg_get_wal_records_info('{lsn}', pg_current_wal_flush_lsn())
             where resource_manager = 'Transaction' and record_type like 'COMMIT%') c,
            lateral (select c.xid union all
                select unnest(string_to_array(trim(substring(c.description from 'subxacts: ([0-9 ]+)')), ' '))::xid) x (xid)"
    );
    client.batch_execute(&commits).await.map_err(|source| wal_error(*lsn, source))
}

fn wal_error(lsn: Lsn, error: tokio_postgres::Error) -> RepublishError {
    let is_unreadable = |state: &SqlState| {
        *state == SqlState::UNDEFINED_FILE
            || *state == SqlState::INVALID_PARAMETER_VALUE
            || *state == SqlState::INSUFFICIENT_PRIVILEGE
            || *state == SqlState::INTERNAL_ERROR
    };
    match error.as_db_error() {
        Some(answer) if is_unreadable(answer.code()) => {
            RepublishError::NoWal { lsn, reason: answer.message().to_owned() }
        }
        _ => RepublishError::Control(ControlError::Query(error)),
    }
}

/// The rows of `table`.
pub(super) async fn selection(
    client: &Client,
    table: &TableName,
    config: &ConnectorConfig,
    from: &RepublishFrom,
) -> Result<Selection, RepublishError> {
    let has_commit_times: bool =
        client.query_one("select current_setting('track_commit_timestamp') = 'on'", &[]).await?.try_get(0)?;
    let row_time = row_time::of_table(client, table, &config.router).await?;
    let name = table.quoted();
    if let RepublishFrom::Lsn(_) = from {
        // Positions need no times; a record's timestamp is then that of its being published again.
        let time = row_time.map_or_else(|_| "now()".to_owned(), |time| time.expression);
        return Ok(Selection {
            rows: format!("{name} t join pillion_commits c on c.xid = t.xmin"),
            order: "c.start_lsn, t.tableoid, t.ctid".to_owned(),
            order_name: "commit",
            time,
        });
    }
    let RowTime { expression: time, .. } = row_time?;
    let commit_time = "coalesce(pg_xact_commit_timestamp(t.xmin), '-infinity')";
    let (first, order_name) = match has_commit_times {
        true => (format!("{commit_time}, {time}"), "commit time"),
        false => (format!("{time}, {time}"), "the time they were written"),
    };
    let order = format!("{first}, t.tableoid, t.ctid");
    let condition = match from {
        RepublishFrom::Time(at) => format!("{time} >= {}::timestamptz", literal(at)),
        RepublishFrom::Id(id) => {
            let id_column = identifier(&config.router.event_id);
            format!("({order}) >= (select {order} from {name} t where t.{id_column}::text = {} limit 1)", literal(id))
        }
        RepublishFrom::Lsn(_) => "true".to_owned(),
    };
    Ok(Selection { rows: format!("{name} t where {condition}"), order, order_name, time })
}

/// Whether the table has the event.
pub(super) async fn has_event(
    client: &Client,
    table: &TableName,
    config: &ConnectorConfig,
    id: &str,
) -> Result<bool, RepublishError> {
    let query = format!(
        "select exists (select from {} where {}::text = $1)",
        table.quoted(),
        identifier(&config.router.event_id)
    );
    Ok(client.query_one(&query, &[&id]).await?.try_get(0)?)
}
