//! The customer service: registers customers, and keeps the points that the loyalty service grants them.
//!
//! `POST /customers` is the first trace to try: HTTP, SQL, and by the outbox to the loyalty service.

use anyhow::Result;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::Transaction;
use pillion_saga::database::{Database, begin, commit, execute, query_opt};
use pillion_saga::http::{Failure, serve, stop_on_signal};
use pillion_saga::loyalty::{CUSTOMER_REGISTERED, CustomerRegistered, POINTS_GRANTED, PointsGranted};
use pillion_saga::messaging::{Event, InTransaction, React, Subscription, consume};
use pillion_saga::settings::Settings;
use pillion_saga::traced::Traced as _;
use pillion_saga::{outbox, telemetry, trace_context};
use serde::Deserialize;
use serde_json::json;
use tracing::{info, info_span};
use uuid::Uuid;

const TABLES: &str = include_str!("../../../sql/customers.sql");

/// Longer bodies are refused.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// Characters of a name, and of an e-mail address (RFC 5321: 64 before and 255 behind the sign).
const TEXT_MAX: usize = 320;

/// Runs the service until it is told to stop.
///
/// # Errors
/// When the settings are wrong, or what it needs is not to be had.
pub(crate) fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run("customer", run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let database = Database::open(settings, "customer", TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let routes = Router::new()
        .route("/customers", post(register))
        .route("/customers/{id}", get(show))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(database.clone());
    let stop = stop_on_signal()?;
    let subscription = Subscription { group: "customer", events: &[POINTS_GRANTED] };
    tokio::try_join!(
        serve(&settings.http_listen, routes, stop.clone()),
        consume(subscription, settings, InTransaction { database, reaction: KeepPoints }, stop.clone()),
    )?;
    Ok(())
}

#[derive(Deserialize)]
struct NewCustomer {
    name: String,
    email: String,
}

impl NewCustomer {
    fn is_plausible(&self) -> bool {
        let is_text = |text: &str| !text.trim().is_empty() && text.chars().count() <= TEXT_MAX && !text.contains('\0');
        is_text(&self.name) && is_text(&self.email) && self.email.contains('@')
    }
}

async fn register(State(database): State<Database>, Json(new): Json<NewCustomer>) -> Result<Response, Failure> {
    if !new.is_plausible() {
        let body = json!({ "error": format!("name and email must have up to {TEXT_MAX} characters, email an @") });
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response());
    }
    let id = Uuid::now_v7();
    let inserted = insert(&database, id, &new).traced(info_span!("register customer", customer.id = %id));
    if !inserted.await? {
        let body = json!({ "error": format!("there is a customer with the address {} already", new.email) });
        return Ok((StatusCode::CONFLICT, Json(body)).into_response());
    }
    let trace_id = trace_context::current_trace_id().map(|id| id.to_string());
    Ok((StatusCode::CREATED, Json(json!({ "customerId": id, "traceId": trace_id }))).into_response())
}

/// `false` when the address is taken.
async fn insert(database: &Database, id: Uuid, new: &NewCustomer) -> Result<bool> {
    let mut connection = database.connection().await?;
    let transaction = begin(&mut connection).await?;
    let insert = "INSERT INTO customers (id, name, email) VALUES ($1, $2, $3) ON CONFLICT (email) DO NOTHING";
    if execute(&transaction, insert, &[&id, &new.name, &new.email]).await? == 0 {
        return Ok(false);
    }
    let event = CustomerRegistered { customer_id: id, name: new.name.clone(), email: new.email.clone() };
    outbox::publish(&transaction, CUSTOMER_REGISTERED, id, &event).await?;
    commit(transaction).await?;
    Ok(true)
}

async fn show(State(database): State<Database>, Path(id): Path<Uuid>) -> Result<Response, Failure> {
    let connection = database.connection().await?;
    let find = "SELECT name, email, points FROM customers WHERE id = $1";
    let Some(row) = query_opt(&connection, find, &[&id]).await? else {
        let body = json!({ "error": format!("there is no customer {id}") });
        return Ok((StatusCode::NOT_FOUND, Json(body)).into_response());
    };
    Ok(Json(json!({
        "customerId": id,
        "name": row.try_get::<_, String>("name")?,
        "email": row.try_get::<_, String>("email")?,
        "points": row.try_get::<_, i64>("points")?,
    }))
    .into_response())
}

/// Keeps a copy of the points. The newest version counts, in whatever order they come. Who is no customer of ours has no
/// row, and no points here.
struct KeepPoints;

impl React for KeepPoints {
    async fn react(&self, transaction: &Transaction<'_>, event: &Event) -> Result<()> {
        let granted: PointsGranted = event.payload()?;
        let Ok(customer) = Uuid::parse_str(&granted.customer) else { return Ok(()) };
        let update = "UPDATE customers SET points = $2, points_version = $3 WHERE id = $1 AND points_version < $3";
        if execute(transaction, update, &[&customer, &granted.balance, &granted.version]).await? == 0 {
            info!("version {} of the points of {customer} is not newer than ours", granted.version);
        }
        Ok(())
    }
}
