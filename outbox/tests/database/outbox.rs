use anyhow::Result;
use pillion_outbox::outbox::{self, Outbox};
use pillion_outbox::{Error, Event};
use serde::Serialize;
use serde_json::json;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::service::{count, database, outbox_table, rows};

#[derive(Serialize)]
struct Order {
    total: u32,
    lines: Vec<&'static str>,
}

#[tokio::test]
async fn an_event_becomes_a_row_of_debeziums_table() -> Result<()> {
    let (_server, mut client) = database().await?;
    let transaction = client.transaction().await?;
    let order = Order { total: 100, lines: vec!["a"] };
    let id = outbox::insert(&transaction, Event::new("order", 42, "OrderPaid").json(&order)?).await?;
    transaction.commit().await?;

    let payload = r#"{"lines": ["a"], "total": 100}"#.to_owned();
    let expected = ("order".to_owned(), "42".to_owned(), "OrderPaid".to_owned(), Some(payload), None);
    assert_eq!(rows(&client, "outbox").await?, [expected]);
    let stored: Uuid = client.query_one("SELECT id FROM outbox", &[]).await?.get(0);
    assert_eq!(stored, id);
    assert_eq!(id.get_version_num(), 7);
    Ok(())
}

#[tokio::test]
async fn a_rollback_leaves_neither_state_nor_event() -> Result<()> {
    let (_server, mut client) = database().await?;
    client.batch_execute("CREATE TABLE orders (id int)").await?;
    let transaction = client.transaction().await?;
    transaction.execute("INSERT INTO orders VALUES (1)", &[]).await?;
    outbox::insert(&transaction, Event::new("order", 1, "OrderPlaced")).await?;
    assert_eq!(transaction.query("SELECT FROM outbox", &[]).await?.len(), 1, "it is there for the transaction itself");
    transaction.rollback().await?;
    assert_eq!((count(&client, "orders").await?, count(&client, "outbox").await?), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_savepoint_takes_back_its_own_events_only() -> Result<()> {
    let (_server, mut client) = database().await?;
    let mut transaction = client.transaction().await?;
    outbox::insert(&transaction, Event::new("order", 1, "Kept")).await?;
    let savepoint = transaction.transaction().await?;
    outbox::insert(&savepoint, Event::new("order", 1, "TakenBack")).await?;
    savepoint.rollback().await?;
    transaction.commit().await?;
    let rows = rows(&client, "outbox").await?;
    assert_eq!(rows.iter().map(|row| row.2.as_str()).collect::<Vec<_>>(), ["Kept"]);
    Ok(())
}

#[tokio::test]
async fn many_events_are_written_in_their_order_with_and_without_payload() -> Result<()> {
    const EVENTS: u32 = 2_500;
    let (_server, mut client) = database().await?;
    let event = |number: u32| {
        let event = Event::new("order", number, "Counted");
        if number.is_multiple_of(3) { Ok(event) } else { event.json(&json!({"number": number})) }
    };
    let transaction = client.transaction().await?;
    let events = (0..EVENTS).map(event).collect::<Result<Vec<_>, _>>()?;
    let ids = outbox::insert_all(&transaction, events).await?;
    assert!(outbox::insert_all(&transaction, []).await?.is_empty());
    transaction.commit().await?;

    for (number, row) in (0..EVENTS).zip(rows(&client, "outbox").await?) {
        assert_eq!(row.1, number.to_string());
        let payload = (!number.is_multiple_of(3)).then(|| format!("{{\"number\": {number}}}"));
        assert_eq!(row.3, payload);
    }
    let stored = client.query("SELECT id FROM outbox ORDER BY number", &[]).await?;
    assert_eq!(stored.iter().map(|row| row.get::<_, Uuid>(0)).collect::<Vec<_>>(), ids);
    assert!(ids.is_sorted(), "ids of one writer ascend");
    Ok(())
}

#[tokio::test]
async fn another_table_may_have_any_name_and_hold_bytes() -> Result<()> {
    let (_server, mut client) = database().await?;
    client.batch_execute("CREATE SCHEMA \"Shipping\"").await?;
    client.batch_execute(&outbox_table("\"Shipping\".\"out; box\"", "bytea")).await?;
    let outbox = Outbox::new("Shipping.out; box".parse()?);
    let transaction = client.transaction().await?;
    outbox.insert(&transaction, Event::new("parcel", "P-7", "Sent").bytes([0, 255, 10])).await?;
    outbox.insert_all(&transaction, [Event::new("parcel", "P-7", "Gone")]).await?;
    transaction.commit().await?;
    let rows = rows(&client, "\"Shipping\".\"out; box\"").await?;
    assert_eq!(rows.iter().map(|row| row.3.as_deref()).collect::<Vec<_>>(), [Some("\\x00ff0a"), None]);
    assert_eq!(count(&client, "outbox").await?, 0);
    Ok(())
}

#[tokio::test]
async fn an_id_used_before_is_refused_and_nothing_of_the_transaction_stays() -> Result<()> {
    let (_server, mut client) = database().await?;
    let id = Uuid::now_v7();
    let transaction = client.transaction().await?;
    assert_eq!(outbox::insert(&transaction, Event::new("order", 1, "First").id(id)).await?, id);
    let error = outbox::insert(&transaction, Event::new("order", 1, "Second").id(id)).await.unwrap_err();
    let Error::TokioPostgres(source) = &error else { panic!("{error}") };
    assert_eq!(source.code(), Some(&SqlState::UNIQUE_VIOLATION));
    transaction.commit().await?;
    assert_eq!(count(&client, "outbox").await?, 0, "the commit of a failed transaction is a rollback");
    Ok(())
}
