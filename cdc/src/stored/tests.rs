//! The SQL against a real Postgres.

use anyhow::Result;
use pillion_test_postgres::Server;

use super::transaction_id::full;
use super::*;

#[tokio::test]
async fn the_database_computes_transaction_ids_as_we_do_on_either_side_of_a_wraparound() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let epoch = 1_u64 << 32;
    let xmins = [0, 1, 2, 3, 9, 10, 11, 500, 1 << 31, u32::MAX - 1, u32::MAX];
    let values: Vec<String> = xmins.iter().map(|xmin| format!("('{xmin}'::xid)")).collect();
    for next in [5 * epoch, 5 * epoch + 10, 5 * epoch + (1 << 31), 6 * epoch - 1] {
        let ids = TransactionIds::Xmin { next };
        // A table cannot be given old rows; a list of values with a column of that name can.
        let query = |what: String| format!("SELECT xmin::text, {what} FROM (VALUES {}) AS t (xmin)", values.join(","));
        for row in ask(&client, &query(ids.value())).await? {
            let xmin: u32 = row.get(0).unwrap_or_default().parse()?;
            assert_eq!(row.get(1), Some(full(next, xmin).to_string().as_str()), "{xmin} before {next}");
        }
        for bound in [next, next - 1, next - 500, next - (1 << 31), 0] {
            for row in ask(&client, &query(format!("{}, {}", ids.at_least(bound), ids.below(bound)))).await? {
                let id = full(next, row.get(0).unwrap_or_default().parse()?);
                let expected = if id >= bound { (Some("t"), Some("f")) } else { (Some("f"), Some("t")) };
                if bound > 0 {
                    assert_eq!((row.get(1), row.get(2)), expected, "{id} and {bound}");
                }
            }
        }
        let chosen = [full(next, 9), full(next, u32::MAX)];
        for row in ask(&client, &query(ids.one_of(chosen.into_iter()))).await? {
            let id = full(next, row.get(0).unwrap_or_default().parse()?);
            assert_eq!(row.get(1) == Some("t"), chosen.contains(&id), "{id}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_table_is_described_as_the_stream_describes_it() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(
            "create schema \"O'rders\"; create table \"O'rders\".outbox (gone int, id uuid, \"Key\" text, payload jsonb,
             twice text generated always as (\"Key\" || \"Key\") stored);
             alter table \"O'rders\".outbox drop column gone;
             insert into \"O'rders\".outbox values ('00000000-0000-0000-0000-000000000001', null, '{}');
             insert into \"O'rders\".outbox values ('00000000-0000-0000-0000-000000000002', 'ö', null)",
        )
        .await?;
    let name = |name: &str| crate::quoting::TableName { schema: "O'rders".to_owned(), name: name.to_owned() };
    let tables = describe(&client, &[name("outbox")]).await?;
    let columns: Vec<_> =
        tables[0].relation.columns.iter().map(|column| (column.name.as_str(), column.type_id)).collect();
    assert_eq!(columns, [("id", 2950), ("Key", 25), ("payload", 3802)]);
    let mut rows = Rows::of(&client, &tables[0].select("true", "")).await?;
    let mut texts = Vec::new();
    while let Some(row) = rows.next().await? {
        texts.push(row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>().join(" "));
    }
    let id = |number| format!("Text(b\"00000000-0000-0000-0000-00000000000{number}\")");
    assert_eq!(texts, [format!("{} Null Text(b\"{{}}\")", id(1)), format!("{} Text(b\"\\xc3\\xb6\") Null", id(2))]);

    let error = describe(&client, &[name("outbox"), name("lost")]).await.unwrap_err();
    assert!(error.to_string().contains("table O'rders.lost does not exist"), "{error}");
    Ok(())
}
