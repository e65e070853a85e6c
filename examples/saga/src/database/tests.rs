use super::*;

#[test]
fn summary_is_operation_and_table() {
    assert_eq!(summary("INSERT INTO outbox (id) VALUES ($1)"), "INSERT outbox");
    assert_eq!(summary("UPDATE stock\n   SET available = 1"), "UPDATE stock");
    assert_eq!(summary("select state from orders where id = $1"), "SELECT orders");
    assert_eq!(summary("COMMIT"), "COMMIT");
    assert_eq!(summary(""), "");
}
