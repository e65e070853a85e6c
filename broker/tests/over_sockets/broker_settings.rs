//! The broker's own settings, changed while it runs. Codes are those of an Apache Kafka 4.4 broker.

use std::collections::BTreeMap;

use pillion_wire::messages::alter_configs;
use pillion_wire::messages::describe_configs::{DescribeConfigsResource, DescribeConfigsResourceResult};
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest};

use crate::support::{Client, TestBroker, batch, create_topic, eventually, list_offset, produce};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;
/// Every broker, and the one there is.
const EVERY: &str = "";
const THIS: &str = "1";

fn alter_in(client: &mut Client, name: &str, changes: &[(&str, i8, Option<&str>)], validate_only: bool) -> i16 {
    let change = |(name, config_operation, value): &(&str, i8, Option<&str>)| AlterableConfig {
        name: (*name).to_owned(),
        config_operation: *config_operation,
        value: value.map(str::to_owned),
    };
    let configs = changes.iter().map(change).collect();
    let resources = vec![AlterConfigsResource { resource_type: BROKER, resource_name: name.to_owned(), configs }];
    client.call(&IncrementalAlterConfigsRequest { resources, validate_only }, 1).responses[0].error_code
}

fn set(client: &mut Client, name: &str, key: &str, value: &str) {
    assert_eq!(alter_in(client, name, &[(key, SET, Some(value))], false), 0, "{key}={value}");
}

fn replace(client: &mut Client, name: &str, configs: &[(&str, &str)]) -> i16 {
    let config = |(name, value): &(&str, &str)| alter_configs::AlterableConfig {
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
    };
    let configs = configs.iter().map(config).collect();
    let resource =
        alter_configs::AlterConfigsResource { resource_type: BROKER, resource_name: name.to_owned(), configs };
    client.call(&AlterConfigsRequest { resources: vec![resource], validate_only: false }, 2).responses[0].error_code
}

fn described(client: &mut Client, resource_type: i8, name: &str) -> BTreeMap<String, DescribeConfigsResourceResult> {
    let resource = DescribeConfigsResource { resource_type, resource_name: name.to_owned(), configuration_keys: None };
    let request =
        DescribeConfigsRequest { resources: vec![resource], include_synonyms: true, include_documentation: true };
    let configs = client.call(&request, 4).results.remove(0).configs;
    configs.into_iter().map(|config| (config.name.clone(), config)).collect()
}

/// A setting's value, where it is from, and all that is said of it, as `key=value:source`.
fn told(client: &mut Client, resource_type: i8, name: &str, key: &str) -> (String, i8, Vec<String>) {
    let config = described(client, resource_type, name).remove(key).expect("the key is told");
    let text = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let synonyms = config.synonyms.into_iter();
    let synonyms = synonyms.map(|one| format!("{}={}:{}", one.name, text(one.value), one.source)).collect();
    (text(config.value), config.config_source, synonyms)
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn this_brokers_value_is_told_before_every_brokers_and_topics_have_it() {
    let broker = TestBroker::fresh(&[("log.segment.bytes", "500")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "own", 1, &[("segment.bytes", "77")]);
    set(&mut client, EVERY, "log.segment.bytes", "1000");
    let every = ["log.segment.bytes=1000:3", "log.segment.bytes=500:4", "log.segment.bytes=1073741824:5"];
    assert_eq!(told(&mut client, BROKER, THIS, "log.segment.bytes"), ("1000".to_owned(), 3, strings(&every)));
    assert_eq!(told(&mut client, TOPIC, "t", "segment.bytes"), ("1000".to_owned(), 3, strings(&every)));
    set(&mut client, THIS, "log.segment.bytes", "2000");
    let this = [&["log.segment.bytes=2000:2"][..], &every].concat();
    assert_eq!(told(&mut client, BROKER, THIS, "log.segment.bytes"), ("2000".to_owned(), 2, strings(&this)));
    let own = [&["segment.bytes=77:1"][..], &this].concat();
    assert_eq!(told(&mut client, TOPIC, "own", "segment.bytes"), ("77".to_owned(), 1, strings(&own)));
    let of_every = described(&mut client, BROKER, EVERY);
    assert_eq!(of_every.keys().collect::<Vec<_>>(), ["log.segment.bytes"], "only what was set for all of them");
    assert_eq!(alter_in(&mut client, THIS, &[("log.segment.bytes", DELETE, None)], false), 0);
    assert_eq!(alter_in(&mut client, EVERY, &[("log.segment.bytes", DELETE, None)], false), 0);
    assert_eq!(told(&mut client, TOPIC, "t", "segment.bytes").0, "500");
}

#[test]
fn milliseconds_set_at_run_time_are_told_with_the_hours_they_stand_before() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    assert_eq!(told(&mut client, BROKER, THIS, "log.retention.ms"), ("null".to_owned(), 5, Vec::new()));
    set(&mut client, THIS, "log.retention.ms", "123456");
    let synonyms = strings(&["log.retention.ms=123456:2", "log.retention.hours=168:5"]);
    assert_eq!(told(&mut client, BROKER, THIS, "log.retention.ms"), ("123456".to_owned(), 2, synonyms.clone()));
    assert_eq!(told(&mut client, TOPIC, "t", "retention.ms"), ("123456".to_owned(), 2, synonyms));
}

#[test]
fn a_change_takes_effect_at_once_and_stays_over_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "own", 1, &[("max.message.bytes", "1000000")]);
    assert_eq!(produce(&mut client, "t", 0, batch(&["x"])).error_code, 0);
    set(&mut client, EVERY, "message.max.bytes", "10");
    assert_eq!(produce(&mut client, "t", 0, batch(&["x"])).error_code, 10);
    assert_eq!(produce(&mut client, "own", 0, batch(&["x"])).error_code, 0, "it says otherwise itself");
    create_topic(&mut client, "new", 1, &[]);
    assert_eq!(produce(&mut client, "new", 0, batch(&["x"])).error_code, 10);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[("message.max.bytes", "2000000")]);
    let mut client = broker.client();
    assert_eq!(produce(&mut client, "t", 0, batch(&["x"])).error_code, 10);
    let said = ["message.max.bytes=10:3", "message.max.bytes=2000000:4", "message.max.bytes=1048588:5"];
    assert_eq!(told(&mut client, BROKER, THIS, "message.max.bytes"), ("10".to_owned(), 3, strings(&said)));
    assert_eq!(replace(&mut client, EVERY, &[]), 0);
    assert_eq!(produce(&mut client, "t", 0, batch(&["x"])).error_code, 0);
    broker.stop();
}

#[test]
fn retention_set_at_run_time_deletes() {
    let broker = TestBroker::fresh(&[("log.retention.check.interval.ms", "20"), ("log.segment.bytes", "100")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("retention.ms", "-1")]);
    for _ in 0..5 {
        assert_eq!(produce(&mut client, "t", 0, batch(&["something of some length"])).error_code, 0);
    }
    assert_eq!(list_offset(&mut client, "t", 0, -2).offset, 0, "nothing limits it yet");
    set(&mut client, EVERY, "log.retention.bytes", "150");
    eventually("deletion", || list_offset(&mut client, "t", 0, -2).offset > 0);
}

#[test]
fn connections_are_limited_at_run_time() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    set(&mut client, THIS, "max.connections", "2");
    let mut second = broker.client();
    create_topic(&mut second, "t", 1, &[]);
    broker.client().expect_closed();
    set(&mut client, THIS, "max.connections", "3");
    create_topic(&mut broker.client(), "u", 1, &[]);
}

#[test]
fn lists_are_appended_to_and_subtracted_from() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let change = |client: &mut Client, operation, value| {
        assert_eq!(alter_in(client, EVERY, &[("log.cleanup.policy", operation, Some(value))], false), 0);
        told(client, TOPIC, "t", "cleanup.policy").0
    };
    assert_eq!(change(&mut client, APPEND, "compact"), "delete,compact");
    assert_eq!(change(&mut client, SUBTRACT, "delete"), "compact");
}

#[test]
fn what_cannot_be_changed_is_refused_and_changes_nothing() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for (changes, code) in [
        (&[("node.id", SET, Some("9"))] as &[(&str, i8, Option<&str>)], 42),
        (&[("listeners", SET, Some("PLAINTEXT://:1"))], 42),
        (&[("log.retention.hours", SET, Some("9"))], 42),
        (&[("auto.create.topics.enable", SET, Some("false"))], 42),
        (&[("message.max.bytes", SET, Some("9")), ("node.id", SET, Some("4"))], 42),
        (&[("message.max.bytes", SET, Some("soon"))], 42),
        (&[("message.max.bytes", SET, Some("-1"))], 42),
        (&[("message.max.bytes", SET, None)], 42),
        (&[("message.max.bytes", 9, Some("5"))], 42),
        (&[("message.max.bytes", SET, Some("5")), ("message.max.bytes", SET, Some("6"))], 42),
        (&[("message.max.bytes", APPEND, Some("5"))], 40),
        (&[("log.cleanup.policy", SET, Some("shred"))], 42),
        (&[("log.retention.ms", SET, Some("0"))], 42),
        (&[("max.connections", SET, Some("0"))], 42),
        (&[("no.such", SET, Some("1"))], 40),
        (&[("retention.ms", SET, Some("1"))], 40),
        (&[("no.such", DELETE, None)], 0),
        (&[("message.max.bytes", DELETE, None)], 0),
        (&[], 0),
    ] {
        for name in [EVERY, THIS] {
            assert_eq!(alter_in(&mut client, name, changes, false), code, "{changes:?}");
        }
        assert!(described(&mut client, BROKER, EVERY).is_empty(), "{changes:?}");
        let configs = described(&mut client, BROKER, THIS);
        assert!(configs.values().all(|config| !matches!(config.config_source, 2 | 3)), "{changes:?}");
    }
    for name in ["99", "x"] {
        assert_eq!(alter_in(&mut client, name, &[("message.max.bytes", SET, Some("9"))], false), 42, "{name}");
    }
    assert_eq!(alter_in(&mut client, EVERY, &[("message.max.bytes", SET, Some("9"))], true), 0);
    assert!(described(&mut client, BROKER, EVERY).is_empty(), "it was only to be checked");
}

#[test]
fn what_kafka_has_and_we_have_not_is_kept_and_told_once_it_is_set() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    assert!(!described(&mut client, BROKER, THIS).contains_key("num.io.threads"));
    set(&mut client, THIS, "num.io.threads", "9");
    let said = strings(&["num.io.threads=9:2", "num.io.threads=8:5"]);
    assert_eq!(told(&mut client, BROKER, THIS, "num.io.threads"), ("9".to_owned(), 2, said));
    assert_eq!(alter_in(&mut client, THIS, &[("num.io.threads", SET, Some("none"))], false), 42);
    assert_eq!(
        alter_in(&mut client, THIS, &[("ssl.keystore.location", SET, Some("/x"))], false),
        40,
        "it would be a lie"
    );
}

#[test]
fn replacing_takes_back_what_is_not_named_of_these_brokers_alone() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    set(&mut client, EVERY, "message.max.bytes", "900");
    assert_eq!(replace(&mut client, THIS, &[("message.max.bytes", "901"), ("log.roll.ms", "5")]), 0);
    assert_eq!(told(&mut client, BROKER, THIS, "message.max.bytes").0, "901");
    assert_eq!(replace(&mut client, THIS, &[("log.segment.bytes", "3000")]), 0);
    assert_eq!(told(&mut client, BROKER, THIS, "message.max.bytes").0, "900");
    for (configs, code) in [([("node.id", "1")], 42), ([("no.such", "1")], 40), ([("log.roll.ms", "x")], 42)] {
        assert_eq!(replace(&mut client, THIS, &configs), code, "{configs:?}");
    }
    assert_eq!(told(&mut client, BROKER, THIS, "log.segment.bytes").0, "3000", "what is refused changes nothing");
}
