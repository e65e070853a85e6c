use std::sync::Arc;

use pillion_cdc::{ConnectorConfig, Status};

use super::*;

#[test]
fn a_broker_that_is_coming_is_not_ready_and_no_broker_is_none_of_its_business() {
    let watched = Watched::default();
    assert!(readiness(&watched, None).ready);
    watched.broker_is_coming();
    let seen = readiness(&watched, None);
    assert!(!seen.ready);
    assert_eq!(seen.reasons[0].part, "broker");
    assert!(readiness(&watched, Some(Part::Connectors)).ready);
}

#[test]
fn a_connector_that_does_not_stream_is_named() {
    let watched = Watched::default();
    let config = ConnectorConfig::new("postgresql://shop:hunter2@db/shop".parse().unwrap(), Vec::new());
    let (name, status) = ("orders".to_owned(), Status::default());
    watched.connector_started(WatchedConnector { name, status, config: Arc::new(config) });
    let seen = readiness(&watched, None);
    assert_eq!(seen.reasons, [Reason { part: "connector orders".to_owned(), reason: "it is starting".to_owned() }]);
    assert!(readiness(&watched, Some(Part::Broker)).ready);
}

#[test]
fn what_is_being_stopped_is_not_ready() {
    let watched = Watched::default();
    watched.stopping();
    assert!(!readiness(&watched, None).ready);
}
