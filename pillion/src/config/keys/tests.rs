use std::collections::HashSet;

use pillion_cdc::{ConfigError, ConnectorConfig};

use super::*;

#[test]
fn no_key_belongs_to_both_parts() {
    let distinct: HashSet<&str> = all().iter().map(|(key, _)| *key).collect();
    assert_eq!(distinct.len(), all().len());
}

#[test]
fn the_connector_knows_every_key_listed_for_it() {
    let own: HashSet<&str> = [POSTGRES_URL, AUTO_INIT].into_iter().chain(DATABASE_KEYS.map(|(key, _)| key)).collect();
    let url = "postgresql://somebody@localhost/shop".parse().unwrap();
    let mut config = ConnectorConfig::new(url, Vec::new());
    for (key, _) in all().iter().filter(|(key, part)| *part == Part::Connector && !own.contains(key)) {
        let outcome = config.set(key, "1");
        assert!(!matches!(outcome, Err(ConfigError::Unknown(_))), "{key} is listed and the connector refuses it");
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
