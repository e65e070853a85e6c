//! Partitions: which there are, which are old as a whole, and dropping those.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::{PruneError, PruneOptions, Pruned, Rule};
use crate::outbox::partitions::Interval;
use crate::outbox::row_time::RowTime;
use crate::quoting::TableName;

/// A partition, or a table that has none.
pub(super) struct Leaf {
    pub(super) table: TableName,
    /// Every row it may hold is older than the cutoff.
    pub(super) is_old: bool,
    /// Every row it may hold is younger.
    pub(super) is_new: bool,
    /// Whether we may drop it.
    pub(super) is_owned: bool,
}

/// Bounds of a range partition by one column, as `pg_get_expr` prints them.
const BOUNDS: &str = r"substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(''([^'']+)''\) TO')::timestamptz as lower,
    substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([^'']+)''\)$')::timestamptz as upper";

/// The tables that hold rows, the oldest partition first. Bounds count only where the partitions are by the column that
/// says how old a row is.
pub(super) async fn leaves(
    client: &Client,
    table: &TableName,
    time: &RowTime,
    cutoff: &str,
) -> Result<Vec<Leaf>, PruneError> {
    let query = format!(
        "with leaf as (
            select n.nspname::text as schema, c.relname::text as name, c.relowner, t.parentrelid is not null as is_partition, {BOUNDS}
            from pg_partition_tree($1::text::regclass) t join pg_class c on c.oid = t.relid
            join pg_namespace n on n.oid = c.relnamespace where t.isleaf
            union all
            select n.nspname::text, c.relname::text, c.relowner, false, null, null from pg_class c
            join pg_namespace n on n.oid = c.relnamespace where c.oid = $1::text::regclass and c.relkind = 'r' and not c.relispartition
            and not exists (select from pg_partition_tree(c.oid))
        ), by_time as (
            select coalesce((select a.attname = $2 from pg_partitioned_table p
                join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
                where p.partrelid = $1::text::regclass and p.partnatts = 1 and p.partstrat = 'r'), false) as is_by_time
        )
        select schema, name, is_by_time and is_partition and coalesce(upper <= $3::text::timestamptz, false),
            is_by_time and is_partition and coalesce(lower >= $3::text::timestamptz, false),
            is_partition and pg_has_role(relowner, 'usage')
        from leaf, by_time order by lower nulls last, name"
    );
    let column = time.column.clone().unwrap_or_default();
    let rows = client.query(&query, &[&table.quoted(), &column, &cutoff]).await?;
    let read = |row: &tokio_postgres::Row| -> Result<Leaf, tokio_postgres::Error> {
        let table = TableName { schema: row.try_get(0)?, name: row.try_get(1)? };
        Ok(Leaf { table, is_old: row.try_get(2)?, is_new: row.try_get(3)?, is_owned: row.try_get(4)? })
    };
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

/// How long the newest partition is, if we may make more of its kind.
pub(super) async fn interval(client: &Client, table: &TableName) -> Result<Option<Interval>, PruneError> {
    let query = format!(
        "select extract(epoch from upper - lower)::int8 from
            (select {BOUNDS} from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = $1::text::regclass and c.relispartition) bounds
        where upper is not null and lower is not null
          and (select pg_has_role(relowner, 'usage') from pg_class where oid = $1::text::regclass)
        order by upper desc limit 1"
    );
    let Some(row) = client.query_opt(&query, &[&table.quoted()]).await? else { return Ok(None) };
    let seconds: i64 = row.try_get(0)?;
    let is_whole = seconds % 86_400 == 0;
    Ok(i32::try_from(seconds / 86_400).ok().filter(|_| is_whole).and_then(Interval::of_days))
}

/// Drops a partition, unless somebody may still be writing to it or has since the horizon. Inserts elsewhere in the
/// table wait for half a second at most. False when somebody has the table for longer.
pub(super) async fn drop_one(
    client: &Client,
    leaf: &Leaf,
    rule: &Rule,
    options: &PruneOptions,
    pruned: &mut Pruned,
) -> Result<bool, PruneError> {
    let name = leaf.table.quoted();
    if options.dry_run {
        pruned.partitions.push(leaf.table.to_string());
        return Ok(true);
    }
    // SHARE keeps writers out of this partition alone while it is looked through. Half a second is less than
    // deadlock_timeout: in doubt we give way.
    let locked = format!("begin; set local lock_timeout = '500ms'; lock table {name} in share mode");
    let is_dropped = async {
        client.batch_execute(&locked).await?;
        let young = format!("select exists (select from {name} where not {})", rule.precedes());
        if client.query_one(&young, &[]).await?.try_get(0)? {
            return Ok(false);
        }
        client.batch_execute(&format!("drop table {name}; commit")).await?;
        Ok::<bool, tokio_postgres::Error>(true)
    };
    let outcome = is_dropped.await;
    if !matches!(outcome, Ok(true)) {
        client.batch_execute("rollback").await?;
    }
    match outcome {
        Ok(true) => pruned.partitions.push(leaf.table.to_string()),
        Ok(false) => pruned.kept.push(format!("{} has rows that are not known to be published", leaf.table)),
        Err(error) if is_lock_timeout(&error) => {
            pruned.kept.push(format!("{} is in use", leaf.table));
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

/// Whether somebody else had the lock for too long.
pub(super) fn is_lock_timeout(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) || error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}
