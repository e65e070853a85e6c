//! The example saga, in both styles: that it ends right, whatever is refused, raced for, repeated, late or unreadable.

use anyhow::{Context, Result};
use pillion_test_postgres::Server;
use pillion_tests::saga::{Saga, SagaOptions};
use pillion_tests::waiting::wait_for;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use serde_json::{Value, json};

const STYLES: [&str; 2] = ["choreographed", "orchestrated"];

async fn saga(options: SagaOptions) -> Result<Saga> {
    Saga::start(Server::start().await?, options).await
}

/// What the steps of an order's log say, in order: `payment SUCCEEDED`.
fn steps(order: &Value) -> Vec<String> {
    let steps = order["steps"].as_array().cloned().unwrap_or_default();
    let text = |step: &Value| Some(format!("{} {}", step["step"].as_str()?, step["state"].as_str()?));
    steps.iter().filter_map(text).filter(|step| !step.ends_with("ASKED")).collect()
}

async fn payment(saga: &Saga, order_id: &str) -> Result<Option<String>> {
    let client = saga.database("payment").await?;
    let select = format!("SELECT state FROM payments WHERE order_id = '{order_id}'");
    Ok(client.query_opt(select.as_str(), &[]).await?.map(|row| row.get(0)))
}

async fn available(saga: &Saga, sku: &str) -> Result<Value> {
    Ok(saga.request("inventory", &format!("GET /stock/{sku}"), &[], None).await?.1["available"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_in_both_styles_succeed_or_are_compensated_step_by_step() -> Result<()> {
    let saga = saga(SagaOptions::default()).await?;
    for style in STYLES {
        let before = available(&saga, "bicycle").await?.as_i64().context("a number")?;
        let good = saga.place(style, "ada", "bicycle").await?;
        let missing = saga.place(style, "ada", "unicorn").await?;
        let unreachable = saga.place(style, "nobody@mail.invalid", "bicycle").await?;
        let order = saga.ended(&good).await?;
        assert_eq!((&order["state"], &order["saga"]["state"]), (&json!("CONFIRMED"), &json!("COMPLETED")), "{order}");
        assert_eq!(order["saga"]["style"], style);
        assert_eq!(steps(&order), ["payment SUCCEEDED", "stock SUCCEEDED", "mail SUCCEEDED"], "{order}");
        assert_eq!(order["traceId"].as_str().map(str::len), Some(32));
        assert!(order["steps"][0]["at"].as_str().is_some_and(|at| at.ends_with('Z')));
        assert!(saga.mails().join(format!("{good}-confirmed.txt")).exists());

        let order = saga.ended(&missing).await?;
        assert_eq!(order["saga"]["state"], "COMPENSATED", "{order}");
        assert_eq!(steps(&order), ["payment SUCCEEDED", "stock FAILED", "payment UNDOING", "payment UNDONE"]);
        assert_eq!(order["reason"], "there are not 1 of unicorn in stock");
        assert_eq!(payment(&saga, &missing).await?.as_deref(), Some("REFUNDED"));

        let order = saga.ended(&unreachable).await?;
        assert_eq!((&order["state"], &order["saga"]["state"]), (&json!("CANCELLED"), &json!("COMPENSATED")), "{order}");
        let undone = ["mail FAILED", "stock UNDOING", "stock UNDONE", "payment UNDOING", "payment UNDONE"];
        assert_eq!(steps(&order)[2..], undone, "backwards");
        assert_eq!(payment(&saga, &unreachable).await?.as_deref(), Some("REFUNDED"));
        assert_eq!(available(&saga, "bicycle").await?, before - 1, "what was taken for it is back");
    }
    let (status, stuck) = saga.request("order", "GET /sagas?state=stuck", &[], None).await?;
    assert_eq!((status, stuck), (200, json!({"sagas": []})));
    let (_, completed) = saga.request("order", "GET /sagas?state=completed", &[], None).await?;
    assert_eq!(completed["sagas"].as_array().map(Vec::len), Some(2), "{completed}");
    assert_eq!(saga.request("order", "GET /sagas?state=lost", &[], None).await?.0, 422);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_orders_that_race_for_the_last_item_one_gets_it_with_either_way_of_locking() -> Result<()> {
    const RACING: usize = 8;
    for locking in ["optimistic", "pessimistic"] {
        let variables = ["STOCK_LOCKING", "WORKERS"].into_iter().zip([locking, "8"]);
        let variables = variables.map(|(name, value)| ("inventory", name, value.to_owned())).collect();
        let saga = saga(SagaOptions { variables, ..SagaOptions::default() }).await?;
        let inventory = saga.database("inventory").await?;
        inventory.batch_execute("INSERT INTO stock (sku, available) VALUES ('last', 1)").await?;
        let mut orders = Vec::new();
        for number in 0..RACING {
            orders.push(saga.place(STYLES[number % 2], "ada", "last").await?);
        }
        let mut ends = Vec::new();
        for order in &orders {
            ends.push(saga.ended(order).await?["saga"]["state"].as_str().unwrap_or_default().to_owned());
        }
        ends.sort();
        let mut expected = vec!["COMPENSATED"; RACING - 1];
        expected.push("COMPLETED");
        assert_eq!(ends, expected, "{locking}");
        assert_eq!(available(&saga, "last").await?, 0, "{locking}");
        let money = "SELECT count(*) FROM payments WHERE state = 'COMPLETED'";
        let paid: i64 = saga.database("payment").await?.query_one(money, &[]).await?.get(0);
        assert_eq!(paid, 1, "{locking}: the others have their money back");
    }
    Ok(())
}

/// An event as somebody else might publish it again.
async fn publish(saga: &Saga, topic: &str, id: &str, event: &str, key: &str, value: &str) -> Result<()> {
    let producer: FutureProducer = ClientConfig::new().set("bootstrap.servers", saga.broker()).create()?;
    let header = |key, value| Header { key, value: Some(value) };
    let headers = OwnedHeaders::new().insert(header("id", id)).insert(header("type", event));
    let record = FutureRecord::to(topic).key(key).payload(value).headers(headers);
    producer.send(record, std::time::Duration::from_secs(10)).await.map_err(|(error, _)| error)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_late_and_stray_events_change_nothing() -> Result<()> {
    let saga = saga(SagaOptions::default()).await?;
    let order_id = saga.place("choreographed", "ada", "bicycle").await?;
    let ended = saga.ended(&order_id).await?;
    let left = available(&saga, "bicycle").await?;
    let outbox = "SELECT id::text, payload::text FROM outbox WHERE type = 'OrderPlaced'";
    let row = saga.database("order").await?.query_one(outbox, &[]).await?;
    let (id, value): (String, String) = (row.get(0), row.get(1));
    let fresh = || uuid::Uuid::now_v7().to_string();
    // The same once more; the same under another id; answers that come after the end, or that nobody asked for.
    publish(&saga, "outbox.event.order", &id, "OrderPlaced", &order_id, &value).await?;
    publish(&saga, "outbox.event.order", &fresh(), "OrderPlaced", &order_id, &value).await?;
    publish(&saga, "outbox.event.stock", &fresh(), "StockUnavailable", &order_id, &value.replace("bicycle", "unicorn"))
        .await?;
    publish(&saga, "outbox.event.stock-command", &fresh(), "ReserveStock", &order_id, &value).await?;
    let last = fresh();
    publish(&saga, "outbox.event.payment", &last, "PaymentDeclined", &order_id, &value).await?;

    let order = saga.database("order").await?;
    let seen = format!("SELECT FROM inbox WHERE event_id = '{last}'");
    wait_for("the last of them to be processed", || async { Ok(order.query_opt(seen.as_str(), &[]).await?) }).await?;
    assert_eq!(saga.order(&order_id).await?, ended, "not a line more in its log");
    assert_eq!(available(&saga, "bicycle").await?, left);
    let payments: i64 = saga.database("payment").await?.query_one("SELECT count(*) FROM payments", &[]).await?.get(0);
    assert_eq!(payments, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_nothing_can_be_done_with_is_parked_and_holds_up_nobody() -> Result<()> {
    let saga = saga(SagaOptions::default()).await?;
    let id = "0190c5a0-0000-7000-8000-000000000001";
    for partition_key in ["a", "b", "c", "d", "e", "f"] {
        publish(&saga, "outbox.event.order", id, "OrderPlaced", partition_key, "no order").await?;
        publish(&saga, "outbox.event.order", "no id", "OrderPlaced", partition_key, "{}").await?;
    }
    let order_id = saga.place("choreographed", "ada", "bicycle").await?;
    assert_eq!(saga.ended(&order_id).await?["saga"]["state"], "COMPLETED");
    let client = saga.database("payment").await?;
    let parked = "SELECT reason, payload FROM parked ORDER BY reason DESC";
    let rows = wait_for("all of them to be parked", || async {
        let rows = client.query(parked, &[]).await?;
        Ok((rows.len() == 12).then_some(rows))
    });
    let rows = rows.await?;
    assert!(rows[0].get::<_, String>(0).contains("is not what it should be"), "{:?}", rows[0]);
    assert!(rows[11].get::<_, String>(0).contains("is not a UUID"), "{:?}", rows[11]);
    assert!(saga.log("payment").contains("a person must look at it"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saga_without_answers_is_parked_and_goes_on_when_told_or_is_compensated() -> Result<()> {
    let limits = [("SAGA_STEP_MS", "100"), ("SAGA_ATTEMPTS_MAX", "2")];
    let variables = limits.map(|(name, value)| ("order", name, value.to_owned())).to_vec();
    let mut saga = saga(SagaOptions { variables, ..SagaOptions::default() }).await?;
    for style in STYLES {
        saga.stop_service("inventory").await?;
        let resumed = saga.place(style, "ada", "bicycle").await?;
        let given_up = saga.place(style, "ada", "bicycle").await?;
        wait_for("both sagas to be stuck", || async {
            let (_, stuck) = saga.request("order", "GET /sagas?state=stuck", &[], None).await?;
            Ok((stuck["sagas"].as_array().map(Vec::len) == Some(2)).then_some(()))
        })
        .await?;
        let (status, _) = saga.request("order", &format!("POST /sagas/{given_up}/compensate"), &[], None).await?;
        assert_eq!(status, 202);
        saga.start_service("inventory").await?;
        let (status, _) = saga.request("order", &format!("POST /sagas/{resumed}/resume"), &[], None).await?;
        // Inventory finds the questions in its topic as soon as it is back: it may have answered before.
        assert!(matches!(status, 202 | 409), "{status}");
        assert_eq!(saga.ended(&resumed).await?["saga"]["state"], "COMPLETED");
        assert_eq!(saga.ended(&given_up).await?["saga"]["state"], "COMPENSATED");
        assert_eq!(payment(&saga, &given_up).await?.as_deref(), Some("REFUNDED"));
    }
    assert_eq!(available(&saga, "bicycle").await?, 98, "two of four orders have taken theirs");
    Ok(())
}
