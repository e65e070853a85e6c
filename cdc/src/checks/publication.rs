//! Whether the publication is there and has the tables.

use tokio_postgres::Client;

use super::CheckFailure;
use crate::control::ControlError;
use crate::outbox::Source;

pub(super) async fn check(
    client: &Client,
    source: &Source,
    failures: &mut Vec<CheckFailure>,
) -> Result<(), ControlError> {
    let name = source.publication.clone();
    let query = "select pubinsert, pubviaroot from pg_publication where pubname = $1";
    let Some(row) = client.query_opt(query, &[&name]).await? else {
        failures.push(CheckFailure::NoPublication { name });
        return Ok(());
    };
    let (inserts, via_root): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !inserts {
        failures.push(CheckFailure::NoInserts { name });
    }
    for table in &source.tables {
        let query = "select c.relkind = 'p', exists (select from pg_publication_tables t
                where t.pubname = $1 and t.schemaname = n.nspname and t.tablename = c.relname)
            from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $2 and c.relname = $3";
        let row = client.query_opt(query, &[&source.publication, &table.schema, &table.name]).await?;
        let publication = source.publication.clone();
        let table = table.clone();
        let Some(row) = row else {
            failures.push(CheckFailure::NoTable { table });
            continue;
        };
        let (partitioned, published): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
        if partitioned && !via_root {
            failures.push(CheckFailure::NotViaRoot { table, publication });
        } else if !published {
            failures.push(CheckFailure::NotPublished { table, publication });
        }
    }
    Ok(())
}
