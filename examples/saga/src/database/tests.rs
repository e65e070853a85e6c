use super::statements::summary;
use super::{Conflict, NoAnswer, is_passing};

#[test]
fn summary_is_operation_and_table() {
    assert_eq!(summary("INSERT INTO outbox (id) VALUES ($1)"), "INSERT outbox");
    assert_eq!(summary("UPDATE stock\n   SET available = 1"), "UPDATE stock");
    assert_eq!(summary("select state from orders where id = $1"), "SELECT orders");
    assert_eq!(summary("WITH moved AS (UPDATE sagas SET x = 1) INSERT INTO saga_log"), "WITH sagas");
    assert_eq!(summary("COMMIT"), "COMMIT");
    assert_eq!(summary(""), "");
}

#[test]
fn what_passes_is_told_from_what_comes_again() {
    let passing = anyhow::Error::new(NoAnswer(std::time::Duration::from_secs(1))).context("while charging");
    assert!(is_passing(&passing));
    assert!(is_passing(&anyhow::Error::new(Conflict("the saga"))));
    assert!(!is_passing(&anyhow::anyhow!("the value is not an order")));
}
