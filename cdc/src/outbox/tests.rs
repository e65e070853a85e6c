use super::{Interval, Setup, Source, apply_inbox, apply_with, inbox_statements, init_sql, init_statements};
use crate::control::Control;
use pillion_test_postgres::Server;

fn source(tables: &[&str]) -> Source {
    Source {
        tables: tables.iter().map(|table| table.parse().unwrap()).collect(),
        publication: "pillion_outbox".to_owned(),
        slot: "pillion".to_owned(),
    }
}

fn with_role(role: &str) -> Setup {
    Setup { role: Some(role.to_owned()), partitions: None }
}

#[test]
fn the_slot_comes_last_so_that_it_is_made_once_everything_else_is_there() {
    let statements = init_statements(&source(&["outbox"]), &with_role("relay"));
    assert!(statements.last().unwrap().contains("pg_create_logical_replication_slot('pillion', 'pgoutput')"));
    assert!(statements.iter().any(|one| one.contains(r#"CREATE ROLE "relay" LOGIN REPLICATION"#)));
}

#[test]
fn several_tables_in_several_schemas_share_one_publication() {
    let sql = init_sql(&source(&["orders.outbox", "payments.outbox", "orders.audit"]), &Setup::default());
    assert_eq!(sql.matches("CREATE SCHEMA").count(), 2);
    assert_eq!(sql.matches("CREATE TABLE").count(), 3);
    assert_eq!(sql.matches("CREATE PUBLICATION").count(), 1);
    assert_eq!(sql.matches("ALTER PUBLICATION").count(), 3);
}

#[test]
fn names_cannot_leave_their_quotes() {
    let mut source = source(&["outbox"]);
    source.publication = r#"a'b"c"#.to_owned();
    let sql = init_sql(&source, &Setup::default());
    assert!(sql.contains(r#"CREATE PUBLICATION "a'b""c""#), "{sql}");
    assert!(sql.contains(r#"pubname = 'a''b"c'"#), "{sql}");
}

async fn rows(control: &Control, query: &str) -> Vec<String> {
    control.client().query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_partitioned_outbox_has_partitions_ahead_and_takes_rows_of_any_time() {
    let server = Server::start().await.unwrap();
    let url = server.url().parse().unwrap();
    let control = Control::connect(&url).await.unwrap();
    let mut source = source(&["out's.%box"]);
    let setup = |interval| Setup { role: Some("relay".to_owned()), partitions: Some(interval) };
    for _ in 0..2 {
        apply_with(&control, &source, &setup(Interval::Day)).await.unwrap();
    }
    let partitions = "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid and c.relkind = 'r' order by 1";
    assert_eq!(rows(&control, partitions).await.len(), 9, "today, seven days ahead, and the rest");
    let insert = |at: &str| {
        format!(
            r#"insert into "out's"."%box" (id, aggregatetype, aggregateid, type, created_at)
            values ('00000000-0000-0000-0000-000000000001', 'a', '1', 't', {at})"#
        )
    };
    for at in ["now()", "now() + interval '3 days'", "now() - interval '1 year'", "now() + interval '20 days'"] {
        control.client().batch_execute(&insert(at)).await.unwrap();
    }
    let in_default = r#"select count(*)::text from "out's"."%box_default""#;
    assert_eq!(rows(&control, in_default).await, ["2"]);
    // Weeks overlap the days that exist, and one of them has a row in the default partition: neither is an error.
    apply_with(&control, &source, &setup(Interval::Week)).await.unwrap();
    let published = "select tablename::text from pg_publication_tables";
    assert_eq!(rows(&control, published).await, ["%box"]);
    for interval in [Interval::Week, Interval::Month] {
        source.tables = vec![format!("{}.outbox", interval.name()).parse().unwrap()];
        apply_with(&control, &source, &setup(interval)).await.unwrap();
        let bounds = format!(
            "select count(*)::text from pg_inherits i join pg_class c on c.oid = i.inhrelid and c.relkind = 'r'
            join pg_namespace n on n.oid = c.relnamespace where nspname = '{}'",
            interval.name()
        );
        assert_eq!(rows(&control, &bounds).await, [(interval.ahead() + 2).to_string()]);
    }
}

#[tokio::test]
async fn the_role_has_what_the_commands_need_and_no_more() {
    let server = Server::start().await.unwrap();
    let url = server.url().parse().unwrap();
    let control = Control::connect(&url).await.unwrap();
    for _ in 0..2 {
        apply_with(&control, &source(&["shop.outbox"]), &with_role("relay")).await.unwrap();
    }
    let relay = Control::connect(&server.url().replace("postgres@", "relay@").parse().unwrap()).await.unwrap();
    relay.client().batch_execute("select * from shop.outbox; delete from shop.outbox").await.unwrap();
    for refused in [
        "insert into shop.outbox (id, aggregatetype, aggregateid, type) values (gen_random_uuid(), 'a', '1', 't')",
        "update shop.outbox set type = 't'",
        "truncate shop.outbox",
        "create table shop.another ()",
    ] {
        let error = relay.client().batch_execute(refused).await.unwrap_err();
        assert_eq!(error.code(), Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE), "{refused}");
    }
}

#[tokio::test]
async fn an_inbox_takes_each_event_once() {
    let server = Server::start().await.unwrap();
    let url = server.url().parse().unwrap();
    let table = "stock.inbox".parse().unwrap();
    for _ in 0..2 {
        apply_inbox(&url, &table).await.unwrap();
    }
    assert_eq!(inbox_statements(&table).len(), 2);
    let client = server.connect().await.unwrap();
    let insert =
        "insert into stock.inbox (event_id) values ('00000000-0000-0000-0000-000000000001') on conflict do nothing";
    assert_eq!(client.execute(insert, &[]).await.unwrap(), 1);
    assert_eq!(client.execute(insert, &[]).await.unwrap(), 0);
}
