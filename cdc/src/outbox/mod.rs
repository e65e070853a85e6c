//! What a database needs for its outbox, and what an outbox needs in its life: setting up, a look at it, removing old
//! rows, publishing again.
//!
//! [`init_sql`] is what [`apply`] runs: what is printed is what happens. Each statement may be run again, and leaves
//! alone what exists. [`statements`] has the text.

mod dead_letter;
mod health;
mod partitions;
mod probe;
mod prune;
mod republish;
mod row_time;
mod statements;

use crate::control::{Control, ControlError};
use crate::postgres_url::PostgresUrl;
use crate::quoting::TableName;

pub use dead_letter::{DeadLetter, Emitted, WriteBackError, write_back};
pub use health::{ClusterHealth, Health, SlotHealth, TableHealth, health};
pub use partitions::Interval;
pub use probe::Probe;
pub use prune::{PruneError, PruneOptions, Pruned, prune};
pub use republish::{
    FromError, Plan, PlannedTable, RepublishError, RepublishFrom, Republished, plan, republish, republish_with,
};
pub use row_time::NoRowTime;

#[cfg(test)]
mod tests;

/// Where the connector's rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The outbox tables.
    pub tables: Vec<TableName>,
    /// The publication that contains them.
    pub publication: String,
    /// The replication slot, 1 to 63 of `a-z 0-9 _`.
    pub slot: String,
}

/// How tables are made and for whom; the default is plain tables and no role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// A login role to make for the connector and the commands around it.
    pub role: Option<String>,
    /// Tables of partitions by time, each this long, so that old rows go by dropping a partition.
    pub partitions: Option<Interval>,
}

/// Statements that make what is missing of `source`, in order, each with a comment above it. Each must be run by
/// itself: Postgres makes no slot in a transaction that has written.
pub fn init_statements(source: &Source, setup: &Setup) -> Vec<String> {
    let mut made = Vec::new();
    let mut schemas: Vec<&str> = source.tables.iter().map(|table| table.schema.as_str()).collect();
    schemas.sort_unstable();
    schemas.dedup();
    made.extend(schemas.iter().filter(|schema| **schema != "public").map(|schema| statements::create_schema(schema)));
    for table in &source.tables {
        match setup.partitions {
            None => made.push(statements::create_table(table)),
            Some(interval) => {
                made.push(partitions::create_table(table));
                made.push(partitions::create_ahead(table, interval));
            }
        }
    }
    made.push(statements::create_publication(&source.publication));
    made.extend(source.tables.iter().map(|table| statements::add_to_publication(&source.publication, table)));
    if let Some(role) = &setup.role {
        made.push(statements::create_role(role));
        made.extend(schemas.iter().map(|schema| statements::grant_schema(schema, role)));
        made.extend(source.tables.iter().map(|table| statements::grant_table(table, role, setup.partitions.is_some())));
    }
    made.push(statements::create_slot(source));
    made
}

/// Makes plain tables where they are missing, and their schemas; all that polling needs.
pub(crate) async fn create_tables(control: &Control, tables: &[TableName]) -> Result<(), ControlError> {
    for table in tables {
        if table.schema != "public" {
            control.client().batch_execute(&statements::create_schema(&table.schema)).await?;
        }
        control.client().batch_execute(&statements::create_table(table)).await?;
    }
    Ok(())
}

/// The statements of [`init_statements`] as one script for `psql`, without `--single-transaction`.
pub fn init_sql(source: &Source, setup: &Setup) -> String {
    init_statements(source, setup).join("\n\n") + "\n"
}

/// The statements that make a consumer's inbox, in the consumer's database: it remembers which events were processed,
/// in the transaction that processed them, so that an event which comes again is recognised.
pub fn inbox_statements(table: &TableName) -> Vec<String> {
    let schema = (table.schema != "public").then(|| statements::create_schema(&table.schema));
    schema.into_iter().chain([statements::create_inbox(table)]).collect()
}

/// Runs [`init_statements`] in the database.
///
/// # Errors
/// [`ControlError`] when the database cannot be reached or refuses a statement; those before it stay.
pub async fn apply(url: &PostgresUrl, source: &Source, setup: &Setup) -> Result<(), ControlError> {
    let control = Control::connect(url).await?;
    apply_with(&control, source, setup).await
}

/// Runs [`inbox_statements`] in the database.
///
/// # Errors
/// As [`apply`].
pub async fn apply_inbox(url: &PostgresUrl, table: &TableName) -> Result<(), ControlError> {
    run_each(&Control::connect(url).await?, inbox_statements(table)).await
}

pub(crate) async fn apply_with(control: &Control, source: &Source, setup: &Setup) -> Result<(), ControlError> {
    run_each(control, init_statements(source, setup)).await
}

/// Makes everything but the slot.
pub(crate) async fn apply_without_slot(control: &Control, source: &Source) -> Result<(), ControlError> {
    let mut statements = init_statements(source, &Setup::default());
    // The last one: Postgres makes no slot in a transaction that has written, so it is a statement of its own.
    statements.pop();
    run_each(control, statements).await
}

/// A lock of this database's that whoever sets it up holds meanwhile; its number is `pillion` in hexadecimal.
const LOCK: &str = "select pg_advisory_lock(x'70696c6c696f6e'::bigint)";
const UNLOCK: &str = "select pg_advisory_unlock(x'70696c6c696f6e'::bigint)";

/// One after another, and no two connectors at once: `CREATE … IF NOT EXISTS` fails beside itself.
async fn run_each(control: &Control, statements: Vec<String>) -> Result<(), ControlError> {
    control.client().batch_execute(LOCK).await?;
    let mut outcome = Ok(());
    for statement in statements {
        outcome = control.client().batch_execute(&statement).await;
        if outcome.is_err() {
            break;
        }
    }
    // It would be held as long as the connection, which the connector keeps.
    let unlocked = control.client().batch_execute(UNLOCK).await;
    // The first reason is the one that matters.
    Ok(outcome.and(unlocked)?)
}
