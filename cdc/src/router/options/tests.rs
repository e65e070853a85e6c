use super::{InvalidOperation, JsonNull, OptionError, RouterOptions};
use crate::router::{Placement, Target};

fn set(name: &str, value: &str) -> Result<RouterOptions, OptionError> {
    let mut options = RouterOptions::default();
    options.set(name, value).map(|()| options)
}

#[test]
fn debezium_names_set_the_typed_options() {
    assert_eq!(set("table.field.event.key", "tenant").unwrap().event_key, "tenant");
    assert_eq!(set("route.by.field", "type").unwrap().route_by, "type");
    assert_eq!(set("table.op.invalid.behavior", "fatal").unwrap().invalid_operation, InvalidOperation::Fatal);
    assert!(set("route.tombstone.on.empty.payload", "true").unwrap().tombstone_on_empty_payload);
    assert_eq!(
        set("table.field.event.timestamp", "created_at").unwrap().event_timestamp.as_deref(),
        Some("created_at")
    );
}

#[test]
fn every_option_of_debezium_is_taken_at_its_default() {
    for (name, value) in [
        ("table.field.event.id", "id"),
        ("table.field.event.key", "aggregateid"),
        ("table.field.event.type", "type"),
        ("table.field.event.payload", "payload"),
        ("table.field.additional.missing", "error"),
        ("table.expand.json.payload", "false"),
        ("table.json.payload.null.behavior", "ignore"),
        ("table.op.invalid.behavior", "warn"),
        ("route.by.field", "aggregatetype"),
        ("route.topic.regex", "(?<routedByValue>.*)"),
        ("route.topic.replacement", "outbox.event.${routedByValue}"),
        ("route.tombstone.on.empty.payload", "false"),
        ("tracing.span.context.field", "tracingspancontext"),
        ("tracing.with.context.field.only", "true"),
    ] {
        assert_eq!(set(name, value), Ok(RouterOptions::default()), "{name}");
    }
}

#[test]
fn what_is_placed_and_missing_is_an_error_or_left_out_under_both_names() {
    for (name, error, ignore) in [
        ("table.field.additional.missing", "error", "ignore"),
        ("table.fields.additional.error.on.missing", "true", "false"),
    ] {
        assert!(set(name, error).unwrap().additional_error_on_missing);
        assert!(!set(name, ignore).unwrap().additional_error_on_missing);
    }
}

#[test]
fn a_payload_is_expanded_as_asked() {
    assert!(set("table.expand.json.payload", "true").unwrap().expand_json_payload);
    let nulls = set("table.json.payload.null.behavior", "optional_bytes").unwrap().json_null;
    assert_eq!(nulls, JsonNull::OptionalBytes);
}

#[test]
fn an_option_that_would_change_traces_is_refused_rather_than_ignored() {
    for (name, value) in [("tracing.with.context.field.only", "false"), ("tracing.operation.name", "read")] {
        assert!(matches!(set(name, value), Err(OptionError::Unsupported { .. })), "{name}");
    }
}

#[test]
fn wrong_values_and_names_are_refused() {
    assert!(matches!(set("route.tombstone.on.empty.payload", "yes"), Err(OptionError::Value { .. })));
    assert!(matches!(set("table.op.invalid.behavior", "panic"), Err(OptionError::Value { .. })));
    assert!(matches!(set("table.field.additional.missing", "warn"), Err(OptionError::Value { .. })));
    assert!(matches!(set("table.json.payload.null.behavior", "keep"), Err(OptionError::Value { .. })));
    assert!(matches!(set("table.field.event.id", ""), Err(OptionError::Value { .. })));
    assert_eq!(set("route.topic", "x"), Err(OptionError::Unknown("route.topic".to_owned())));
}

#[test]
fn placements_replace_the_default_one() {
    let default = RouterOptions::default().placements();
    assert_eq!(
        default,
        [Placement { column: "type".to_owned(), target: Target::Header, alias: Some("type".to_owned()) }]
    );
    assert_eq!(
        set("table.fields.additional.placement", "tenant:header:t, part:partition,note:envelope").unwrap().placements(),
        [
            Placement { column: "tenant".to_owned(), target: Target::Header, alias: Some("t".to_owned()) },
            Placement { column: "part".to_owned(), target: Target::Partition, alias: None },
            Placement { column: "note".to_owned(), target: Target::Envelope, alias: None },
        ]
    );
    for wrong in ["tenant", "tenant:footer", ":header", "a:header:b:c", "a:header,", "a:partition,b:partition"] {
        assert!(matches!(set("table.fields.additional.placement", wrong), Err(OptionError::Placement(_))), "{wrong}");
    }
    assert!(
        set("table.fields.additional.placement", "").unwrap().placements().is_empty(),
        "empty: no additional field"
    );
}
