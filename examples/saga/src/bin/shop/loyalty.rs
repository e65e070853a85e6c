//! The loyalty service, event first: what it decides it publishes, and it believes only what it reads.
//!
//! ```text
//! CustomerRegistered, MailSent ─▶ decide on the account as it is ─▶ its topic ─▶ accounts, grants
//!                                            ▲                                     │
//!                                            └─────────── what has become of it ◀──┘
//! ```
//! It has no outbox: the topic is the truth, and a row nobody could read from it does not exist. Its tables are in a
//! database, not in memory, so that a start does not read years of events and memory does not grow with them; the
//! positions it has read to lie beside them. `--rebuild` empties both and replays the topic from offset 0.

mod accounts;
mod earning;
mod granting;

use anyhow::Result;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use pillion_saga::database::{Database, begin, commit, execute};
use pillion_saga::http::{Failure, serve, stop_on_signal};
use pillion_saga::loyalty::POINTS_GRANTED;
use pillion_saga::messaging::{POSITIONS_TABLE, Projection, Subscription, consume, rewind};
use pillion_saga::settings::Settings;
use pillion_saga::telemetry;
use serde_json::json;

use crate::loyalty::granting::Granting;

const TABLES: &str = include_str!("../../../sql/loyalty.sql");

/// Runs the service until it is told to stop.
///
/// # Errors
/// When the settings are wrong, or what it needs is not to be had.
pub(crate) fn main() -> Result<()> {
    let (settings, flags) = Settings::read_with(&["--rebuild"])?;
    telemetry::run("loyalty", run(&settings, !flags.is_empty()))
}

async fn run(settings: &Settings, rebuild: bool) -> Result<()> {
    let tables = format!("{}\n{TABLES}", POSITIONS_TABLE);
    let database = Database::open(settings, "loyalty", &tables).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let brokers = settings.bootstrap_servers.as_str();
    let own =
        Projection { bootstrap_servers: brokers, name: "loyalty", events: &[POINTS_GRANTED], database: &database };
    if rebuild {
        forget(&database).await?;
        return own.catch_up(&stop, accounts::build).await;
    }
    let granting = Granting::new(brokers, database.clone())?;
    let routes = Router::new().route("/customers/{id}/points", get(show)).with_state(database.clone());
    let causes = Subscription { group: "loyalty", events: &earning::EVENTS };
    tokio::try_join!(
        serve(&settings.http_listen, routes, stop.clone()),
        own.follow(&stop, accounts::build),
        consume(causes, settings, granting, stop.clone()),
    )?;
    Ok(())
}

/// An instance that runs meanwhile notices the positions that moved, and reads again, too.
async fn forget(database: &Database) -> Result<()> {
    let mut connection = database.connection().await?;
    let transaction = begin(&mut connection).await?;
    rewind(&transaction).await?;
    execute(&transaction, "DELETE FROM grants", &[]).await?;
    execute(&transaction, "DELETE FROM accounts", &[]).await?;
    commit(transaction).await
}

async fn show(State(database): State<Database>, Path(customer): Path<String>) -> Result<Response, Failure> {
    let Some(account) = accounts::find(&database, &customer).await? else {
        let body = json!({ "error": format!("{customer} has no points") });
        return Ok((StatusCode::NOT_FOUND, Json(body)).into_response());
    };
    let body = json!({ "customer": customer, "points": account.points, "version": account.version });
    Ok(Json(body).into_response())
}
