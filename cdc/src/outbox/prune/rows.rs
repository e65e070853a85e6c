//! Rows one by one, in batches by place: the table is read through once, however many rows stay.

use tokio_postgres::Client;

use super::whole_partitions::{Leaf, is_lock_timeout};
use super::{PruneError, PruneOptions, Pruned, Rule};
use crate::outbox::row_time::RowTime;
use crate::quoting::literal;

/// Rows in a page where nothing is known of the table.
const ROWS_IN_PAGE: f64 = 40.0;

/// Deletes what is old and published, or counts it.
pub(super) async fn delete(
    client: &Client,
    leaf: &Leaf,
    time: &RowTime,
    rule: &Rule,
    options: &PruneOptions,
    pruned: &mut Pruned,
) -> Result<(), PruneError> {
    let name = leaf.table.quoted();
    let condition = format!("{} < {}::timestamptz and {}", time.expression, literal(&rule.cutoff), rule.precedes());
    if options.dry_run {
        let count: i64 =
            client.query_one(&format!("select count(*) from only {name} where {condition}"), &[]).await?.try_get(0)?;
        pruned.rows += count.unsigned_abs();
        return Ok(());
    }
    let query = "select pg_relation_size(c.oid) / current_setting('block_size')::int8,
            (reltuples / nullif(relpages, 0))::float8 from pg_class c where c.oid = $1::text::regclass";
    let row = client.query_one(query, &[&name]).await?;
    let pages: i64 = row.try_get(0)?;
    let rows_in_page = row.try_get::<_, Option<f64>>(1)?.filter(|rows| *rows >= 1.0).unwrap_or(ROWS_IN_PAGE);
    let step = ((f64::from(options.batch) / rows_in_page) as i64).max(1);
    let mut first = 0;
    while first < pages {
        let end = first + step;
        let delete =
            format!("delete from only {name} where ctid >= '({first},0)' and ctid < '({end},0)' and {condition}");
        match client.execute(&delete, &[]).await {
            Ok(deleted) => pruned.rows += deleted,
            Err(error) if is_lock_timeout(&error) => pruned.batches_locked += 1,
            Err(error) => return Err(error.into()),
        }
        first = end;
    }
    Ok(())
}
