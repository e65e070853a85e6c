//! Places a few orders as a person would at the storefront, waits until each saga has ended, and says how: the traces of
//! both styles, of success and of compensation, are there to look at afterwards.
//!
//!     SHOP_URL=http://127.0.0.1:8080 shop place-orders
//!
//! Exit code 0 when every saga ended as expected.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use pillion_saga::http::HttpClient;
use pillion_saga::settings::variable;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// How long a saga may take: the first ones wait for topics and consumer groups.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a saga.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is ordered, its price in cents, and how that ends.
const ORDERS: [(&str, i64, &str); 3] = [
    ("bicycle", 45_000, "COMPLETED"),
    // Never in stock: the payment is refunded.
    ("unicorn", 45_000, "COMPENSATED"),
    // Above what the payment service accepts: nothing is to be undone.
    ("bicycle", 2_000_000, "ABORTED"),
];

/// Places them and waits.
///
/// # Errors
/// When a saga does not end, or not as expected.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<()> {
    // The workspace builds its HTTP client without one; only a second installation would fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let shop = HttpClient::new(&variable("SHOP_URL", "http://127.0.0.1:8080".to_owned())?)?;
    let mut placed = Vec::new();
    for style in ["choreographed", "orchestrated"] {
        for (sku, amount_cents, expected) in ORDERS {
            let order =
                json!({ "customer": "ada", "sku": sku, "quantity": 1, "amountCents": amount_cents, "style": style });
            let answer = shop.post("/orders", "/orders", &order).await?;
            ensure!(answer.status.is_success(), "the storefront answered {}: {}", answer.status, answer.body);
            placed.push((style, sku, expected, answer.body));
        }
    }
    let mut as_expected = true;
    println!("{:<14} {:<8} {:<11} {:>9}  {:<36}  trace", "style", "item", "saga", "waited ms", "order");
    for (style, sku, expected, answer) in placed {
        let id = answer["orderId"].as_str().context("the answer names no order")?;
        let begun = Instant::now();
        let state = end_of(&shop, id).await?;
        let trace = answer["traceId"].as_str().unwrap_or("-");
        let waited = begun.elapsed().as_millis();
        println!("{style:<14} {sku:<8} {state:<11} {waited:>9}  {id}  {trace}");
        as_expected &= state == expected;
    }
    if !as_expected {
        bail!("not every saga ended as it should: bicycle COMPLETED, unicorn COMPENSATED, too dear a bicycle ABORTED");
    }
    Ok(())
}

/// The saga's final state.
async fn end_of(shop: &HttpClient, order: &str) -> Result<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = shop.get("/orders/{id}", &format!("/orders/{order}")).await?;
        let state = answer.body["saga"]["state"].as_str().unwrap_or("unknown").to_owned();
        if ["COMPLETED", "COMPENSATED", "ABORTED"].contains(&state.as_str()) {
            return Ok(state);
        }
        if Instant::now() > deadline {
            let seen = if answer.body == Value::Null { answer.status.to_string() } else { answer.body.to_string() };
            bail!("order {order} has not ended after {PATIENCE:?}: {seen}");
        }
        sleep(LOOK_EVERY).await;
    }
}
