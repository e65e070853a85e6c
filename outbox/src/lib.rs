//! For services that write an outbox, and for those that read what comes of it.
//!
//! A service inserts its events in the transaction that makes them true; a connector publishes each committed row.
//! [`outbox::insert`] writes the row that Debezium's outbox event router and pillion expect, with the trace context of
//! the current span. [`inbox::once`] lets a consumer act upon an event once, however often it is delivered.
//!
//! ```no_run
//! use pillion_outbox::{Event, outbox};
//! # async fn pay(client: &mut tokio_postgres::Client, order_id: i64) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let transaction = client.transaction().await?;
//! transaction.execute("UPDATE orders SET state = 'PAID' WHERE id = $1", &[&order_id]).await?;
//! let paid = Event::new("order", order_id, "OrderPaid").json(&serde_json::json!({"total": 100}))?;
//! outbox::insert(&transaction, paid).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`outbox`] and [`inbox`] are for tokio-postgres, whose transactions deadpool-postgres and bb8-postgres lend too. With
//! the feature `sqlx`, `sqlx::outbox` and `sqlx::inbox` are the same for sqlx.
//!
//! What is the current span: [`opentelemetry::Context::current`], which tracing-opentelemetry (0.31 and later) keeps at
//! the entered `tracing` span. Service and crate must use one version of `opentelemetry`; else the column stays NULL, or
//! is given by [`Event::trace_context`].
//!
//! Invariant: nothing here begins, commits or rolls back; what is written counts when the caller's transaction does.

mod error;
mod event;
#[cfg(feature = "tokio-postgres")]
pub mod inbox;
#[cfg(feature = "tokio-postgres")]
pub mod outbox;
#[cfg(feature = "sqlx")]
pub mod sqlx;
mod statement;
mod table;
mod trace;

pub use error::Error;
pub use event::Event;
pub use statement::INBOX_TABLE;
pub use table::Table;
