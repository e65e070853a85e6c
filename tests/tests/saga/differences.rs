//! Each kind of difference between the services, made by hand: reconciliation finds it, names who is right, and mends it.

use anyhow::{Context, Result};
use pillion_tests::shop::Shop;
use pillion_tests::waiting::wait_for;
use serde_json::{Value, json};
use uuid::Uuid;

use super::open;

/// Runs it; its report and exit code.
async fn reconcile(shop: &Shop, flags: &[&str]) -> Result<(Value, Option<i32>)> {
    let output = shop.run("reconcile", &[&["--json"], flags].concat()).await?;
    let report = serde_json::from_slice(&output.stdout);
    let report = report.with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((report, output.status.code()))
}

fn kinds(report: &Value, list: &str) -> Vec<String> {
    let list = report[list].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|finding| finding["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn order(shop: &Shop, sku: &str, style: &str) -> Result<String> {
    let order = json!({ "customer": "ada", "sku": sku, "quantity": 2, "amountCents": 500, "style": style });
    let answer = shop.post("order", "/orders", &[], &order).await?;
    Ok(answer.body["orderId"].as_str().with_context(|| answer.text.clone())?.to_owned())
}

async fn settled(shop: &Shop) -> Result<()> {
    let agreed =
        wait_for("the services to agree", || async { Ok((reconcile(shop, &[]).await?.1 == Some(0)).then_some(())) });
    agreed.await.with_context(|| shop.log())
}

/// Makes a difference by SQL, and has it found and mended.
async fn is_mended(shop: &Shop, kind: &str, source: &str, sql: &str) -> Result<()> {
    shop.postgres.connect().await?.batch_execute(sql).await.with_context(|| sql.to_owned())?;
    let (found, code) = reconcile(shop, &[]).await?;
    assert_eq!((kinds(&found, "findings"), code), (vec![kind.to_owned()], Some(1)), "{found:#}");
    let truth = found["findings"][0]["sourceOfTruth"].as_str().unwrap_or_default();
    assert!(truth.starts_with(source), "{kind}: {truth}");
    let (repaired, code) = reconcile(shop, &["--repair"]).await?;
    assert_eq!(code, Some(0), "{kind}: {repaired:#}\n{}", shop.log());
    assert_eq!(repaired["findings"][0]["mended"], true, "{repaired:#}");
    settled(shop).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_difference_is_found_and_mended() -> Result<()> {
    let (shop, _mails) = open().await?;
    let (good, bad) = (order(&shop, "bicycle", "choreographed").await?, order(&shop, "unicorn", "orchestrated").await?);
    settled(&shop).await?;
    let stranger = Uuid::now_v7();
    let mend = |kind, source, sql: String| {
        let shop = &shop;
        async move { is_mended(shop, kind, source, &sql).await }
    };
    mend("payment-missing", "order", format!("DELETE FROM payments.payments WHERE order_id = '{good}'")).await?;
    let undone = format!("UPDATE payments.payments SET state = 'COMPLETED' WHERE order_id = '{bad}'");
    mend("payment-left", "order", undone).await?;
    let charged = format!(
        "INSERT INTO payments.payments (order_id, customer, amount_cents, state)
         VALUES ('{stranger}', 'ada', 7, 'COMPLETED')"
    );
    mend("payment-without-order", "order", charged).await?;
    let lost = format!(
        "DELETE FROM inventory.reservations WHERE order_id = '{good}';
         UPDATE inventory.stock SET available = available + 2 WHERE sku = 'bicycle'"
    );
    mend("stock-missing", "order", lost).await?;
    let kept = format!(
        "UPDATE inventory.reservations SET state = 'RESERVED', sku = 'bicycle' WHERE order_id = '{bad}';
         UPDATE inventory.stock SET available = available - 2 WHERE sku = 'bicycle'"
    );
    mend("stock-left", "order", kept).await?;
    let taken = format!(
        "INSERT INTO inventory.reservations (order_id, sku, quantity, state)
         VALUES ('{stranger}', 'bicycle', 3, 'RESERVED');
         UPDATE inventory.stock SET available = available - 3 WHERE sku = 'bicycle'"
    );
    mend("stock-without-order", "order", taken).await?;
    let miscounted = "UPDATE inventory.stock SET available = available - 1 WHERE sku = 'bicycle'".to_owned();
    mend("stock-miscounted", "inventory", miscounted).await?;
    mend("history-differs", "order", format!("DELETE FROM history.orders WHERE order_id = '{good}'")).await?;
    let wrong = format!("UPDATE history.orders SET state = 'CANCELLED' WHERE order_id = '{good}'");
    mend("history-differs", "order", wrong).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_saga_is_resumed_and_what_only_a_person_can_decide_is_left_alone() -> Result<()> {
    let (shop, _mails) = open().await?;
    let id = order(&shop, "bicycle", "orchestrated").await?;
    settled(&shop).await?;
    let stuck =
        format!("UPDATE orders.sagas SET state = 'STARTED', mail = 'ASKED', is_parked = true WHERE order_id = '{id}'");
    is_mended(&shop, "saga-stuck", "order", &stuck).await?;

    let refunded = format!("UPDATE payments.payments SET state = 'REFUNDED' WHERE order_id = '{id}'");
    shop.postgres.connect().await?.batch_execute(&refunded).await?;
    let (report, code) = reconcile(&shop, &["--repair"]).await?;
    assert_eq!((kinds(&report, "left"), code), (vec!["payment-contradicts".to_owned()], Some(1)), "{report:#}");
    assert!(report["left"][0]["sourceOfTruth"].as_str().is_some_and(|source| source.starts_with("payment")));
    let told = shop.run("reconcile", &[]).await?;
    assert!(String::from_utf8_lossy(&told.stdout).contains("a person must decide"), "the text says so, too");
    Ok(())
}
