//! How an outbox is doing: slot, tables, and what the cluster knows of it. Read-only.
//!
//! Needs no privilege but to connect; the lag in seconds only the role that streams may see, and members of
//! `pg_read_all_stats`.

use std::time::Duration;

use pillion_client::{AdminError, Client as KafkaClient, ErrorCode, Offset};

use crate::causes;
use crate::checks::{self, SlotState};
use crate::config::ConnectorConfig;
use crate::control::{Control, ControlError};
use crate::lsn::Lsn;
use crate::progress::{self, Progress, SourceName};
use crate::publish::KafkaCluster;
use crate::quoting::TableName;

/// Longest wait for the cluster.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(15);

/// One look at an outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// How far the server's log reaches.
    pub server: Lsn,
    /// The slot; None where there is none.
    pub slot: Option<SlotHealth>,
    /// The tables that exist.
    pub tables: Vec<TableHealth>,
    /// What the cluster knows, or why it cannot be asked.
    pub cluster: Result<ClusterHealth, String>,
}

/// One look at a slot.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotHealth {
    /// Who streams from it.
    pub holder: Option<String>,
    /// Everything committed before this is published.
    pub confirmed: Lsn,
    /// Bytes of log from there on, whatever they hold.
    pub lag_bytes: u64,
    /// How long ago the last confirmed transaction was sent, or, with nobody streaming, how long nobody has (PostgreSQL
    /// 17 and later); zero without a lag. None where it is not known.
    pub lag: Option<Duration>,
    /// Log that is kept for it, in bytes; None once it is lost.
    pub retained_bytes: Option<u64>,
    /// `max_slot_wal_keep_size` in bytes; None without a limit.
    pub retained_bytes_max: Option<u64>,
    /// `wal_status`: `reserved`, `extended`, `unreserved` (about to be lost) or `lost`.
    pub wal_status: String,
    /// Whether nothing can be read from it any more.
    pub is_lost: bool,
}

/// One look at a table, by the planner's statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct TableHealth {
    /// The table.
    pub table: TableName,
    /// About how many rows it has; None before it was first analysed.
    pub rows: Option<u64>,
    /// What it takes on disk, indexes and partitions included.
    pub bytes: u64,
    /// Its partitions; 0 for a plain table.
    pub partitions: u64,
}

/// What the cluster knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterHealth {
    /// The last progress record; None where there is none, as with `delivery=at-least-once`.
    pub progress: Option<Progress>,
    /// Records on the dead-letter topic.
    pub dead_letters: u64,
}

/// Asks database and cluster.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked; a cluster that cannot be is in the result.
pub async fn health(config: &ConnectorConfig) -> Result<Health, ControlError> {
    let control = Control::connect(&config.postgres).await?;
    let server = control.server_lsn().await?;
    let slot = match checks::slot_state(&control, &config.slot).await? {
        Some(state) => Some(slot_health(&control, &config.slot, server, state).await?),
        None => None,
    };
    let mut tables = Vec::with_capacity(config.tables.len());
    for table in &config.tables {
        tables.extend(table_health(&control, table).await?);
    }
    let system_id = "select system_identifier::text from pg_control_system()";
    let system_id: String = control.client().query_one(system_id, &[]).await?.try_get(0)?;
    let source = SourceName { system_id, slot: config.slot.clone() };
    let cluster = match tokio::time::timeout(CLUSTER_TIMEOUT, cluster_health(config, &source)).await {
        Ok(asked) => asked,
        Err(_) => Err(format!("no answer within {} s", CLUSTER_TIMEOUT.as_secs())),
    };
    Ok(Health { server, slot, tables, cluster })
}

async fn slot_health(control: &Control, name: &str, server: Lsn, state: SlotState) -> Result<SlotHealth, ControlError> {
    let query = "select extract(epoch from coalesce(r.replay_lag,
                case when s.active_pid is null then now() - (to_jsonb(s)->>'inactive_since')::timestamptz end))::float8,
            (select nullif(setting, '-1')::int8 from pg_settings where name = 'max_slot_wal_keep_size')
        from pg_replication_slots s left join pg_stat_replication r on r.pid = s.active_pid where s.slot_name = $1";
    let row = control.client().query_opt(query, &[&name]).await?;
    let (seconds, megabytes): (Option<f64>, Option<i64>) = match &row {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (None, None),
    };
    let lag_bytes = server.bytes_since(state.confirmed_flush);
    let lag = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(SlotHealth {
        holder: checks::holder(control.client(), name).await?,
        confirmed: state.confirmed_flush,
        lag_bytes,
        lag: if lag_bytes == 0 { Some(Duration::ZERO) } else { lag },
        retained_bytes: state.restart.map(|restart| server.bytes_since(restart)),
        retained_bytes_max: megabytes.map(|megabytes| megabytes.unsigned_abs() << 20),
        is_lost: state.is_lost(),
        wal_status: state.wal_status.unwrap_or_default(),
    })
}

async fn table_health(control: &Control, table: &TableName) -> Result<Option<TableHealth>, ControlError> {
    let query = "with leaf as (
            select c.oid, c.reltuples from pg_class c
            where c.relkind = 'r' and (c.oid = to_regclass($1::text) or c.oid in
                (select relid from pg_partition_tree(to_regclass($1::text)) where isleaf))
        )
        select (select sum(reltuples) filter (where reltuples >= 0)::int8 from leaf),
            coalesce((select sum(pg_total_relation_size(oid)) from leaf), 0)::int8,
            (select count(*) from pg_inherits where inhparent = to_regclass($1::text))
        where to_regclass($1::text) is not null";
    let Some(row) = control.client().query_opt(query, &[&table.quoted()]).await? else { return Ok(None) };
    let (rows, bytes, partitions): (Option<i64>, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(Some(TableHealth {
        table: table.clone(),
        rows: rows.map(i64::unsigned_abs),
        bytes: bytes.unsigned_abs(),
        partitions: partitions.unsigned_abs(),
    }))
}

async fn cluster_health(config: &ConnectorConfig, source: &SourceName) -> Result<ClusterHealth, String> {
    let client =
        KafkaClient::connect(KafkaCluster::new(config).client_config()).await.map_err(|error| causes::text(&error))?;
    let asked = ask_cluster(&client, config, source).await;
    client.shutdown().await;
    asked
}

async fn ask_cluster(
    client: &KafkaClient,
    config: &ConnectorConfig,
    source: &SourceName,
) -> Result<ClusterHealth, String> {
    let topic = source.progress_topic();
    let progress = match client.admin().describe_topics(std::slice::from_ref(&topic)).await {
        Ok(_) => progress::read(client, &topic).await.map_err(|error| causes::text(&error))?,
        Err(error) if is_missing(&error) => None,
        Err(error) => return Err(causes::text(&error)),
    };
    let dead_letters = match count(client, &config.dead_letter_topic).await {
        Ok(count) => count,
        Err(error) if is_missing(&error) => 0,
        Err(error) => return Err(causes::text(&error)),
    };
    Ok(ClusterHealth { progress, dead_letters })
}

/// Offsets between start and end of all partitions: records, and a marker for each transaction.
async fn count(client: &KafkaClient, topic: &str) -> Result<u64, AdminError> {
    let admin = client.admin();
    admin.describe_topics(&[topic.to_owned()]).await?;
    let sum = |listed: Vec<pillion_client::ListedOffset>| listed.iter().filter_map(|one| one.offset).sum::<i64>();
    let starts = sum(admin.list_offsets(topic, Offset::Earliest).await?);
    let ends = sum(admin.list_offsets(topic, Offset::Latest).await?);
    Ok(ends.saturating_sub(starts).max(0).unsigned_abs())
}

fn is_missing(error: &AdminError) -> bool {
    error.error_code() == Some(ErrorCode::UnknownTopicOrPartition)
}
