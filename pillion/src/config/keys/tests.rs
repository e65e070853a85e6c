use std::collections::HashSet;

use pillion_cdc::{ConfigError, ConnectorConfig};
use pillion_client::SecurityConfig;

use super::*;

#[test]
fn no_key_belongs_to_both_parts() {
    let distinct: HashSet<&str> = all().iter().map(|key| key.name).collect();
    assert_eq!(distinct.len(), all().len());
}

/// Keys of the connector that it knows nothing of: they are read before it.
fn is_read_before(key: &str) -> bool {
    [POSTGRES_URL, AUTO_INIT].contains(&key) || DATABASE_KEYS.iter().any(|(own, _)| *own == key)
}

fn connector_keys() -> impl Iterator<Item = &'static Key> {
    all().iter().filter(|key| key.part == Part::Connector && !is_read_before(key.name))
}

fn connector() -> ConnectorConfig {
    ConnectorConfig::new("postgresql://somebody@localhost/shop".parse().unwrap(), vec![DEFAULT_BOOTSTRAP.to_owned()])
}

#[test]
fn the_connector_knows_every_key_listed_for_it() {
    let mut config = connector();
    for key in connector_keys() {
        let outcome = config.set(key.name, "1");
        assert!(
            !matches!(outcome, Err(ConfigError::Unknown(_))),
            "{} is listed and the connector refuses it",
            key.name
        );
    }
    let security: Vec<&str> = security::KEYS.iter().map(|key| key.name).collect();
    assert_eq!(security, SecurityConfig::KEYS);
}

#[test]
fn the_connector_falls_back_to_the_defaults_of_the_table() {
    // Rules for topics are kept as they were given.
    for key in connector_keys().filter(|key| !key.name.starts_with("topic.creation.")) {
        let Some(default) = key.default else { continue };
        let mut config = connector();
        config.set(key.name, default).unwrap();
        assert_eq!(format!("{config:?}"), format!("{:?}", connector()), "{}", key.name);
    }
    assert_eq!(connector().topic_creation.of("any").partitions.to_string(), "-1");
    assert!(!connector().auto_init);
}

#[test]
fn a_key_that_is_secret_is_listed_as_a_password() {
    for key in security::KEYS {
        assert_eq!(key.kind == "password", SecurityConfig::is_secret(key.name), "{}", key.name);
    }
}

#[test]
fn keys_are_found_by_their_name_in_the_environment() {
    assert_eq!(variable("PILLION_NUM_PARTITIONS"), Variable::Key("num.partitions"));
    assert_eq!(variable("PILLION_ROUTE_TOPIC_REPLACEMENT"), Variable::Key("route.topic.replacement"));
    assert_eq!(variable("PILLION_DATA_DIR"), Variable::Key(LOG_DIRS));
    assert_eq!(variable("PILLION_NUM_PARTITONS"), Variable::Unknown);
    let of_topics = Variable::Key("topic.creation.default.retention.ms");
    assert_eq!(variable("PILLION_TOPIC_CREATION_DEFAULT_RETENTION_MS"), of_topics);
    assert_eq!(variable("PILLION_LOG"), Variable::Ignored);
}

#[test]
fn what_kubernetes_adds_for_a_service_called_pillion_is_ignored() {
    for name in [
        "PILLION_SERVICE_HOST",
        "PILLION_SERVICE_PORT",
        "PILLION_SERVICE_PORT_KAFKA",
        "PILLION_PORT",
        "PILLION_PORT_9092_TCP",
        "PILLION_PORT_9092_TCP_ADDR",
    ] {
        assert_eq!(variable(name), Variable::Ignored, "{name}");
    }
    assert_eq!(variable("PILLION_PORTS"), Variable::Unknown);
    assert_eq!(variable("PILLION_PORT_RANGE"), Variable::Unknown);
}

#[test]
fn a_mistyped_key_is_answered_with_the_nearest() {
    assert_eq!(suggestion("num.partitons"), "did you mean num.partitions?");
    assert_eq!(suggestion("publication"), "did you mean publication.name?");
    assert_eq!(variable_suggestion("PILLION_DATADIR"), "did you mean PILLION_DATA_DIR?");
    assert_eq!(suggestion("zookeeper"), "`pillion config` lists every key");
}
