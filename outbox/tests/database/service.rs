//! A service's database, and its outbox read back.

use anyhow::Result;
use pillion_test_postgres::Server;
use tokio_postgres::Client;

/// What the column `payload` is of, beside Debezium's other columns.
pub(crate) fn outbox_table(name: &str, payload: &str) -> String {
    format!(
        "CREATE TABLE {name} (id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, \
         aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload {payload}, tracingspancontext text, \
         number bigserial)"
    )
}

/// A Postgres of the test's own with both tables.
pub(crate) async fn database() -> Result<(Server, Client)> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(&outbox_table("outbox", "jsonb")).await?;
    client.batch_execute(pillion_outbox::INBOX_TABLE).await?;
    Ok((server, client))
}

/// A row as text: aggregate type, id, type, payload, trace context, in the order in which they were inserted.
pub(crate) type Row = (String, String, String, Option<String>, Option<String>);

/// All rows of a table whose payload can be shown as text.
pub(crate) async fn rows(client: &Client, table: &str) -> Result<Vec<Row>> {
    let query = format!(
        "SELECT aggregatetype, aggregateid, type, payload::text, tracingspancontext FROM {table} ORDER BY number"
    );
    let rows = client.query(&query, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))).collect())
}

/// How many rows a table has.
pub(crate) async fn count(client: &Client, table: &str) -> Result<i64> {
    Ok(client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await?.get(0))
}
