//! The order history: a read model that answers what a customer has ordered, without asking the services that know.
//!
//! It reads the events of all of them, in batches, and keeps a row per order. What it shows is a little behind, and
//! right in the end, whatever the sequence in which the topics are read. `--rebuild` empties the tables and replays the
//! topics from offset 0; the tables are the same afterwards.

mod orders;

use anyhow::Result;
use axum::extract::{Path, Query, State};
use axum::routing::get;
use axum::{Json, Router};
use pillion_saga::database::{Database, begin, commit, query};
use pillion_saga::http::{Failure, serve, stop_on_signal};
use pillion_saga::messaging::{POSITIONS_TABLE, Projection, rewind};
use pillion_saga::settings::Settings;
use pillion_saga::telemetry;
use serde::Deserialize;
use serde_json::{Value, json};

const TABLES: &str = include_str!("../../../sql/history.sql");

/// Orders of one answer at most, and unless the caller asks for fewer.
const ORDERS_MAX: i64 = 100;

/// Runs the service until it is told to stop.
///
/// # Errors
/// When the settings are wrong, or what it needs is not to be had.
pub(crate) fn main() -> Result<()> {
    let (settings, flags) = Settings::read_with(&["--rebuild"])?;
    telemetry::run("history", run(&settings, !flags.is_empty()))
}

async fn run(settings: &Settings, rebuild: bool) -> Result<()> {
    let tables = format!("{}\n{TABLES}", POSITIONS_TABLE);
    let database = Database::open(settings, "history", &tables).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let brokers = settings.bootstrap_servers.as_str();
    let projection =
        Projection { bootstrap_servers: brokers, name: "history", events: &orders::EVENTS, database: &database };
    if rebuild {
        forget(&database).await?;
        return projection.catch_up(&stop, orders::build).await;
    }
    let routes = Router::new().route("/customers/{customer}/orders", get(orders_of)).with_state(database.clone());
    tokio::try_join!(serve(&settings.http_listen, routes, stop.clone()), projection.follow(&stop, orders::build))?;
    Ok(())
}

/// A service that runs meanwhile notices the positions that moved, and reads again, too.
async fn forget(database: &Database) -> Result<()> {
    let mut connection = database.connection().await?;
    let transaction = begin(&mut connection).await?;
    rewind(&transaction).await?;
    orders::forget(&transaction).await?;
    commit(transaction).await
}

#[derive(Deserialize)]
struct Page {
    /// How many, the newest first.
    limit: Option<i64>,
}

async fn orders_of(
    State(database): State<Database>,
    Path(customer): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<Value>, Failure> {
    let limit = page.limit.unwrap_or(ORDERS_MAX).clamp(1, ORDERS_MAX);
    // The connector's clock: text, as the database writes it, needs no crate for times.
    let find = "SELECT order_id::text, sku, quantity, amount_cents, state, payment, stock, reason,
                    to_char(placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS placed_at,
                    to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS ended_at
                FROM orders WHERE customer = $1 ORDER BY placed_at DESC, order_id DESC LIMIT $2";
    let connection = database.connection().await?;
    let mut orders = Vec::new();
    for row in query(&connection, find, &[&customer, &limit]).await? {
        orders.push(json!({
            "orderId": row.try_get::<_, String>("order_id")?,
            "sku": row.try_get::<_, Option<String>>("sku")?,
            "quantity": row.try_get::<_, Option<i32>>("quantity")?,
            "amountCents": row.try_get::<_, Option<i64>>("amount_cents")?,
            "state": row.try_get::<_, String>("state")?,
            "payment": row.try_get::<_, Option<String>>("payment")?,
            "stock": row.try_get::<_, Option<String>>("stock")?,
            "reason": row.try_get::<_, Option<String>>("reason")?,
            "placedAt": row.try_get::<_, Option<String>>("placed_at")?,
            "endedAt": row.try_get::<_, Option<String>>("ended_at")?,
        }));
    }
    Ok(Json(json!({ "customer": customer, "orders": orders })))
}
