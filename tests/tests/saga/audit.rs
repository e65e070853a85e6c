//! Whether everything is as it must be, once nothing is under way any more.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pillion_tests::shop::Shop;
use pillion_tests::waiting::wait_for;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::orders::Orders;

/// Orders without which nothing has been shown.
const PLACED_MIN: usize = 50;

/// Waits until every saga has ended; then looks at the services' own tables, at the mails, and lets reconciliation look.
pub(crate) async fn audit(shop: &Shop, orders: &Orders, mails: &Path) -> Result<()> {
    let client = shop.postgres.connect().await?;
    let under_way = "SELECT count(*) FROM orders.sagas WHERE state IN ('STARTED', 'COMPENSATING') OR is_parked";
    wait_for("every saga to end", || async {
        let count: i64 = client.query_one(under_way, &[]).await?.get(0);
        Ok((count == 0).then_some(()))
    })
    .await?;
    ensure!(orders.placed.len() >= PLACED_MIN, "only {} orders could be placed", orders.placed.len());
    ends(&client, orders).await?;
    sums(&client).await?;
    mailed(&client, mails).await?;
    points(&client, orders).await?;
    let agreed = wait_for("reconciliation to find nothing", || async {
        let output = shop.run("reconcile", &[]).await?;
        Ok(output.status.success().then_some(()))
    });
    if agreed.await.is_err() {
        let output = shop.run("reconcile", &[]).await?;
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "reconciliation:\n{said}\n{complained}");
    }
    Ok(())
}

/// Every order that was answered is there, and has become what its story says.
async fn ends(client: &Client, orders: &Orders) -> Result<()> {
    for placed in &orders.placed {
        let id: Uuid = placed.id.parse()?;
        let row = client.query_opt("SELECT state FROM orders.orders WHERE id::text = $1", &[&id.to_string()]).await?;
        let state: String = row.with_context(|| format!("order {id} ({}) is lost", placed.name))?.get(0);
        ensure!(state == placed.state, "order {id} ({}) is {state}, not {}", placed.name, placed.state);
    }
    Ok(())
}

/// Money and stock, also of orders whose placing nobody has heard an answer to.
async fn sums(client: &Client) -> Result<()> {
    let sum = async |sql: &str| -> Result<i64> { Ok(client.query_one(sql, &[]).await?.get(0)) };
    let ordered = "SELECT coalesce(sum(amount_cents), 0)::bigint FROM orders.orders WHERE state = 'CONFIRMED'";
    let charged = "SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments.payments WHERE state = 'COMPLETED'";
    let (ordered, charged) = (sum(ordered).await?, sum(charged).await?);
    ensure!(ordered == charged, "{ordered} cents were ordered, {charged} charged");
    let ordered = "SELECT coalesce(sum(quantity), 0)::bigint FROM orders.orders WHERE state = 'CONFIRMED'";
    let taken = "SELECT sum(received - available)::bigint FROM inventory.stock";
    let (ordered, taken) = (sum(ordered).await?, sum(taken).await?);
    ensure!(ordered == taken, "{ordered} items were ordered, {taken} are gone");
    let open = sum("SELECT count(*) FROM orders.orders WHERE state = 'PENDING'").await?;
    ensure!(open == 0, "{open} orders are still pending");
    let parked = "SELECT (SELECT count(*) FROM orders.parked) + (SELECT count(*) FROM payments.parked)
                         + (SELECT count(*) FROM inventory.parked) + (SELECT count(*) FROM customers.parked)";
    let parked = sum(parked).await?;
    ensure!(parked == 0, "{parked} events were parked");
    Ok(())
}

/// A mail for each confirmed order, one, and none for others.
async fn mailed(client: &Client, mails: &Path) -> Result<()> {
    let rows = client.query("SELECT id::text, state FROM orders.orders", &[]).await?;
    for row in rows {
        let (id, state): (String, String) = (row.get(0), row.get(1));
        let is_mailed = mails.join(format!("{id}-confirmed.txt")).exists();
        ensure!(is_mailed == (state == "CONFIRMED"), "order {id} is {state}; a mail that says so: {is_mailed}");
    }
    Ok(())
}

/// Each customer has the points of the registration and of the orders, once; the account may be a moment behind.
async fn points(client: &Client, orders: &Orders) -> Result<()> {
    for customer in &orders.customers {
        let earned = "SELECT 100 + coalesce(sum(amount_cents / 100), 0)::bigint FROM orders.orders
                      WHERE customer = $1 AND state = 'CONFIRMED'";
        let earned: i64 = client.query_one(earned, &[customer]).await?.get(0);
        let kept = "SELECT accounts.points, customers.points FROM loyalty.accounts
                    JOIN customers.customers ON id::text = customer WHERE customer = $1";
        let agreed = wait_for("the points of a customer", || async {
            let Some(row) = client.query_opt(kept, &[customer]).await? else { return Ok(None) };
            Ok(((row.get(0), row.get(1)) == (earned, earned)).then_some(()))
        });
        agreed.await.with_context(|| format!("{customer} has earned {earned}"))?;
    }
    Ok(())
}
