//! What the demo shows: orders that go well and one that does not, each event as it passes, the verdict, and addresses to try.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use pillion_client::{ConsumedRecord, Consumer};
use serde_json::{Value, json};

use super::event::Event;
use super::faults;
use super::http;
use super::saga_check::{IS_COMPENSATED, IS_LED, SUCCEEDS, SagaCheck};
use super::services::FRONT;
use super::setting_up::{Stage, Started};

/// What a saga that has ended is called.
pub(super) const ENDED: [&str; 3] = ["COMPLETED", "COMPENSATED", "ABORTED"];

/// Bound of all sagas together.
const SAGA_PATIENCE: Duration = Duration::from_secs(60);

/// How long one poll waits for records.
const POLL_WAIT: Duration = Duration::from_millis(200);

/// Polls after the last expected event, for one that should not be there.
const POLLS_AFTERWARDS: u32 = 2;

/// Places the orders and shows their events; then goes on showing events, unless the demo is to end.
///
/// # Errors
/// When an order cannot be placed, an event is missing, repeated or out of order, or a part ends by itself.
pub(super) async fn show(started: &mut Started, mut stage: Stage) -> Result<()> {
    let services = started.services().context("the services are started")?;
    let front = services.address(FRONT).context("the storefront has an address")?;
    let addresses = addresses(&stage, started, front);

    tokio::select! {
        told = tell(&mut stage, front) => told?,
        ended = started.ended() => ended?,
    }
    if !stage.once {
        println!("{addresses}");
        tokio::select! {
            watched = keep_watching(&mut stage.consumer) => watched?,
            ended = started.ended() => ended?,
        }
    }
    stage.client.shutdown().await;
    Ok(())
}

async fn tell(stage: &mut Stage, front: SocketAddr) -> Result<()> {
    if let Some(fault) = stage.fault {
        faults::show(fault, stage, front).await?;
        println!("\nIt ended as it must.");
        return Ok(());
    }
    let customer_id = register(front).await?;
    println!("\nA customer: {customer_id}");
    println!("Three orders:");
    let orders = [
        ("bicycle", "choreographed", "is paid, reserved and confirmed", SUCCEEDS.as_slice()),
        ("unicorn", "choreographed", "is paid, not in stock, refunded and cancelled", IS_COMPENSATED.as_slice()),
        ("bicycle", "orchestrated", "the same as the first, led by the order service", IS_LED.as_slice()),
    ];
    let mut checks = Vec::new();
    for (sku, style, story, expected) in orders {
        let order_id = place(front, &order_of(&customer_id, sku, style)).await?;
        println!("  {order_id}  1 {sku}: {story}");
        checks.push(SagaCheck::new(order_id, expected));
    }
    println!("\nEvents as they pass (ms: from the commit in Postgres to this consumer):\n{}", Event::heading());
    judge(&mut stage.consumer, &mut checks).await?;
    println!("\nEvery event came once and in order: {} of {}.", expected_count(&checks), expected_count(&checks));
    Ok(())
}

/// Registers a customer; answers her id. Her trace is the first one to look at: HTTP, SQL, outbox, another service.
async fn register(address: SocketAddr) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let customer = json!({ "name": "Ada", "email": format!("ada-{}@example.org", now.as_millis()) });
    let answer = http::post_json(address, "/customers", &customer).await?;
    let customer_id = answer.get("customerId").and_then(|id| id.as_str());
    Ok(customer_id.with_context(|| format!("the customer service answered without a customerId: {answer}"))?.to_owned())
}

/// One of an item, at a price that is paid.
pub(super) fn order(sku: &str, style: &str) -> Value {
    order_of("Ada", sku, style)
}

fn order_of(customer: &str, sku: &str, style: &str) -> Value {
    json!({ "customer": customer, "sku": sku, "quantity": 1, "amountCents": 49_900, "style": style })
}

/// Places an order; answers its id.
pub(super) async fn place(address: SocketAddr, order: &Value) -> Result<String> {
    let answer = http::post_json(address, "/orders", order).await?;
    let order_id = answer.get("orderId").and_then(|id| id.as_str());
    Ok(order_id.with_context(|| format!("the order service answered without an orderId: {answer}"))?.to_owned())
}

/// Shows events until every saga is complete, and says what is wrong with them.
pub(super) async fn judge(consumer: &mut Consumer, checks: &mut [SagaCheck]) -> Result<()> {
    let deadline = Instant::now() + SAGA_PATIENCE;
    while !checks.iter().all(SagaCheck::is_complete) && Instant::now() < deadline {
        next(consumer, checks).await?;
    }
    for _ in 0..POLLS_AFTERWARDS {
        next(consumer, checks).await?;
    }
    let problems: Vec<String> = checks.iter().filter_map(|check| check.verdict().err()).collect();
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
}

async fn keep_watching(consumer: &mut Consumer) -> Result<()> {
    loop {
        next(consumer, &mut []).await?;
    }
}

/// Prints what one poll brings, in the order of the commits: it may hold records of several topics.
pub(super) async fn next(consumer: &mut Consumer, checks: &mut [SagaCheck]) -> Result<Vec<(ConsumedRecord, Event)>> {
    let records = consumer.poll(POLL_WAIT).await.context("cannot read the events")?;
    let now = SystemTime::now();
    let mut events: Vec<(ConsumedRecord, Event)> =
        records.into_iter().map(|record| (record.clone(), Event::of(&record, now))).collect();
    events.sort_by_key(|(_, event)| event.committed_ms);
    for (_, event) in &events {
        println!("{}", event.line());
        checks.iter_mut().for_each(|check| check.note(event));
    }
    Ok(events)
}

fn expected_count(checks: &[SagaCheck]) -> usize {
    checks.iter().map(SagaCheck::expected_count).sum()
}

/// Commands for a person to try.
fn addresses(stage: &Stage, started: &Started, front: SocketAddr) -> String {
    let Stage { broker, database_urls, .. } = stage;
    let database_url = database_urls.get("order").map_or("", String::as_str);
    let logs = started.services().into_iter().flat_map(|services| services.list());
    let logs: Vec<String> = logs.map(|(_, _, log)| log.display().to_string()).collect();
    let traces = match (stage.traces, std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT")) {
        (Some(view), _) => format!("{}   (open it in a browser)", view.page()),
        (None, Ok(endpoint)) if !endpoint.is_empty() => format!("go to {endpoint}"),
        (None, _) => "go where the OTEL_* variables say".to_owned(),
    };
    format!(
        "
Try it, in another terminal:
  kcat -b {broker} -L
  kcat -b {broker} -C -t outbox.event.order -f '%T %k %h\\n%s\\n'
  http://{front}/                            the shop's own page
  psql '{database_url}' -c 'SELECT id, sku, state, reason FROM orders'
  curl -X POST http://{front}/orders -H 'content-type: application/json' \\
       -d '{{\"customer\":\"you\",\"sku\":\"bicycle\",\"quantity\":1,\"amountCents\":49900}}'
  curl http://{front}/orders/ORDER_ID        its saga, step by step
  curl http://{front}/sagas?state=stuck      what waits for a person

Logs    {}
Traces  {traces}

Your orders' events will show here. Ctrl-C stops everything.
{}",
        logs.join(" "),
        Event::heading()
    )
}
