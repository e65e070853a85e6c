//! What must be true of a database before its outbox can be replicated, each failure with its fix.
//!
//! The connector asks before each session, so that it stops with the reason rather than with Postgres' words;
//! [`examine`], for `pillion doctor`, asks the same and more: what will become a problem, the stream's own way to the
//! server, and the broker.

mod advice;
mod broker;
mod columns;
mod examination;
mod failure;
mod publication;
mod server;
mod slot;

use tokio_postgres::Client;

use crate::control::{Control, ControlError};
use crate::outbox::Source;
use crate::postgres_url::PostgresUrl;

pub(crate) use columns::relation;
pub use examination::{Check, Finding, Verdict, examine, examine_database};
pub use failure::CheckFailure;
pub(crate) use slot::{SlotState, slot_made_at, slot_state, until_slot_is_free};

/// Connects and checks everything; the list is empty when the connector can start.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked.
pub async fn run(url: &PostgresUrl, source: &Source) -> Result<Vec<CheckFailure>, ControlError> {
    let control = Control::connect(url).await?;
    let mut failures = Vec::new();
    server(control.client(), &mut failures).await?;
    self::source(control.client(), source, &mut failures).await?;
    Ok(failures)
}

/// Checks what holds for the whole server.
pub(crate) async fn server(client: &Client, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    server::check(client, failures).await
}

/// Checks what is to be replicated.
pub(crate) async fn source(
    client: &Client,
    source: &Source,
    failures: &mut Vec<CheckFailure>,
) -> Result<(), ControlError> {
    publication::check(client, source, failures).await?;
    slot::check(client, &source.slot, failures).await
}

/// Checks that the publication has the tables, as long as the connector runs.
pub(crate) async fn published(
    client: &Client,
    source: &Source,
    failures: &mut Vec<CheckFailure>,
) -> Result<(), ControlError> {
    publication::check(client, source, failures).await
}

/// Who holds the slot, for a message; `None` when nobody does any more.
pub(crate) async fn slot_holder(url: &PostgresUrl, slot: &str) -> Result<Option<String>, ControlError> {
    holder(Control::connect(url).await?.client(), slot).await
}

pub(crate) async fn holder(client: &Client, slot: &str) -> Result<Option<String>, ControlError> {
    let query = "select coalesce(a.application_name, '') || ' (process ' || s.active_pid || coalesce(' from ' || host(a.client_addr), '') || ')'
        from pg_replication_slots s left join pg_stat_activity a on a.pid = s.active_pid
        where s.slot_name = $1 and s.active_pid is not null";
    let row = client.query_opt(query, &[&slot]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
