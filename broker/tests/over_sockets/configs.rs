//! Settings changed while the broker runs, and how they are told. Codes are those of an Apache Kafka 4.4 broker.

use std::collections::BTreeMap;

use pillion_wire::messages::alter_configs;
use pillion_wire::messages::describe_configs::{DescribeConfigsResource, DescribeConfigsResourceResult};
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest};

use pillion_wire::records::{Compression, Record};

use crate::support::{Client, TestBroker, batch, batch_of, create_topic, produce, read_all, record};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

type Change<'a> = (&'a str, i8, Option<&'a str>);

fn resource(resource_type: i8, name: &str, changes: &[Change<'_>]) -> AlterConfigsResource {
    let change = |(name, config_operation, value): &Change<'_>| AlterableConfig {
        name: (*name).to_owned(),
        config_operation: *config_operation,
        value: value.map(str::to_owned),
    };
    let configs = changes.iter().map(change).collect();
    AlterConfigsResource { resource_type, resource_name: name.to_owned(), configs }
}

fn alter_in(client: &mut Client, resource: AlterConfigsResource, validate_only: bool) -> i16 {
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only };
    client.call(&request, 1).responses[0].error_code
}

fn alter(client: &mut Client, changes: &[Change<'_>]) -> i16 {
    alter_in(client, resource(TOPIC, "t", changes), false)
}

fn replace(client: &mut Client, configs: &[(&str, Option<&str>)]) -> i16 {
    let config = |(name, value): &(&str, Option<&str>)| alter_configs::AlterableConfig {
        name: (*name).to_owned(),
        value: value.map(str::to_owned),
    };
    let configs = configs.iter().map(config).collect();
    let resource = alter_configs::AlterConfigsResource { resource_type: TOPIC, resource_name: "t".to_owned(), configs };
    let request = AlterConfigsRequest { resources: vec![resource], validate_only: false };
    client.call(&request, 2).responses[0].error_code
}

fn described(client: &mut Client, resource_type: i8, name: &str) -> BTreeMap<String, DescribeConfigsResourceResult> {
    let resource = DescribeConfigsResource { resource_type, resource_name: name.to_owned(), configuration_keys: None };
    let request =
        DescribeConfigsRequest { resources: vec![resource], include_synonyms: true, include_documentation: true };
    let configs = client.call(&request, 4).results.remove(0).configs;
    configs.into_iter().map(|config| (config.name.clone(), config)).collect()
}

/// What is set on the topic, as `key=value`.
fn set_on(client: &mut Client, topic: &str) -> Vec<String> {
    let configs = described(client, TOPIC, topic);
    let own = configs.values().filter(|config| config.config_source == 1);
    own.map(|config| format!("{}={}", config.name, config.value.as_deref().unwrap_or("null"))).collect()
}

/// A value, where it is from, and what it falls back to as `key=value:source`.
fn told(config: &DescribeConfigsResourceResult) -> (&str, i8, Vec<String>) {
    let synonym = |synonym: &pillion_wire::messages::describe_configs::DescribeConfigsSynonym| {
        format!("{}={}:{}", synonym.name, synonym.value.as_deref().unwrap_or("null"), synonym.source)
    };
    (config.value.as_deref().unwrap_or("null"), config.config_source, config.synonyms.iter().map(synonym).collect())
}

#[test]
fn a_setting_is_set_taken_back_and_kept_over_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[("flush.ms", "9")]);
    produce(&mut client, "t", 1, batch(&["x"]));
    assert_eq!(
        alter(&mut client, &[("retention.ms", SET, Some("1000")), ("cleanup.policy", APPEND, Some("compact"))]),
        0
    );
    let expected = ["cleanup.policy=delete,compact", "flush.ms=9", "retention.ms=1000"];
    assert_eq!(set_on(&mut client, "t"), expected);
    assert_eq!(alter_in(&mut client, resource(TOPIC, "t", &[("flush.ms", DELETE, None)]), true), 0);
    assert_eq!(set_on(&mut client, "t"), expected, "it was only to be checked");
    assert_eq!(read_all(&mut client, "t", 1).len(), 1);
    let keyless = batch_of(&[Record { key: None, ..record("x", 1_000) }], Compression::None, None);
    assert_eq!(produce(&mut client, "t", 1, keyless.clone()).error_code, 87, "records need keys from now on");
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    assert_eq!(set_on(&mut client, "t"), expected);
    let changes = [("cleanup.policy", SUBTRACT, Some("compact")), ("retention.ms", DELETE, None)];
    assert_eq!(alter(&mut client, &changes), 0);
    assert_eq!(set_on(&mut client, "t"), ["cleanup.policy=delete", "flush.ms=9"]);
    assert_eq!(produce(&mut client, "t", 1, keyless).error_code, 0);
    broker.stop();
}

#[test]
fn replacing_all_settings_takes_back_those_not_named() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("retention.ms", "7"), ("flush.ms", "9")]);
    assert_eq!(replace(&mut client, &[("flush.ms", Some("10"))]), 0);
    assert_eq!(set_on(&mut client, "t"), ["flush.ms=10"]);
    assert_eq!(replace(&mut client, &[("flush.ms", None)]), 42);
    assert_eq!(replace(&mut client, &[("no.such", Some("1"))]), 40);
    assert_eq!(set_on(&mut client, "t"), ["flush.ms=10"]);
    assert_eq!(replace(&mut client, &[]), 0);
    assert!(set_on(&mut client, "t").is_empty());
}

#[test]
fn what_cannot_be_changed_is_refused_and_changes_nothing() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("retention.ms", "7")]);
    for (changes, code) in [
        (&[("retention.ms", APPEND, Some("5"))] as &[Change<'_>], 40),
        (&[("retention.ms", SUBTRACT, Some("5"))], 40),
        (&[("retention.ms", SET, Some("soon"))], 40),
        (&[("retention.ms", SET, None)], 42),
        (&[("cleanup.policy", APPEND, None)], 42),
        (&[("cleanup.policy", APPEND, Some("shred"))], 40),
        (&[("no.such", SET, Some("1"))], 40),
        (&[("no.such", DELETE, None)], 0),
        (&[("retention.ms", 9, Some("5"))], 42),
        (&[("retention.ms", SET, Some("5")), ("retention.ms", SET, Some("6"))], 42),
        (&[("flush.ms", SET, Some("5")), ("segment.bytes", SET, Some("13"))], 40),
        (&[("min.compaction.lag.ms", SET, Some("10")), ("max.compaction.lag.ms", SET, Some("5"))], 40),
        (&[], 0),
    ] {
        assert_eq!(alter(&mut client, changes), code, "{changes:?}");
        assert_eq!(set_on(&mut client, "t"), ["retention.ms=7"], "{changes:?}");
    }
    let change = [("log.retention.ms", SET, Some("5"))];
    for (resource_type, name, code) in [
        (TOPIC, "missing", 3),
        (TOPIC, "a/b", 17),
        (TOPIC, "", 42),
        (BROKER, "99", 42),
        (BROKER, "t", 42),
        (GROUP, "g", 42),
        (CLIENT_METRICS, "m", 42),
        (BROKER_LOGGER, "1", 40),
        (BROKER_LOGGER, "99", 42),
        (99, "t", 42),
    ] {
        let resource = resource(resource_type, name, &change);
        assert_eq!(alter_in(&mut client, resource, false), code, "{resource_type} {name:?}");
    }
    let twice = vec![resource(TOPIC, "t", &[]), resource(TOPIC, "t", &[])];
    let answer = client.call(&IncrementalAlterConfigsRequest { resources: twice, validate_only: false }, 1);
    assert!(answer.responses.iter().all(|response| response.error_code == 42), "{answer:?}");
}

#[test]
fn sources_and_synonyms_say_whose_value_it_is() {
    let settings = [("log.retention.hours", "24"), ("log.cleanup.policy", "compact"), ("compression.type", "lz4")];
    let broker = TestBroker::fresh(&settings);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("cleanup.policy", "delete")]);
    let configs = described(&mut client, TOPIC, "t");
    let synonyms = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let policies = ["cleanup.policy=delete:1", "log.cleanup.policy=compact:4", "log.cleanup.policy=delete:5"];
    assert_eq!(told(&configs["cleanup.policy"]), ("delete", 1, synonyms(&policies)));
    let codecs = ["compression.type=lz4:4", "compression.type=producer:5"];
    assert_eq!(told(&configs["compression.type"]), ("lz4", 4, synonyms(&codecs)));
    assert_eq!(told(&configs["segment.ms"]), ("604800000", 5, Vec::new()), "Kafka tells no other unit's default");
    let hours = ["log.retention.hours=24:4", "log.retention.hours=168:5"];
    assert_eq!(told(&configs["retention.ms"]), ("86400000", 4, synonyms(&hours)));
    let ratios = ["log.cleaner.min.cleanable.ratio=0.5:5"];
    assert_eq!(told(&configs["min.cleanable.dirty.ratio"]), ("0.5", 5, synonyms(&ratios)));
    assert_eq!(told(&configs["remote.storage.enable"]), ("false", 5, Vec::new()));
    assert!(configs.values().all(|config| !config.read_only && config.documentation.is_some()));
}

#[test]
fn kinds_are_kafkas() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let configs = described(&mut client, TOPIC, "t");
    assert_eq!(configs.len(), 37, "Kafka's keys, all of them");
    let (boolean, text, int, long, double, list) = (1, 2, 3, 5, 6, 7);
    for (name, kind) in [
        ("preallocate", boolean),
        ("compression.type", text),
        ("max.message.bytes", int),
        ("segment.bytes", int),
        ("retention.ms", long),
        ("min.cleanable.dirty.ratio", double),
        ("cleanup.policy", list),
    ] {
        assert_eq!(configs[name].config_type, kind, "{name}");
    }
    let configs = described(&mut client, BROKER, "1");
    for (name, kind) in [
        ("auto.create.topics.enable", boolean),
        ("compression.type", text),
        ("message.max.bytes", int),
        ("node.id", int),
        ("num.partitions", int),
        ("log.retention.ms", long),
        ("connections.max.idle.ms", long),
        ("log.cleaner.min.cleanable.ratio", double),
        ("log.cleanup.policy", list),
        ("log.dirs", list),
        ("listeners", list),
        ("advertised.listeners", list),
    ] {
        assert_eq!(configs[name].config_type, kind, "{name}");
    }
    assert_eq!(configs["log.retention.ms"].value, None, "unset: log.retention.hours holds");
    assert_eq!(configs["listeners"].value.as_deref(), Some("PLAINTEXT://127.0.0.1:0"));
    assert!(configs["listeners"].read_only && configs["node.id"].read_only && !configs["message.max.bytes"].read_only);
    assert!(configs.values().all(|config| config.documentation.as_ref().is_some_and(|text| !text.is_empty())));
}

#[test]
fn the_logger_is_told_and_groups_have_no_settings() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let loggers = described(&mut client, BROKER_LOGGER, "1");
    assert_eq!(loggers.keys().collect::<Vec<_>>(), ["root"]);
    assert_eq!((loggers["root"].config_source, loggers["root"].read_only), (6, true));
    assert!(described(&mut client, GROUP, "g").is_empty() && described(&mut client, CLIENT_METRICS, "m").is_empty());
    let level = resource(BROKER_LOGGER, "1", &[("root", SET, Some("DEBUG"))]);
    assert_eq!(alter_in(&mut client, level, false), 42, "it is set when the broker starts");
}
