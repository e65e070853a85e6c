//! Values of every usual type: the stream, a snapshot and polling make the same records of them, whatever the database
//! is set to.

use anyhow::Result;
use pillion_cdc::router::OutboxEvent;
use pillion_cdc::{ConnectorConfig, SnapshotMode, SourceMode, Status};
use pillion_test_postgres::Server;

use crate::recorder::Recorder;
use crate::{config, id, start, until};

/// Columns beside the router's own, and a value for each.
const COLUMNS: [(&str, &str, &str); 18] = [
    ("a_uuid", "uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    ("a_text", "text", "E'ö\\n\\\\ \"x\"'"),
    ("a_varchar", "varchar(20)", "'short'"),
    ("a_json", "json", "'{\"b\" :  1, \"a\": [2]}'"),
    ("a_jsonb", "jsonb", "'{\"b\" :  1, \"a\": [2]}'"),
    ("a_bytea", "bytea", "'\\x00ff5c'"),
    ("an_int", "int", "-7"),
    ("a_bigint", "bigint", "9223372036854775807"),
    ("a_numeric", "numeric(10,3)", "1.500"),
    ("a_double", "double precision", "0.1::float8 + 0.2"),
    ("a_bool", "boolean", "true"),
    ("a_date", "date", "'2026-02-03'"),
    ("a_timestamp", "timestamp", "'2026-02-03 04:05:06.789'"),
    ("a_timestamptz", "timestamptz", "'2026-02-03 04:05:06.789+02'"),
    ("a_timestamp_3", "timestamp(3)", "'2026-02-03 04:05:06.7891'"),
    ("an_interval", "interval", "'1 day 02:03:04'"),
    ("int_array", "int[]", "'{1,NULL,3}'"),
    ("text_array", "text[]", "array['a,b', 'ö', null]"),
];

/// The tables, by the types of key and payload.
const TABLES: [(&str, &str, &str, &str, &str); 4] = [
    ("of_jsonb", "bigint", "42", "jsonb", "'{\"n\": 1.50}'"),
    ("of_text", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "text", "'plain ö'"),
    ("of_bytea", "varchar(20)", "'key'", "bytea", "'\\x00ff'"),
    ("of_json", "int", "7", "json", "null"),
];

fn with_all_columns(server: &Server, slot: &str) -> ConnectorConfig {
    let mut config = config(server);
    config.status = Status::default();
    config.slot = slot.to_owned();
    config.tables = TABLES.iter().map(|(table, ..)| table.parse().unwrap()).collect();
    let placements: Vec<String> = COLUMNS.iter().map(|(column, ..)| format!("{column}:header")).collect();
    config.set("table.fields.additional.placement", &placements.join(",")).unwrap();
    config.set("table.field.event.timestamp", "at").unwrap();
    config
}

fn events(recorder: &Recorder) -> Vec<OutboxEvent> {
    let mut events = recorder.events();
    events.sort_by_key(|event| event.id().cloned());
    events
}

async fn all_events(config: ConnectorConfig) -> Vec<OutboxEvent> {
    let recorder = Recorder::default();
    let running = start(config, &recorder);
    until("an event of each table", || recorder.events().len() >= TABLES.len()).await;
    running.stop().await.unwrap();
    events(&recorder)
}

#[tokio::test]
async fn stream_snapshot_and_polling_make_the_same_records() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    for setting in [
        "datestyle = 'German'",
        "intervalstyle = 'iso_8601'",
        "timezone = 'Asia/Tokyo'",
        "bytea_output = 'escape'",
        "extra_float_digits = -5",
    ] {
        client.batch_execute(&format!("alter database postgres set {setting}")).await?;
    }
    let columns: Vec<String> = COLUMNS.iter().map(|(column, kind, _)| format!("{column} {kind}")).collect();
    for (table, key, _, payload, _) in TABLES {
        client
            .batch_execute(&format!(
                "create table {table} (id uuid primary key, aggregatetype text, aggregateid {key}, type text,
                 payload {payload}, at timestamptz, {})",
                columns.join(", ")
            ))
            .await?;
    }
    let streamed = Recorder::default();
    let streaming = start(with_all_columns(&server, "streamed"), &streamed);
    streaming.until_streaming().await;
    let values: Vec<&str> = COLUMNS.iter().map(|(_, _, value)| *value).collect();
    for (number, (table, _, key, _, payload)) in TABLES.into_iter().enumerate() {
        let id = id(number as u64);
        client
            .batch_execute(&format!(
                "insert into {table} values ('{id}', 'order', {key}, 'Created', {payload}, '2026-01-01 00:00:00.123+00', {})",
                values.join(", ")
            ))
            .await?;
    }
    until("an event of each table", || streamed.events().len() >= TABLES.len()).await;
    streaming.stop().await?;
    let streamed = events(&streamed);
    assert_eq!(streamed.len(), TABLES.len());
    // One placement more: `type` has its own.
    assert!(streamed.iter().all(|event| event.headers.len() >= COLUMNS.len()), "{streamed:?}");

    let mut snapshot = with_all_columns(&server, "snapshot");
    snapshot.source_options.snapshot = SnapshotMode::Initial;
    assert_eq!(all_events(snapshot).await, streamed, "by snapshot");

    let mut polled = with_all_columns(&server, "polled");
    polled.source_options.snapshot = SnapshotMode::Initial;
    polled.source_options.mode = SourceMode::Polling;
    assert_eq!(all_events(polled).await, streamed, "by polling");
    Ok(())
}
