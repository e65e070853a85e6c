//! Publishes rows that are still in the table once more: for a cluster that lost its topics.
//!
//! The same router and the same client as the connector's, records the same byte for byte but for the timestamp where
//! the time of commit is not kept. Delivery is at least once, and consumers see repeated events with the id they had:
//! an inbox makes them harmless. Progress and slot are left alone.
//!
//! The order is that of the commits where that can be known: by position (`pg_walinspect`) or by commit time
//! (`track_commit_timestamp`); otherwise that in which rows were written, which may differ for transactions that ran
//! side by side. A connector that runs meanwhile would put newer events of a key before older ones, so it is refused.

mod error;
mod from;
mod selection;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use crate::checks;
use crate::config::{ConnectorConfig, Delivery, OnError};
use crate::control::Control;
use crate::pgoutput::Cell;
use crate::progress::SourceName;
use crate::publish::{Cluster, KafkaCluster, Publisher};
use crate::quoting::{TableName, identifier};
use crate::router::{OutboxEvent, Router, TableLayout};

pub use error::RepublishError;
pub use from::{FromError, RepublishFrom};
use selection::Selection;

/// Rows fetched at a time.
const FETCH_ROWS: usize = 500;
/// Records sent and not yet acknowledged.
const UNACKNOWLEDGED_MAX: usize = 1000;
/// Values print as in the stream, whatever the role's settings are.
const SETTINGS: &str = "set datestyle = 'ISO'; set intervalstyle = 'postgres'; set timezone = 'UTC'; set bytea_output = 'hex'; set extra_float_digits = 1";

/// What would be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The tables, in the order in which they are published: one after the other.
    pub tables: Vec<PlannedTable>,
    /// Who streams from the slot at the moment.
    pub holder: Option<String>,
}

/// Rows of one table that would be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTable {
    /// The table.
    pub table: TableName,
    /// How many rows.
    pub rows: u64,
    /// What they are ordered by, in words.
    pub order: &'static str,
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Republished {
    /// Records by topic.
    pub topics: BTreeMap<String, u64>,
    /// Rows left out because of `on.error`, with why.
    pub left_out: Vec<String>,
}

/// Counts what would be published. Needs SELECT on the tables, and for positions membership in `pg_read_server_files`.
///
/// # Errors
/// [`RepublishError`].
pub async fn plan(config: &ConnectorConfig, from: &RepublishFrom) -> Result<Plan, RepublishError> {
    let control = begin(config, from).await?;
    let client = control.client();
    let mut tables = Vec::with_capacity(config.tables.len());
    for table in included(client, config, from).await? {
        let Selection { rows, order_name, .. } = selection::selection(client, table, config, from).await?;
        let count: i64 = client.query_one(&format!("select count(*) from {rows}"), &[]).await?.try_get(0)?;
        tables.push(PlannedTable { table: table.clone(), rows: count.unsigned_abs(), order: order_name });
    }
    Ok(Plan { tables, holder: checks::holder(client, &config.slot).await? })
}

/// Publishes it to the cluster at `bootstrap_servers`. Needs what [`plan`] needs.
///
/// # Errors
/// [`RepublishError`] says where to go on.
pub async fn republish(config: &ConnectorConfig, from: &RepublishFrom) -> Result<Republished, RepublishError> {
    // Without a transactional id: the connector's own would fence it.
    let at_least_once = ConnectorConfig { delivery: Delivery::AtLeastOnce, ..config.clone() };
    republish_with(config, from, &KafkaCluster::new(&at_least_once)).await
}

/// [`republish`], to `cluster` instead.
///
/// # Errors
/// As [`republish`].
pub async fn republish_with<C: Cluster>(
    config: &ConnectorConfig,
    from: &RepublishFrom,
    cluster: &C,
) -> Result<Republished, RepublishError> {
    let router = Router::new(config.router.clone())?;
    let control = begin(config, from).await?;
    let client = control.client();
    if let Some(holder) = checks::holder(client, &config.slot).await? {
        return Err(RepublishError::Running { slot: config.slot.clone(), holder });
    }
    let tables = included(client, config, from).await?;
    let system_id = "select system_identifier::text from pg_control_system()";
    let source =
        SourceName { system_id: client.query_one(system_id, &[]).await?.try_get(0)?, slot: config.slot.clone() };
    let publisher = cluster.connect(&source).await.map_err(RepublishError::Cluster)?;
    let mut sender = Sender { publisher, unacknowledged: VecDeque::new(), published: Republished::default() };
    let mut outcome = Ok(());
    for table in tables {
        outcome = publish_table(client, table, (config, from, &router), &mut sender).await;
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        outcome = sender.settle(0).await;
    }
    sender.publisher.close().await;
    outcome.map(|()| sender.published)
}

/// A transaction in which everything is read, so that all tables are seen as of one moment.
async fn begin(config: &ConnectorConfig, from: &RepublishFrom) -> Result<Control, RepublishError> {
    let control = Control::connect(&config.postgres).await?;
    control.client().batch_execute(SETTINGS).await?;
    control.client().batch_execute("begin isolation level repeatable read").await?;
    selection::prepare(control.client(), from).await?;
    Ok(control)
}

/// The tables that are meant: all of them, or the one that has the event.
async fn included<'c>(
    client: &Client,
    config: &'c ConnectorConfig,
    from: &RepublishFrom,
) -> Result<Vec<&'c TableName>, RepublishError> {
    let RepublishFrom::Id(id) = from else { return Ok(config.tables.iter().collect()) };
    for table in &config.tables {
        if selection::has_event(client, table, config, id).await? {
            return Ok(vec![table]);
        }
    }
    Err(RepublishError::NoEvent { id: id.clone() })
}

async fn publish_table<P: Publisher>(
    client: &Client,
    table: &TableName,
    (config, from, router): (&ConnectorConfig, &RepublishFrom, &Router),
    sender: &mut Sender<P>,
) -> Result<(), RepublishError> {
    let relation = checks::relation(client, &config.publication, table).await?;
    let layout = router.layout(&relation)?;
    let Selection { rows, order, time, .. } = selection::selection(client, table, config, from).await?;
    let columns: Vec<String> =
        relation.columns.iter().map(|column| format!("t.{}", identifier(&column.name))).collect();
    let declare = format!(
        "declare pillion_rows no scroll cursor for select (extract(epoch from {time}) * 1000)::int8, {} from {rows} order by {order}",
        columns.join(", ")
    );
    client.batch_execute(&declare).await?;
    loop {
        let fetched = client.simple_query(&format!("fetch {FETCH_ROWS} from pillion_rows")).await?;
        let mut count = 0;
        for message in &fetched {
            let SimpleQueryMessage::Row(row) = message else { continue };
            count += 1;
            publish_row(row, &layout, (config, router), sender).await?;
        }
        if count < FETCH_ROWS {
            break;
        }
    }
    client.batch_execute("close pillion_rows").await?;
    Ok(())
}

async fn publish_row<P: Publisher>(
    row: &SimpleQueryRow,
    layout: &TableLayout,
    (config, router): (&ConnectorConfig, &Router),
    sender: &mut Sender<P>,
) -> Result<(), RepublishError> {
    // The simple protocol prints values as the stream does.
    let cell = |index| row.get(index).map_or(Cell::Null, |text| Cell::Text(Bytes::copy_from_slice(text.as_bytes())));
    let cells: Vec<Cell> = (1..row.len()).map(cell).collect();
    let time_ms = row.get(0).and_then(|text| text.parse().ok()).unwrap_or(0);
    let id = layout.id_of(&cells).map(|id| String::from_utf8_lossy(&id).into_owned()).unwrap_or_default();
    match router.route(layout, &cells, time_ms) {
        Ok(event) => sender.send(event, id).await,
        Err(source) if config.on_error == OnError::Stop => Err(RepublishError::Row { id, source }),
        Err(source) => {
            sender.published.left_out.push(format!("{id}: {source}"));
            Ok(())
        }
    }
}

/// Sends in order and waits for acknowledgements in order.
struct Sender<P: Publisher> {
    publisher: P,
    unacknowledged: VecDeque<(String, P::Acknowledgement)>,
    published: Republished,
}

impl<P: Publisher> Sender<P> {
    async fn send(&mut self, event: OutboxEvent, id: String) -> Result<(), RepublishError> {
        let first = || self.unacknowledged.front().map_or_else(|| id.clone(), |(id, _)| id.clone());
        if !self.published.topics.contains_key(&*event.topic) {
            let ensured = self.publisher.ensure_topic(&event.topic).await;
            ensured.map_err(|source| RepublishError::Publish { from: first(), source })?;
        }
        *self.published.topics.entry(event.topic.to_string()).or_default() += 1;
        let sent = self.publisher.send(event, true).await;
        let acknowledgement = sent.map_err(|source| RepublishError::Publish { from: first(), source })?;
        self.unacknowledged.extend(acknowledgement.map(|acknowledgement| (id, acknowledgement)));
        self.settle(UNACKNOWLEDGED_MAX).await
    }

    /// Waits until at most `rest` are not acknowledged.
    async fn settle(&mut self, rest: usize) -> Result<(), RepublishError> {
        while self.unacknowledged.len() > rest {
            let Some((id, acknowledgement)) = self.unacknowledged.pop_front() else { break };
            acknowledgement.await.map_err(|source| RepublishError::Publish { from: id, source })?;
        }
        Ok(())
    }
}
