use super::*;

const LETTER: &str = r#"{"reason":"bad","table":"public.outbox","commitLsn":"0/1A2B3C8","ordinal":3,
    "row":{"id":"7","payload":"{","note":null},"truncated":["payload"]}"#;

#[test]
fn a_dead_letter_is_read_and_mended() {
    let mut letter = DeadLetter::read(LETTER.as_bytes()).unwrap();
    assert_eq!((letter.reason.as_str(), letter.ordinal, letter.truncated.len()), ("bad", 3, 1));
    letter.mend("payload", Some("{}")).unwrap();
    assert!(letter.truncated.is_empty(), "the whole value was given");
    letter.mend("note", None).unwrap();
    assert_eq!(letter.row.as_ref().unwrap()["payload"], "{}");
    assert!(matches!(letter.mend("no\"te", Some("x")), Err(WriteBackError::NoColumn(_))));
    assert!(DeadLetter::read(b"{\"order\":1}").is_err());
}

#[test]
fn names_of_columns_are_quoted_and_their_texts_cast() {
    let row = Map::from_iter([("a\"b".to_owned(), Value::Null), ("id".to_owned(), Value::from("7"))]);
    let types = HashMap::from([("a\"b".to_owned(), "jsonb".to_owned()), ("id".to_owned(), "uuid".to_owned())]);
    let (delete, insert) = statements("\"s\".\"t\"", "id", &row, &types).unwrap();
    assert_eq!(delete, "delete from \"s\".\"t\" where \"id\" = ($1::text::jsonb ->> 'id')::uuid");
    assert!(
        insert.contains("(\"a\"\"b\", \"id\")") && insert.contains("($1::text::jsonb ->> 'a\"b')::jsonb"),
        "{insert}"
    );
    assert!(matches!(statements("t", "id", &row, &HashMap::new()), Err(WriteBackError::NoColumn(_))));
}

#[tokio::test]
async fn only_the_connectors_own_tables_are_written_to() {
    let postgres = "postgresql://nobody@127.0.0.1:1/nowhere".parse().unwrap();
    let config = ConnectorConfig::new(postgres, Vec::new());
    let cut = DeadLetter::read(LETTER.as_bytes()).unwrap();
    assert!(
        matches!(write_back(&config, &cut).await, Err(WriteBackError::Truncated(_))),
        "before the database is asked"
    );
}
