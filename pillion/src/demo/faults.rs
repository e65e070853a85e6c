//! One story a fault: what is done, what is seen, and whether it ended right.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use pillion_client::{ConsumedRecord, Header, Producer, ProducerConfig, ProducerRecord};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use super::event::Event;
use super::fault::Fault;
use super::http;
use super::saga_check::{IS_COMPENSATED, IS_DECLINED, IS_LED_BACK, SUCCEEDS, SagaCheck};
use super::setting_up::Stage;
use super::show::{self, ENDED, order};

/// What a client waits at most for an answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);

/// Bound of waiting for a saga's end once its events have come.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// Tells the fault's story on standard output.
///
/// # Errors
/// When it does not end as it must.
pub(super) async fn show(fault: Fault, stage: &mut Stage, orders: SocketAddr) -> Result<()> {
    println!("\n{}\n", fault.about());
    match fault {
        Fault::PaymentDeclined => {
            let order = json!({ "customer": "Ada", "sku": "bicycle", "quantity": 1, "amountCents": 2_000_000 });
            let check = SagaCheck::new(show::place(orders, &order).await?, &IS_DECLINED);
            run(stage, orders, vec![check], "ABORTED").await
        }
        Fault::OutOfStock => {
            let choreographed = show::place(orders, &order("unicorn", "choreographed")).await?;
            let orchestrated = show::place(orders, &order("unicorn", "orchestrated")).await?;
            let checks =
                vec![SagaCheck::new(choreographed, &IS_COMPENSATED), SagaCheck::new(orchestrated, &IS_LED_BACK)];
            run(stage, orders, checks, "COMPENSATED").await
        }
        Fault::DbPaused => db_paused(stage, orders).await,
        Fault::SlowPayment => slow_payment(stage, orders).await,
        Fault::DuplicateEvents => duplicate_events(stage, orders).await,
        Fault::Poison => poison(stage, orders).await,
    }
}

/// Shows the events until all have come, and each saga's steps.
async fn run(stage: &mut Stage, orders: SocketAddr, mut checks: Vec<SagaCheck>, end: &str) -> Result<()> {
    println!("{}", Event::heading());
    show::judge(&mut stage.consumer, &mut checks).await?;
    for check in &checks {
        show_saga(orders, check.order_id(), end).await?;
    }
    Ok(())
}

async fn db_paused(stage: &mut Stage, orders: SocketAddr) -> Result<()> {
    let detour = stage.detour.as_ref().context("the database has a way that can be closed")?;
    detour.close(true);
    println!("  the database stands still; an order is placed all the same …");
    let asked = Instant::now();
    let status = http::post_for_status(orders, "/orders", &order("bicycle", "choreographed")).await;
    let took = asked.elapsed();
    detour.close(false);
    let status = status?;
    println!("  HTTP {status} after {:.1} s; the database goes on\n", took.as_secs_f64());
    ensure!(status == 500 && took < CLIENT_PATIENCE, "expected HTTP 500 within {CLIENT_PATIENCE:?}");
    let check = SagaCheck::new(show::place(orders, &order("bicycle", "choreographed")).await?, &SUCCEEDS);
    run(stage, orders, vec![check], "COMPLETED").await
}

async fn slow_payment(stage: &mut Stage, orders: SocketAddr) -> Result<()> {
    let order_id = show::place(orders, &order("bicycle", "choreographed")).await?;
    // Asked twice, or more on a slow machine; what follows from the answers is repeated, too.
    let check = SagaCheck::new(order_id.clone(), &SUCCEEDS).copies(1..=usize::MAX);
    run(stage, orders, vec![check], "COMPLETED").await?;
    let saga = http::get_json(orders, &format!("/orders/{order_id}")).await?;
    ensure!(saga["steps"].to_string().contains("asked again"), "nobody had to ask again: {saga}");
    one_payment(stage, &order_id).await
}

async fn duplicate_events(stage: &mut Stage, orders: SocketAddr) -> Result<()> {
    let order_id = show::place(orders, &order("bicycle", "choreographed")).await?;
    // The mailer has no inbox: asked twice it answers twice, under the same id, and each answer is repeated here.
    let mut checks = [SagaCheck::new(order_id.clone(), &SUCCEEDS).copies(2..=4)];
    let producer = stage.client.producer(ProducerConfig::default());
    let mut seen = HashSet::new();
    println!("{}", Event::heading());
    let deadline = Instant::now() + END_PATIENCE;
    while !checks[0].is_complete() && Instant::now() < deadline {
        for (record, event) in show::next(&mut stage.consumer, &mut checks).await? {
            if event.key == order_id && seen.insert(event.id) {
                publish(&producer, again(&record)).await?;
            }
        }
    }
    show::judge(&mut stage.consumer, &mut checks).await?;
    show_saga(orders, &order_id, "COMPLETED").await?;
    one_payment(stage, &order_id).await
}

async fn poison(stage: &mut Stage, orders: SocketAddr) -> Result<()> {
    let producer = stage.client.producer(ProducerConfig::default());
    let header = |key: &str, value: String| Header { key: key.into(), value: Some(Bytes::from(value)) };
    for partition in 0..super::setting_up::PARTITIONS {
        let id = format!("0190c5a0-0000-7000-8000-{partition:012}");
        let record = ProducerRecord {
            topic: "outbox.event.order".into(),
            partition: Some(partition),
            key: Some(Bytes::from_static(b"poison")),
            value: Some(Bytes::from_static(b"this is no order")),
            headers: vec![header("id", id), header("type", "OrderPlaced".to_owned())],
            timestamp_ms: None,
        };
        publish(&producer, record).await?;
    }
    let check = SagaCheck::new(show::place(orders, &order("bicycle", "choreographed")).await?, &SUCCEEDS);
    run(stage, orders, vec![check], "COMPLETED").await?;
    let select = "SELECT topic, partition, \"offset\", reason FROM parked ORDER BY partition";
    let deadline = Instant::now() + END_PATIENCE;
    let parked = loop {
        let rows = query(stage, "payment", select).await?;
        if rows.len() >= 3 || Instant::now() > deadline {
            break rows;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    println!("\nParked in the payment service's database, for a person to look at:");
    for row in &parked {
        let (topic, partition, offset): (&str, i32, i64) = (row.get(0), row.get(1), row.get(2));
        println!("  {topic}-{partition} at offset {offset}: {}", row.get::<_, &str>(3));
    }
    ensure!(parked.len() == 3, "expected three parked records, found {}", parked.len());
    Ok(())
}

/// The same record, as a producer that is not sure would send it.
fn again(record: &ConsumedRecord) -> ProducerRecord {
    ProducerRecord {
        topic: record.topic.clone(),
        partition: Some(record.partition),
        key: record.key.clone(),
        value: record.value.clone(),
        headers: record.headers.clone(),
        timestamp_ms: Some(record.timestamp_ms),
    }
}

async fn publish(producer: &Producer, record: ProducerRecord) -> Result<()> {
    producer.send(record).await.context("cannot send")?.await.context("a record was not delivered")?;
    Ok(())
}

/// Prints a saga's steps once it has ended.
async fn show_saga(orders: SocketAddr, order_id: &str, end: &str) -> Result<()> {
    let deadline = Instant::now() + END_PATIENCE;
    let saga = loop {
        let saga = http::get_json(orders, &format!("/orders/{order_id}")).await?;
        if ENDED.contains(&saga["saga"]["state"].as_str().unwrap_or_default()) || Instant::now() > deadline {
            break saga;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    println!("\nGET /orders/{order_id}: {}, saga {}", text(&saga["state"]), text(&saga["saga"]["state"]));
    for step in saga["steps"].as_array().into_iter().flatten() {
        let at = text(&step["at"]);
        let time = at.get(11..23).unwrap_or_default();
        let [whole, name, state, detail] = ["saga", "step", "state", "detail"].map(|key| text(&step[key]));
        println!("{}", format!("  {time}  {whole:<12}  {name:<7}  {state:<9}  {detail}").trim_end());
    }
    if saga["saga"]["state"] != end {
        bail!("the saga of order {order_id} should be {end}: {saga}");
    }
    Ok(())
}

async fn one_payment(stage: &Stage, order_id: &str) -> Result<()> {
    let select = format!("SELECT state FROM payments WHERE order_id = '{order_id}'");
    let rows = query(stage, "payment", &select).await?;
    let states: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    println!("\nPayments of the order: {}", states.join(", "));
    ensure!(states == ["COMPLETED"], "expected one payment, completed");
    Ok(())
}

async fn query(stage: &Stage, service: &str, sql: &str) -> Result<Vec<tokio_postgres::Row>> {
    let url = stage.database_urls.get(service).with_context(|| format!("{service} has a database"))?;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot log in to PostgreSQL")?;
    let connection = tokio::spawn(connection);
    let rows = client.query(sql, &[]).await?;
    drop(client);
    connection.await.context("the connection to PostgreSQL broke off")??;
    Ok(rows)
}
