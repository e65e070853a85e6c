use super::{Source, init_sql, init_statements};

fn source(tables: &[&str]) -> Source {
    Source {
        tables: tables.iter().map(|table| table.parse().unwrap()).collect(),
        publication: "pillion_outbox".to_owned(),
        slot: "pillion".to_owned(),
    }
}

#[test]
fn the_slot_comes_last_so_that_it_is_made_once_everything_else_is_there() {
    let statements = init_statements(&source(&["outbox"]), Some("relay"));
    assert!(statements.last().unwrap().contains("pg_create_logical_replication_slot('pillion', 'pgoutput')"));
    assert!(statements[statements.len() - 2].contains(r#"CREATE ROLE "relay" LOGIN REPLICATION"#));
}

#[test]
fn several_tables_in_several_schemas_share_one_publication() {
    let sql = init_sql(&source(&["orders.outbox", "payments.outbox", "orders.audit"]), None);
    assert_eq!(sql.matches("CREATE SCHEMA").count(), 2);
    assert_eq!(sql.matches("CREATE TABLE").count(), 3);
    assert_eq!(sql.matches("CREATE PUBLICATION").count(), 1);
    assert_eq!(sql.matches("ALTER PUBLICATION").count(), 3);
}

#[test]
fn names_cannot_leave_their_quotes() {
    let mut source = source(&["outbox"]);
    source.publication = r#"a'b"c"#.to_owned();
    let sql = init_sql(&source, None);
    assert!(sql.contains(r#"CREATE PUBLICATION "a'b""c""#), "{sql}");
    assert!(sql.contains(r#"pubname = 'a''b"c'"#), "{sql}");
}
