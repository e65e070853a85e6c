//! Several connectors in one process: two databases, two schemas of one of them, each with a slot of its own.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use tokio_postgres::{Client, NoTls};

use super::consumed::{Consumed, group_member, read_until};
use super::sidecar::Broker;

async fn connect(postgres: &Server, database: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(&url(postgres, database), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn url(postgres: &Server, database: &str) -> String {
    postgres.url().trim_end_matches("postgres").to_owned() + database
}

/// A configuration file with three connectors; `stock` is in the same database as `orders`.
fn configuration(postgres: &Server, broker: &str) -> String {
    let shop = url(postgres, "postgres");
    let bank = url(postgres, "bank");
    format!(
        "bootstrap.servers = \"{broker}\"\nauto.init = true\n
         [connector.orders]\npostgres.url = \"{shop}\"\ntable.include.list = \"orders.outbox\"\n
         [connector.stock]\npostgres.url = \"{shop}\"\ntable.include.list = \"stock.outbox\"\n
         [connector.payments]\npostgres.url = \"{bank}\"\n"
    )
}

async fn slots(client: &Client) -> Result<BTreeSet<String>> {
    let rows = client.query("SELECT slot_name::text FROM pg_replication_slots WHERE active", &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn insert(client: &Client, table: &str, aggregate: &str) -> Result<()> {
    let statement = format!(
        "INSERT INTO {table} (id, aggregatetype, aggregateid, type, payload)
         VALUES (gen_random_uuid(), '{aggregate}', '{table}', 'Made', '{{}}')"
    );
    client.batch_execute(&statement).await.with_context(|| table.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_relays_the_outboxes_of_two_databases_and_two_schemas_with_a_slot_each() -> Result<()> {
    let postgres = Server::start().await?;
    let shop = postgres.connect().await?;
    shop.batch_execute("CREATE DATABASE bank").await?;
    let bank = connect(&postgres, "bank").await?;
    let broker = Broker::start(&[]).await?;
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), configuration(&postgres, broker.address()))?;
    let mut command = program::command("pillion")?;
    command.arg("cdc").arg("--config").arg(file.path());
    let mut connectors = Program::start_silent("pillion cdc", command)?;
    let expected: BTreeSet<String> = ["pillion_orders", "pillion_payments", "pillion_stock"].map(str::to_owned).into();
    wait_for("three slots in use", || async { Ok((slots(&shop).await? == expected).then_some(())) })
        .await
        .with_context(|| connectors.log())?;

    insert(&shop, "orders.outbox", "order").await?;
    insert(&shop, "stock.outbox", "stock").await?;
    insert(&bank, "public.outbox", "payment").await?;
    let topics = ["outbox.event.order", "outbox.event.stock", "outbox.event.payment"];
    let reader = group_member(broker.address(), "reader", &topics)?;
    // Each place of the log once: a topic that appears later rebalances the group, which then reads from the beginning.
    let places = |records: &[Consumed]| -> BTreeSet<(String, i32, i64, Option<String>)> {
        let place = |one: &Consumed| (one.topic.clone(), one.partition, one.offset, one.key.clone());
        records.iter().map(place).collect()
    };
    let enough = |records: &[Consumed]| places(records).len() >= 3;
    let records = read_until(&reader, enough).await.with_context(|| connectors.log())?;
    let seen = places(&records);
    let seen: Vec<_> = seen.iter().map(|(topic, _, _, key)| (topic.as_str(), key.as_deref())).collect();
    assert_eq!(
        seen,
        [
            ("outbox.event.order", Some("orders.outbox")),
            ("outbox.event.payment", Some("public.outbox")),
            ("outbox.event.stock", Some("stock.outbox")),
        ]
    );

    // One that cannot go on ends the process, is named, and the others leave in order.
    bank.batch_execute("ALTER TABLE outbox RENAME COLUMN aggregateid TO something").await?;
    bank.batch_execute(
        "INSERT INTO outbox (id, aggregatetype, something, type) VALUES (gen_random_uuid(), 'a', 'b', 'c')",
    )
    .await?;
    let status = connectors.ended().await?;
    assert_eq!(status.code(), Some(1), "{}", connectors.log());
    let log = connectors.log();
    assert!(log.contains("the connector payments cannot go on"), "{log}");
    assert!(log.contains("connector{name=\\\"orders\\\"}") || log.contains("connector{name=\"orders\"}"), "{log}");
    wait_for("the slots to be free", || async { Ok(slots(&shop).await?.is_empty().then_some(())) }).await
}
