use super::{ConfigError, ConnectorConfig, OnError, SnapshotMode, SourceMode};

fn config() -> ConnectorConfig {
    let postgres = "postgresql://me:s3cr3t@localhost/shop".parse().unwrap();
    ConnectorConfig::new(postgres, vec!["localhost:9092".to_owned()])
}

#[test]
fn defaults_are_valid() {
    assert_eq!(config().validate(), Ok(()));
}

#[test]
fn options_are_set_by_their_dotted_names() {
    let mut config = config();
    for (name, value) in [
        ("slot.name", "relay"),
        ("table.include.list", "orders.outbox, payments.outbox"),
        ("bootstrap.servers", "a:1, b:2"),
        ("topic.creation.default.partitions", "6"),
        ("on.error", "skip"),
        ("route.by.field", "type"),
    ] {
        config.set(name, value).expect(name);
    }
    assert_eq!(config.slot, "relay");
    assert_eq!(config.tables.iter().map(ToString::to_string).collect::<Vec<_>>(), ["orders.outbox", "payments.outbox"]);
    assert_eq!(config.bootstrap_servers, ["a:1", "b:2"]);
    assert_eq!((config.topic_creation.of("t").partitions, config.on_error), (6, OnError::Skip));
    assert_eq!(config.router.route_by, "type");
    assert_eq!(config.validate(), Ok(()));
}

#[test]
fn unknown_names_and_values_are_refused() {
    let mut config = config();
    assert_eq!(config.set("slot", "x"), Err(ConfigError::Unknown("slot".to_owned())));
    assert!(matches!(config.set("max.row.bytes", "lots"), Err(ConfigError::Value { name: "max.row.bytes", .. })));
    assert!(matches!(config.set("table.include.list", "a.b.c"), Err(ConfigError::Table(_))));
    assert!(matches!(config.set("table.op.invalid.behavior", "x"), Err(ConfigError::Router(_))));
}

#[test]
fn every_problem_is_reported_at_once() {
    let mut config = config();
    config.slot = "Not-A-Slot".to_owned();
    config.tables.clear();
    config.bootstrap_servers.clear();
    config.set("topic.creation.groups", "orders").unwrap();
    config.set("dead.letter.topic", "no topic").unwrap();
    config.set("route.topic.regex", "(").unwrap();
    let problems: Vec<String> = config.validate().unwrap_err().iter().map(ToString::to_string).collect();
    for part in
        ["slot.name", "table.include", "bootstrap", "topic.creation.orders.include", "dead.letter.topic", "regex"]
    {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part} in {problems:?}");
    }
    assert_eq!(problems.len(), 6, "{problems:?}");
}

#[test]
fn options_of_the_source_are_set_by_name_and_checked() {
    let mut config = config();
    for (name, value) in [
        ("source.mode", "polling"),
        ("snapshot", "initial"),
        ("poll.interval.ms", "20"),
        ("polling.column", "created_at"),
        ("polling.transaction.column", "txid"),
    ] {
        config.set(name, value).expect(name);
    }
    assert_eq!(config.validate(), Ok(()));
    let chosen = &config.source_options;
    assert_eq!((chosen.mode, chosen.snapshot), (SourceMode::Polling, SnapshotMode::Initial));
    assert_eq!((chosen.poll_interval.as_millis(), chosen.polling_column.as_deref()), (20, Some("created_at")));
    for (name, value) in [("source.mode", "push"), ("snapshot", "always"), ("poll.interval.ms", "soon")] {
        assert!(matches!(config.set(name, value), Err(ConfigError::Value { .. })), "{name}");
    }
    config.set("poll.interval.ms", "0").unwrap();
    config.set("polling.column", "").unwrap();
    config.set("delivery", "at-least-once").unwrap();
    assert_eq!(config.validate().unwrap_err().len(), 3);
}

#[test]
fn the_password_is_not_in_the_debug_output() {
    assert!(!format!("{:?}", config()).contains("s3cr3t"));
}

#[test]
fn security_is_set_by_kafkas_names_and_its_problems_are_reported() {
    let mut config = config();
    config.set("security.protocol", "SASL_SSL").unwrap();
    config.set("sasl.mechanism", "SCRAM-SHA-512").unwrap();
    config.set("sasl.password", "hunter2").unwrap();
    let problems: Vec<String> = config.validate().unwrap_err().iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.starts_with("sasl.username is missing")), "{problems:?}");
    assert!(!format!("{config:?}{problems:?}").contains("hunter2"));
    config.set("sasl.username", "relay").unwrap();
    assert_eq!(config.validate(), Ok(()));
    assert!(matches!(config.set("sasl.mechanism", "GSSAPI"), Err(ConfigError::Security(_))));
}
