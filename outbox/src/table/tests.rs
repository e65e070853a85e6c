use super::Table;

#[test]
fn each_part_is_quoted() {
    assert_eq!(Table::new("outbox").unwrap().quoted(), "\"outbox\"");
    assert_eq!(Table::new("Orders.out box").unwrap().quoted(), "\"Orders\".\"out box\"");
}

#[test]
fn what_is_no_name_is_refused() {
    let long = "a".repeat(64);
    for name in ["", ".", "orders.", ".outbox", "a.b.c", "out\"box", "out\0box", &long] {
        let error = Table::new(name).unwrap_err().to_string();
        assert!(error.contains("table or schema.table"), "{name}: {error}");
    }
    assert!(Table::new(&"a".repeat(63)).is_ok());
}
