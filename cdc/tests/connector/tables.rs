//! Tables that change while they are streamed, partitions, and column types as a real Postgres prints them.

use anyhow::Result;
use pillion_cdc::ConnectorError;
use pillion_test_postgres::Server;

use crate::recorder::Recorder;
use crate::{config, id, ids, insert, start};

#[tokio::test]
async fn a_renamed_column_stops_the_connector_until_the_option_follows() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let client = server.connect().await?;
    insert(&client, "outbox", 1).await?;
    client.batch_execute("alter table outbox rename column payload to body").await?;
    let row = format!("('{}', 'order', '1', 'T', '{{}}')", id(2));
    client.batch_execute(&format!("insert into outbox values {row}")).await?;
    let error = running.task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Table(_)), "{error}");
    assert!(error.to_string().contains("public.outbox has no column `payload`"), "{error}");

    let mut config = config(&server);
    config.set("table.field.event.payload", "body")?;
    let running = start(config, &recorder);
    recorder.until_id(&id(2)).await;
    assert!(ids(&recorder).ends_with(&[id(2)]));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn each_row_is_read_by_the_types_its_table_had_when_it_was_written() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.set("table.fields.additional.placement", "at:header")?;
    config.set("table.field.additional.missing", "ignore")?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    let mut client = server.connect().await?;
    insert(&client, "outbox", 1).await?;
    // A rewritten table's rows are not published again.
    let changes = [
        "alter table outbox add column at timestamp(3) default '2026-01-02 03:04:05.678'",
        "alter table outbox alter column at type timestamptz using at at time zone 'UTC'",
        "alter table outbox alter column payload type bytea using convert_to(payload::text, 'UTF8')",
        "alter table outbox alter column aggregateid type bigint using aggregateid::bigint, drop column at",
    ];
    for (number, change) in (2..).zip(changes) {
        let transaction = client.transaction().await?;
        transaction.batch_execute(change).await?;
        insert(&transaction, "outbox", number).await?;
        transaction.commit().await?;
    }
    let events = recorder.until_id(&id(5)).await;
    assert_eq!(ids(&recorder), [1, 2, 3, 4, 5].map(id));
    let header = |number: usize| events[number - 1].headers.get(1).and_then(|header| header.value.as_deref());
    assert_eq!(header(1), None);
    assert_eq!(header(2), Some(&b"1767323045678"[..]));
    assert_eq!(header(3), Some(&b"2026-01-02T03:04:05.678000Z"[..]));
    assert_eq!(header(5), None);
    for (number, event) in (1..).zip(&events) {
        let value = format!(r#"{{"n": {number}}}"#);
        assert_eq!(event.value.as_deref(), Some(value.as_bytes()));
        assert_eq!(event.key.as_deref(), Some(number.to_string().as_bytes()));
    }
    running.stop().await?;
    Ok(())
}

const PARTITIONED: &str = "
    create table outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, at int default 1)
        partition by range (at);
    create table outbox_low partition of outbox for values from (0) to (10)";

#[tokio::test]
async fn partitions_come_and_go_while_streaming() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(PARTITIONED).await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    insert(&client, "outbox", 1).await?;
    client
        .batch_execute(
            "create table outbox_high partition of outbox for values from (10) to (20);
            alter table outbox alter column at set default 11",
        )
        .await?;
    insert(&client, "outbox", 2).await?;
    // One that was a table of its own, with its columns in another order.
    client
        .batch_execute(
            "create table outbox_other (at int, payload jsonb, type text, id uuid, aggregateid text, aggregatetype text);
            alter table outbox attach partition outbox_other for values from (20) to (30);
            alter table outbox detach partition outbox_low; drop table outbox_low;
            alter table outbox alter column at set default 21",
        )
        .await?;
    insert(&client, "outbox", 3).await?;
    let events = recorder.until_id(&id(3)).await;
    assert_eq!(ids(&recorder), [1, 2, 3].map(id));
    assert!(events.iter().all(|event| &*event.topic == "outbox.event.order"));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn partitions_published_under_their_own_names_are_tables_of_their_own() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(PARTITIONED).await?;
    client
        .batch_execute(
            "create table outbox_high partition of outbox for values from (10) to (20);
            create publication pillion_outbox for table outbox with (publish = 'insert')",
        )
        .await?;
    client.batch_execute("select pg_create_logical_replication_slot('pillion', 'pgoutput')").await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.auto_init = false;
    config.adopt_slot = true;
    config.set("table.include.list", "outbox_low,outbox_high")?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    insert(&client, "outbox", 1).await?;
    client.batch_execute("alter table outbox alter column at set default 11").await?;
    insert(&client, "outbox", 2).await?;
    recorder.until_id(&id(2)).await;
    assert_eq!(ids(&recorder), [1, 2].map(id));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn rows_and_messages_of_one_transaction_keep_their_order() -> Result<()> {
    let server = Server::start().await?;
    let mut client = server.connect().await?;
    client
        .batch_execute(
            "create schema a; create schema b;
            create table a.outbox (payload text, id uuid, type text, aggregateid text, aggregatetype text);
            create table b.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)",
        )
        .await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.set("table.include.list", "a.outbox,b.outbox")?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    let emit = |number| {
        let content = format!(r#"{{"id":"{}","aggregatetype":"order","aggregateid":"1","payload":"x"}}"#, id(number));
        format!("select pg_logical_emit_message(true, 'outbox', '{content}')")
    };
    let transaction = client.transaction().await?;
    transaction.batch_execute(&emit(1)).await?;
    insert(&transaction, "a.outbox", 2).await?;
    insert(&transaction, "b.outbox", 3).await?;
    transaction.batch_execute("delete from a.outbox; delete from b.outbox").await?;
    transaction.batch_execute(&emit(4)).await?;
    insert(&transaction, "a.outbox", 5).await?;
    transaction.batch_execute("truncate a.outbox").await?;
    transaction.commit().await?;
    recorder.until_id(&id(5)).await;
    assert_eq!(ids(&recorder), [1, 2, 3, 4, 5].map(id));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn every_type_arrives_as_debezium_prints_it_whatever_the_roles_settings() -> Result<()> {
    // Type, value, header. Arrays and numeric are Postgres' text.
    let columns = [
        ("uuid", "'22222222-2222-2222-2222-222222222222'", "22222222-2222-2222-2222-222222222222"),
        ("char(5)", "'ch'", "ch   "),
        ("json", r#"'{"z":1,  "a":2}'"#, r#"{"z":1,  "a":2}"#),
        ("jsonb", r#"'{"z":1,  "a":2}'"#, r#"{"a": 2, "z": 1}"#),
        ("bytea", r"'\x00ff7b7d'", "AP97fQ=="),
        ("int", "-7", "-7"),
        ("bigint", "9007199254740993", "9007199254740993"),
        ("smallint", "3", "3"),
        ("numeric(10,2)", "12.5", "12.50"),
        ("boolean", "true", "true"),
        ("timestamp", "'2026-01-02 03:04:05.678901'", "1767323045678901"),
        ("timestamp(3)", "'2026-01-02 03:04:05.678'", "1767323045678"),
        ("timestamptz", "'2026-01-02 03:04:05.678901+01'", "2026-01-02T02:04:05.678901Z"),
        ("timestamptz", "'infinity'", "infinity"),
        ("date", "'2026-01-02'", "20455"),
        ("time", "'03:04:05.5'", "11045500000"),
        ("time(3)", "'03:04:05.5'", "11045500"),
        ("real", "0.1", "0.1"),
        ("double precision", "0.1", "0.1"),
        ("double precision", "12345678901234.5", "1.23456789012345E13"),
        ("double precision", "1.0/3", "0.3333333333333333"),
        ("inet", "'10.0.0.1/24'", "10.0.0.1/24"),
        ("int[]", "'{1,2,NULL}'", "{1,2,NULL}"),
        ("text[]", r#"'{a,"b c",NULL}'"#, r#"{a,"b c",NULL}"#),
        ("timestamptz[]", "'{2026-01-02 03:04:05+01}'", r#"{"2026-01-02 02:04:05+00"}"#),
    ];
    let server = Server::start().await?;
    let client = server.connect().await?;
    let list = |text: &dyn Fn(usize) -> String| (0..columns.len()).map(text).collect::<Vec<_>>().join(", ");
    client
        .batch_execute(&format!(
            "alter role postgres set datestyle = 'SQL, DMY'; alter role postgres set timezone = 'Asia/Tokyo';
            alter role postgres set extra_float_digits = -3; alter role postgres set bytea_output = 'escape';
            create table outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, {})",
            list(&|number| format!("c{number} {}", columns[number].0))
        ))
        .await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    let placement = list(&|number| format!("c{number}:header"));
    config.set("table.fields.additional.placement", &placement)?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    let values = list(&|number| columns[number].1.to_owned());
    client
        .batch_execute(&format!("insert into outbox values ('{}', 'order', '1', 'T', '{{}}', {values})", id(1)))
        .await?;
    let event = recorder.until_id(&id(1)).await.remove(0);
    for (column, header) in columns.iter().zip(&event.headers[1..]) {
        assert_eq!(header.value.as_deref(), Some(column.2.as_bytes()), "{column:?}");
    }
    assert_eq!(event.headers.len(), columns.len() + 1);
    running.stop().await?;
    Ok(())
}
