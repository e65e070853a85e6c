//! The services around the saga: the storefront, customers and their points, the order history. Real processes, one
//! trace through them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use pillion_tests::otlp::{OtlpReceiver, ReceivedSpan};
use pillion_tests::shop::{BROKER, Shop};
use pillion_tests::waiting::wait_for;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use serde_json::{Value, json};
use uuid::Uuid;

const TRACE_ID: &str = "80f198ee56343ba864fe8b2a57d3eff7";
const B3: &str = "b3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1";
const BAGGAGE: &str = "baggage: tenant=acme";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|index| u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).unwrap()).collect()
}

fn customer() -> Value {
    json!({ "name": "Ada", "email": format!("{}@example.org", Uuid::new_v4()) })
}

/// `service: span` from the span up to where its parents end.
fn ancestry(spans: &[ReceivedSpan], service: &str, name: &str) -> Option<Vec<String>> {
    let mut span = spans.iter().find(|received| received.service == service && received.span.name == name)?;
    let mut labels = vec![span.label()];
    while let Some(parent) = spans.iter().find(|other| other.span.span_id == span.span.parent_span_id) {
        labels.push(parent.label());
        span = parent;
    }
    Some(labels)
}

/// Whether these stand in this order, with others between them.
fn is_within(wanted: &[&str], labels: &[String]) -> bool {
    let mut labels = labels.iter();
    wanted.iter().all(|wanted| labels.any(|label| label == wanted))
}

async fn traced_shop(receiver: &OtlpReceiver) -> Result<Shop> {
    Shop::open(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.endpoint()), ("OTEL_BSP_SCHEDULE_DELAY", "100")]).await
}

async fn register(shop: &Shop) -> Result<String> {
    let answer = shop.post("storefront", "/customers", &[], &customer()).await?;
    assert_eq!(answer.status, 201, "{}", answer.text);
    Ok(answer.body["customerId"].as_str().context("an id")?.to_owned())
}

async fn order(shop: &Shop, customer: &str, sku: &str, style: &str) -> Result<String> {
    let order = json!({ "customer": customer, "sku": sku, "quantity": 1, "amountCents": 49_900, "style": style });
    let answer = shop.post("storefront", "/orders", &[], &order).await?;
    assert_eq!(answer.status, 202, "{}", answer.text);
    Ok(answer.body["orderId"].as_str().context("an id")?.to_owned())
}

/// Waits until the storefront shows this under `path` of the answer.
async fn shows(shop: &Shop, path: &str, pointer: &str, wanted: &Value) -> Result<()> {
    let what = format!("{path} to show {pointer} = {wanted}");
    let shown = wait_for(&what, || async {
        let answer = shop.get("storefront", path).await?;
        Ok((answer.body.pointer(pointer) == Some(wanted)).then_some(()))
    });
    shown.await.with_context(|| shop.log())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_one_trace_over_storefront_customer_and_loyalty() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let shop = traced_shop(&receiver).await?;
    let answer = shop.post("storefront", "/customers", &[B3, BAGGAGE], &customer()).await?;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.body["traceId"], TRACE_ID, "B3 is understood");

    let labels = wait_for("the trace to reach the points", || async {
        let spans = receiver.trace(&hex(TRACE_ID));
        let labels = ancestry(&spans, "customer", "process outbox.event.loyalty");
        Ok(labels.filter(|labels| labels.last().is_some_and(|root| root == "storefront: POST /customers")))
    });
    let labels = labels.await.with_context(|| shop.log())?;
    let story = [
        "customer: process outbox.event.loyalty",
        "loyalty: send outbox.event.loyalty",
        "loyalty: process outbox.event.customer",
        "pillion: outbox relay",
        "customer: customer create",
        "customer: register customer",
        "customer: POST /customers",
        "storefront: POST /customers",
        "storefront: POST /customers",
    ];
    assert!(is_within(&story, &labels), "{labels:#?}");
    let spans = receiver.trace(&hex(TRACE_ID));
    assert!(spans.iter().any(|received| received.label() == "customer: INSERT customers"), "the SQL is in the trace");

    let client = shop.postgres.connect().await?;
    let context: String = client.query_one("SELECT tracingspancontext FROM customers.outbox", &[]).await?.get(0);
    assert!(
        context.contains("baggage") && context.contains("tenant=acme"),
        "baggage passes through both services: {context}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_database_is_a_500_within_five_seconds_and_a_red_span_with_the_timeout() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let shop = traced_shop(&receiver).await?;
    register(&shop).await?;
    shop.postgres.pause()?;
    let begun = Instant::now();
    let answer = shop.post("storefront", "/customers", &[B3], &customer()).await;
    let took = begun.elapsed();
    shop.postgres.go_on()?;
    let answer = answer?;
    assert_eq!(answer.status, 500, "{}", answer.text);
    assert!(answer.body["error"].is_string(), "errors are JSON: {}", answer.text);
    assert!(took < Duration::from_secs(5), "{took:?}");

    let failed = wait_for("the spans of the failure", || async {
        let spans = receiver.trace(&hex(TRACE_ID));
        let failed = |service: &str, name: &str| {
            let is_server = |received: &&ReceivedSpan| received.span.kind == SpanKind::Server as i32;
            let mut servers = spans.iter().filter(is_server);
            let span = servers.find(|received| received.service == service && received.span.name == name)?;
            let is_error = span.span.status.as_ref().is_some_and(|status| status.code == 2);
            let exception = span.span.events.iter().find(|event| event.name == "exception")?;
            is_error.then(|| format!("{:?}", exception.attributes))
        };
        let all = [("customer", "POST /customers"), ("storefront", "POST /customers")]
            .map(|(service, name)| failed(service, name));
        Ok(all.into_iter().collect::<Option<Vec<String>>>())
    });
    let exceptions = failed.await.with_context(|| shop.log())?;
    assert!(exceptions[0].to_lowercase().contains("timeout"), "{exceptions:?}");
    let calls = receiver
        .trace(&hex(TRACE_ID))
        .into_iter()
        .filter(|received| received.service == "storefront" && received.span.kind == SpanKind::Client as i32);
    let codes: Vec<_> = calls.map(|received| received.span.status.map(|status| status.code)).collect();
    assert_eq!(codes, [Some(2)], "the storefront's call is an error, too");

    // Afterwards it works as before.
    register(&shop).await?;
    Ok(())
}

/// A record of the saga's topics, as a connector or an event-first service writes it.
async fn publish(shop: &Shop, topic: &str, key: &str, event_type: &str, payload: &Value) -> Result<(i32, i64)> {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", shop.address(BROKER))
        // As the services: an account has one partition.
        .set("partitioner", "murmur2_random")
        .create()?;
    let id = Uuid::new_v4().to_string();
    let headers = [("id", id.as_str()), ("type", event_type)]
        .into_iter()
        .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
    let payload = payload.to_string();
    let record = FutureRecord::to(topic).key(key).payload(&payload).headers(headers);
    let sent = producer.send(record, Duration::from_secs(10)).await.map_err(|(error, _)| error)?;
    Ok((sent.partition, sent.offset))
}

/// Waits until a projection has read so far.
async fn has_read(shop: &Shop, schema: &str, topic: &str, (partition, offset): (i32, i64)) -> Result<()> {
    let client = shop.postgres.connect().await?;
    let sql = format!("SELECT FROM {schema}.positions WHERE topic = $1 AND partition = $2 AND next_offset > $3");
    wait_for("the projection", || async { Ok(client.query_opt(&sql, &[&topic, &partition, &offset]).await?.map(drop)) })
        .await
}

/// A table as text, row by row.
async fn table(shop: &Shop, sql: &str) -> Result<Vec<String>> {
    let rows = shop.postgres.connect().await?.query(&format!("SELECT rows::text FROM ({sql}) AS rows"), &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

const ACCOUNTS: &str = "SELECT * FROM loyalty.accounts ORDER BY customer";

#[tokio::test(flavor = "multi_thread")]
async fn points_are_granted_once_void_events_change_nothing_and_a_replay_gives_the_same_accounts() -> Result<()> {
    let shop = Shop::open(&[]).await?;
    let customer = register(&shop).await?;
    let points = format!("/customers/{customer}/points");
    shows(&shop, &points, "/points", &json!(100)).await?;
    order(&shop, &customer, "bicycle", "choreographed").await?;
    shows(&shop, &points, "/points", &json!(599)).await?;
    shows(&shop, &format!("/customers/{customer}"), "/points", &json!(599)).await?;
    shows(&shop, &points, "/version", &json!(2)).await?;

    // Decided upon an account that has moved on; for a cause that was granted; and one that counts.
    let grant = |version: i64, cause: &str| json!({ "customer": customer, "points": 7, "balance": 606, "version": version, "cause": cause });
    let topic = "outbox.event.loyalty";
    for void in [grant(2, &Uuid::new_v4().to_string()), grant(1, &Uuid::new_v4().to_string()), grant(3, &customer)] {
        let at = publish(&shop, topic, &customer, "PointsGranted", &void).await?;
        has_read(&shop, "loyalty", topic, at).await?;
    }
    shows(&shop, &points, "/points", &json!(599)).await?;
    publish(&shop, topic, &customer, "PointsGranted", &grant(3, &Uuid::new_v4().to_string())).await?;
    shows(&shop, &points, "/points", &json!(606)).await?;

    let before = table(&shop, ACCOUNTS).await?;
    let rebuilt = shop.run("loyalty", &["--rebuild"]).await?;
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert_eq!(table(&shop, ACCOUNTS).await?, before);
    // The service that ran meanwhile goes on.
    order(&shop, &customer, "bicycle", "orchestrated").await?;
    shows(&shop, &points, "/points", &json!(1105)).await
}

const HISTORY: &str = "SELECT * FROM history.orders ORDER BY order_id";

#[tokio::test(flavor = "multi_thread")]
async fn the_history_shows_every_order_in_whatever_order_events_come_and_a_replay_gives_the_same() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let mut shop = traced_shop(&receiver).await?;
    let customer = register(&shop).await?;
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for style in ["choreographed", "orchestrated"] {
        good.push(order(&shop, &customer, "bicycle", style).await?);
        bad.push(order(&shop, &customer, "unicorn", style).await?);
    }
    let ended = wait_for("the history to show four orders that have ended", || async {
        let answer = shop.get("storefront", &format!("/customers/{customer}/orders")).await?;
        let orders = answer.body["orders"].as_array().cloned().unwrap_or_default();
        let ends = |order: &&Value| order["endedAt"].is_string() && order["placedAt"].is_string();
        Ok((orders.len() == 4 && orders.iter().all(|order| ends(&order))).then_some(orders))
    });
    for order in ended.await.with_context(|| shop.log())? {
        let is_good = good.iter().any(|id| order["orderId"] == id.as_str());
        assert_ne!(is_good, bad.iter().any(|id| order["orderId"] == id.as_str()));
        let expected =
            if is_good { ["CONFIRMED", "COMPLETED", "RESERVED"] } else { ["CANCELLED", "REFUNDED", "UNAVAILABLE"] };
        assert_eq!([&order["state"], &order["payment"], &order["stock"]], expected, "{order}");
        assert_eq!(order["reason"].is_string(), !is_good, "{order}");
    }

    // An order whose events come from the last to the first, one twice; nobody else is to do anything about it.
    for service in ["order", "payment", "inventory", "mailer"] {
        shop.kill(service).await?;
    }
    let id = Uuid::now_v7().to_string();
    let payload = json!({ "orderId": id, "customer": customer, "sku": "tandem", "quantity": 2, "amountCents": 5 });
    for (topic, event_type) in [
        ("outbox.event.order", "OrderConfirmed"),
        ("outbox.event.stock", "StockReserved"),
        ("outbox.event.payment", "PaymentCompleted"),
        ("outbox.event.payment", "PaymentCompleted"),
        ("outbox.event.order", "OrderPlaced"),
    ] {
        let at = publish(&shop, topic, &id, event_type, &payload).await?;
        has_read(&shop, "history", topic, at).await?;
    }
    shows(&shop, &format!("/customers/{customer}/orders?limit=1"), "/orders/0/state", &json!("CONFIRMED")).await?;
    shows(&shop, &format!("/customers/{customer}/orders?limit=1"), "/orders/0/stock", &json!("RESERVED")).await?;

    let before = table(&shop, HISTORY).await?;
    assert_eq!(before.len(), 5);
    shop.postgres.connect().await?.batch_execute("UPDATE history.orders SET state = 'PENDING', sku = 'lost'").await?;
    let rebuilt = shop.run("history", &["--rebuild"]).await?;
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert_eq!(table(&shop, HISTORY).await?, before);

    // The replay has read many events at a time: such a span belongs to none of their traces, and links to each.
    let batch = wait_for("the span of a batch", || async {
        let is_batch = |received: &ReceivedSpan| received.service == "history" && received.span.links.len() > 1;
        Ok(receiver.all().into_iter().find(is_batch))
    })
    .await?;
    assert!(batch.span.parent_span_id.is_empty() && batch.span.name.starts_with("process outbox.event."));
    assert_eq!(batch.attribute("messaging.batch.message_count"), Some(batch.span.links.len().to_string()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_storefront_has_a_page_passes_refusals_on_and_says_who_is_away() -> Result<()> {
    let mut shop = Shop::open(&[]).await?;
    let page = shop.get("storefront", "/").await?;
    assert!(page.status == 200 && page.text.contains("Place an order"), "{}", page.text);
    let refused = shop.post("storefront", "/customers", &[], &json!({ "name": "", "email": "nobody" })).await?;
    assert_eq!(refused.status, 422);
    let new = customer();
    assert_eq!(shop.post("storefront", "/customers", &[], &new).await?.status, 201);
    assert_eq!(shop.post("storefront", "/customers", &[], &new).await?.status, 409, "an address is taken once");
    assert_eq!(shop.get("storefront", &format!("/orders/{}", Uuid::new_v4())).await?.status, 404);
    assert_eq!(shop.get("storefront", "/orders/none").await?.status, 400);
    assert_eq!(shop.get("storefront", "/sagas?state=stuck").await?.body, json!({ "sagas": [] }));

    shop.kill("customer").await?;
    let away = shop.post("storefront", "/customers", &[], &customer()).await?;
    assert_eq!(away.status, 502);
    assert!(away.body["error"].as_str().is_some_and(|text| text.contains("customer")), "{}", away.text);
    shop.start("customer").await?;
    register(&shop).await?;
    Ok(())
}
