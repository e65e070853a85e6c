//! What the demo shows: two orders, each event as it passes, the verdict, and addresses to try.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use pillion_client::Consumer;
use serde_json::json;

use super::event::Event;
use super::http;
use super::saga_check::{IS_COMPENSATED, SUCCEEDS, SagaCheck};
use super::setting_up::{Stage, Started};

/// Bound of both sagas together.
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
    let order_address = services.order_address().context("the order service has an address")?;
    let addresses = addresses(&stage, started, order_address);

    println!("\nTwo orders:");
    let orders = [
        ("bicycle", "is paid, reserved and confirmed", SUCCEEDS.as_slice()),
        ("unicorn", "is paid, not in stock, refunded and cancelled", IS_COMPENSATED.as_slice()),
    ];
    let mut checks = Vec::new();
    for (sku, story, expected) in orders {
        let order_id = place(order_address, sku).await?;
        println!("  {order_id}  1 {sku}: {story}");
        checks.push(SagaCheck::new(order_id, expected));
    }
    println!("\nEvents as they pass (ms: from the commit in Postgres to this consumer):\n{}", Event::heading());

    tokio::select! {
        judged = judge(&mut stage.consumer, &mut checks) => judged?,
        ended = started.ended() => ended?,
    }
    println!("\nEvery event came once and in order: {} of {}.", expected_count(&checks), expected_count(&checks));
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

async fn place(address: std::net::SocketAddr, sku: &str) -> Result<String> {
    let order = json!({ "customer": "Ada", "sku": sku, "quantity": 1, "amountCents": 49_900 });
    let answer = http::post_json(address, "/orders", &order).await?;
    let order_id = answer.get("orderId").and_then(|id| id.as_str());
    Ok(order_id.with_context(|| format!("the order service answered without an orderId: {answer}"))?.to_owned())
}

/// Shows events until every saga is complete, and says what is wrong with them.
async fn judge(consumer: &mut Consumer, checks: &mut [SagaCheck]) -> Result<()> {
    let deadline = Instant::now() + SAGA_PATIENCE;
    while !checks.iter().all(SagaCheck::is_complete) && Instant::now() < deadline {
        show_next(consumer, checks).await?;
    }
    for _ in 0..POLLS_AFTERWARDS {
        show_next(consumer, checks).await?;
    }
    let problems: Vec<String> = checks.iter().filter_map(|check| check.verdict().err()).collect();
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
}

async fn keep_watching(consumer: &mut Consumer) -> Result<()> {
    loop {
        show_next(consumer, &mut []).await?;
    }
}

/// Prints what one poll brings, in the order of the commits: it may hold records of several topics.
async fn show_next(consumer: &mut Consumer, checks: &mut [SagaCheck]) -> Result<()> {
    let records = consumer.poll(POLL_WAIT).await.context("cannot read the events")?;
    let now = SystemTime::now();
    let mut events: Vec<Event> = records.iter().map(|record| Event::of(record, now)).collect();
    events.sort_by_key(|event| event.committed_ms);
    for event in events {
        println!("{}", event.line());
        checks.iter_mut().for_each(|check| check.note(&event));
    }
    Ok(())
}

fn expected_count(checks: &[SagaCheck]) -> usize {
    checks.iter().map(SagaCheck::expected_count).sum()
}

/// Commands for a person to try.
fn addresses(stage: &Stage, started: &Started, order_address: std::net::SocketAddr) -> String {
    let Stage { broker, database_url, .. } = stage;
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
  psql '{database_url}' -c 'SELECT id, sku, state, reason FROM orders.orders'
  curl -X POST http://{order_address}/orders -H 'content-type: application/json' \\
       -d '{{\"customer\":\"you\",\"sku\":\"bicycle\",\"quantity\":1,\"amountCents\":49900}}'

Logs    {}
Traces  {traces}

Your orders' events will show here. Ctrl-C stops everything.
{}",
        logs.join(" "),
        Event::heading()
    )
}
