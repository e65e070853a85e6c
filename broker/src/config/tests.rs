mod documentation;

use super::*;
use crate::topic_config::{TOPIC_CONFIG_KEYS, TopicConfig};

fn configured(settings: &[(&str, &str)]) -> BrokerConfig {
    let mut config = BrokerConfig::new("data", "127.0.0.1:0");
    for (key, value) in settings {
        config.set(key, value).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
    }
    config
}

fn inherited(settings: &[(&str, &str)]) -> TopicConfig {
    TopicConfig::inherited(&configured(settings).topic_defaults())
}

#[test]
fn the_finer_unit_wins_whatever_the_order() {
    const HOUR: i64 = 3_600_000;
    let retention = |settings: &[_]| inherited(settings).retention_ms();
    assert_eq!(retention(&[]), 168 * HOUR);
    assert_eq!(retention(&[("log.retention.hours", "2")]), 2 * HOUR);
    assert_eq!(retention(&[("log.retention.minutes", "5"), ("log.retention.hours", "2")]), 300_000);
    assert_eq!(retention(&[("log.retention.ms", "7"), ("log.retention.minutes", "5")]), 7);
    assert_eq!(retention(&[("log.retention.hours", "-1")]), -1, "for ever");
    assert_eq!(inherited(&[("log.roll.hours", "2")]).segment_ms(), 2 * HOUR);
    assert_eq!(inherited(&[("log.roll.ms", "9"), ("log.roll.hours", "2")]).segment_ms(), 9);
    assert_eq!(inherited(&[("log.roll.jitter.hours", "2")]).segment_jitter_ms(), 2 * HOUR);
    assert_eq!(inherited(&[("log.roll.jitter.ms", "9")]).segment_jitter_ms(), 9);
    assert_eq!(inherited(&[("log.flush.interval.ms", "9")]).flush_ms(), 9);
}

#[test]
fn a_retention_of_nothing_is_refused() {
    for key in ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms"] {
        assert!(BrokerConfig::new("", "").set(key, "0").is_err(), "{key}");
    }
}

#[test]
fn a_topic_that_says_nothing_has_the_brokers_values_and_else_its_own() {
    let broker = configured(&[("log.segment.bytes", "14"), ("log.cleanup.policy", "compact")]);
    let config = TopicConfig::new([("segment.bytes", "15")], &broker.topic_defaults()).expect("it is valid");
    assert_eq!(config.segment_bytes(), 15);
    assert!(config.is_compacted());
}

#[test]
fn every_setting_takes_what_it_shows() {
    for (key, value) in BrokerConfig::new("", "").settings() {
        let taken = BrokerConfig::new("", "").set(key, &value);
        assert!(value.is_empty() || taken.is_ok(), "{key}={value}: {taken:?}");
    }
}

#[test]
fn what_a_topic_key_falls_back_to_is_a_setting_that_changes_it() {
    let known: Vec<_> = table().map(|setting| (setting.key, setting.kind)).collect();
    let changed = [("1", "2"), ("false", "true"), ("0.25", "0.75"), ("delete", "compact"), ("gzip", "lz4")];
    for key in TOPIC_CONFIG_KEYS {
        for broker_key in key.broker_keys {
            assert!(known.iter().any(|(name, _)| name == broker_key), "{} falls back to {broker_key}", key.name);
            if broker_key.starts_with("log.message.timestamp.type") {
                continue;
            }
            let shown = |value: &str| {
                let mut config = BrokerConfig::new("", "");
                config.set(broker_key, value).ok().map(|()| (key.show)(&config.topic_defaults()))
            };
            let pairs = changed.iter().chain(&[("20", "30")]);
            let different = pairs.map(|(one, two)| (shown(one), shown(two)));
            assert!(
                different.into_iter().any(|(one, two)| one.is_some() && two.is_some() && one != two),
                "{broker_key} changes nothing of {}",
                key.name
            );
        }
    }
}
