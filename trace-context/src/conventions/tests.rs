//! Span names as the semantic conventions form them.

use super::*;

#[test]
fn span_name_is_operation_and_destination() {
    assert_eq!(span_name("process", "orders"), "process orders");
    assert_eq!(span_name("poll", ""), "poll");
}

#[test]
fn schema_url_names_the_pinned_version() {
    assert!(SCHEMA_URL.ends_with(SEMANTIC_CONVENTIONS_VERSION));
}
