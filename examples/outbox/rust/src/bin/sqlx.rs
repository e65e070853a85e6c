//! Writes an outbox and reads its events with sqlx; see the library for the command line.

use anyhow::{Result, ensure};
use pillion_outbox::Event;
use pillion_outbox::sqlx::{inbox, outbox};
use pillion_outbox_example::{Order, begin, consumer, event_id, header, order_id, traceparent};
use rdkafka::consumer::{CommitMode, Consumer as _};
use serde_json::json;
use sqlx::PgPool;
use tracing::{Instrument as _, info_span};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<()> {
    match begin()? {
        Order::Write { postgres, orders } => write(&PgPool::connect(&postgres).await?, orders).await,
        Order::Read { postgres, bootstrap, group, records } => {
            read(&PgPool::connect(&postgres).await?, &bootstrap, &group, records).await
        }
    }
}

async fn write(pool: &PgPool, orders: i64) -> Result<()> {
    for order_id in 1..=orders {
        let span = info_span!("place order");
        if let Ok(event_id) = place_order(pool, order_id, order_id % 5 != 0).instrument(span.clone()).await {
            println!("{event_id}\t{}", traceparent(&span));
        }
    }
    Ok(())
}

// region: write
async fn place_order(pool: &PgPool, order_id: i64, in_stock: bool) -> Result<Uuid> {
    let mut transaction = pool.begin().await?;
    let insert = "INSERT INTO orders (id, state) VALUES ($1, 'PLACED')";
    sqlx::query(insert).bind(order_id).execute(&mut *transaction).await?;
    let placed = Event::new("order", order_id, "OrderPlaced").json(&json!({"order": order_id, "total": 100}))?;
    let event_id = outbox::insert(&mut transaction, placed).await?; // with the current span's trace context
    ensure!(in_stock, "sold out"); // dropped without a commit, the transaction is rolled back: no order, no event
    transaction.commit().await?;
    Ok(event_id)
}
// endregion

// region: read
async fn read(pool: &PgPool, bootstrap: &str, group: &str, records: usize) -> Result<()> {
    let consumer = consumer(bootstrap, group)?;
    for _ in 0..records {
        let record = consumer.recv().await?;
        let (event_id, order_id) = (event_id(&record)?, order_id(&record)?);
        let mut transaction = pool.begin().await?;
        let is_first = inbox::once(&mut transaction, event_id).await?;
        if is_first {
            let pay = "INSERT INTO payments (order_id) VALUES ($1)";
            sqlx::query(pay).bind(order_id).execute(&mut *transaction).await?;
        }
        transaction.commit().await?; // the effect and the memory of it, together
        consumer.commit_message(&record, CommitMode::Sync)?; // only then: a crash before it repeats the record
        if is_first {
            println!("{event_id}\t{}", header(&record, "traceparent")?);
        }
    }
    Ok(())
}
// endregion
