use pillion_wire::records::{Compression, TimestampType};

use super::*;

fn config(entries: &[(&str, &str)]) -> Result<TopicConfig, TopicConfigError> {
    TopicConfig::new(entries.iter().copied(), &TopicValues::default())
}

/// Each value is taken and written back so, or, where it is `None`, refused.
fn check(key: &str, values: &[(&str, Option<&str>)]) {
    for (value, written) in values {
        let taken = config(&[(key, value)]).ok();
        let taken = taken.as_ref().and_then(|config| config.entries().get(key)).map(String::as_str);
        assert_eq!(taken, *written, "{key}={value}");
    }
}

#[test]
fn values_are_those_that_kafka_takes() {
    check("retention.ms", &[("-1", Some("-1")), (" +5 ", Some("5")), ("-2", None), ("soon", None), ("", None)]);
    check("retention.bytes", &[("-5", Some("-5")), ("9223372036854775808", None)]);
    check("max.message.bytes", &[("0", Some("0")), ("2147483647", Some("2147483647")), ("2147483648", None)]);
    check("segment.index.bytes", &[("4", Some("4")), ("3", None)]);
    check("flush.messages", &[("1", Some("1")), ("0", None)]);
    check("max.compaction.lag.ms", &[("1", Some("1")), ("0", None)]);
    check("min.cleanable.dirty.ratio", &[("1e-1", Some("0.1")), ("1", Some("1.0")), ("1.5", None), ("NaN", None)]);
    check("preallocate", &[("TRUE", Some("true")), ("yes", None)]);
    check("compression.type", &[("lz4", Some("lz4")), ("uncompressed", Some("uncompressed")), ("none", None)]);
    check("compression.gzip.level", &[("-1", Some("-1")), ("9", Some("9")), ("0", None), ("10", None)]);
    check("compression.lz4.level", &[("17", Some("17")), ("18", None)]);
    check("compression.zstd.level", &[("-131072", Some("-131072")), ("23", None)]);
    check("message.timestamp.type", &[("LogAppendTime", Some("LogAppendTime")), ("createtime", None)]);
    check("max.decompressed.message.bytes", &[("2147483639", Some("2147483639")), ("2147483640", None)]);
    check("remote.storage.enable", &[("false", Some("false")), ("true", None)]);
    check("local.retention.ms", &[("-2", Some("-2")), ("-3", None)]);
    check("no.such", &[("1", None)]);
    let replicas = "leader.replication.throttled.replicas";
    check(replicas, &[("*", Some("*")), ("0:1, 1:1", Some("0:1,1:1")), ("", Some("")), ("x", None), ("0:1,*", None)]);
    let policies = [
        (" compact , delete ", Some("compact,delete")),
        ("delete,delete", Some("delete")),
        ("", Some("")),
        ("x", None),
    ];
    check("cleanup.policy", &policies);
    check("cleanup.policy", &[("delete,,compact", None)]);
}

#[test]
fn segments_may_be_smaller_than_kafkas() {
    check("segment.bytes", &[("14", Some("14")), ("13", None), ("2147483648", None)]);
}

#[test]
fn settings_come_to_values() {
    let given = [
        ("cleanup.policy", "compact"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "7"),
        ("message.timestamp.type", "LogAppendTime"),
        ("retention.ms", "1000"),
        ("segment.bytes", "10000"),
    ];
    let config = config(&given).expect("they are valid");
    assert_eq!(config.cleanup_policy(), CleanupPolicy { delete: false, compact: true });
    assert_eq!((config.compression(), config.compression_level()), (Some(Compression::Zstd), Some(7)));
    assert_eq!(config.timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!((config.retention_ms(), config.segment_bytes()), (1000, 10_000));
    assert_eq!(config.flush_ms(), i64::MAX, "what is not set is the broker's");
    let names: Vec<_> = config.entries().keys().copied().collect();
    assert_eq!(names, given.map(|(name, _)| name));
}

#[test]
fn a_codec_without_a_level_set_has_its_own() {
    let level = |codec| config(&[("compression.type", codec)]).expect("it is valid").compression_level();
    assert_eq!(["producer", "uncompressed", "snappy", "gzip"].map(level), [None; 4]);
    assert_eq!(["lz4", "zstd"].map(level), [Some(9), Some(3)], "Kafka's defaults");
}

#[test]
fn every_default_is_a_value_of_its_key() {
    for key in TOPIC_CONFIG_KEYS {
        let default = (key.show)(&TopicValues::default());
        let mut values = TopicValues::default();
        assert_eq!((key.take)(&mut values, &default).as_deref(), Some(default.as_str()), "{}", key.name);
        assert_eq!(values, TopicValues::default(), "{}", key.name);
    }
    assert!(TOPIC_CONFIG_KEYS.windows(2).all(|pair| pair[0].name < pair[1].name), "by name, each once");
}

#[test]
fn compaction_lags_that_exclude_each_other_are_refused_but_not_forgotten() {
    let lags = [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")];
    assert_eq!(config(&lags), Err(TopicConfigError::CompactionLags { min: 10, max: 5 }));
    assert!(TopicConfig::stored(lags, &TopicValues::default()).is_ok(), "a broker must start with them");
}

#[test]
fn changes_add_up_one_by_one() {
    let defaults = TopicValues::default();
    let append = |value: &str| ConfigChange::Append(value.to_owned());
    let subtract = |value: &str| ConfigChange::Subtract(value.to_owned());
    let mut config = config(&[("retention.ms", "5")]).expect("it is valid");
    for (change, policy) in [
        (append("compact"), Some("delete,compact")),
        (append("compact"), Some("delete,compact")),
        (subtract("delete"), Some("compact")),
        (subtract("delete"), Some("compact")),
        (subtract("compact"), Some("")),
        (append("compact,delete"), Some("compact,delete")),
        (ConfigChange::Set("delete".to_owned()), Some("delete")),
        (ConfigChange::Delete, None),
        (ConfigChange::Delete, None),
    ] {
        config = config.changed([("cleanup.policy", change.clone())], &defaults).expect("it is taken");
        assert_eq!(config.entries().get("cleanup.policy").map(String::as_str), policy, "{change:?}");
    }
    assert_eq!(config.entries().len(), 1, "other settings stay");
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let defaults = TopicValues::default();
    let config = TopicConfig::inherited(&defaults);
    let change = |name: &str, change| config.changed([(name, change)], &defaults);
    let five = || "5".to_owned();
    assert_eq!(change("retention.ms", ConfigChange::Append(five())), Err(TopicConfigError::NoList("retention.ms")));
    assert_eq!(change("retention.ms", ConfigChange::Subtract(five())), Err(TopicConfigError::NoList("retention.ms")));
    assert!(change("no.such", ConfigChange::Set(five())).is_err());
    assert!(change("cleanup.policy", ConfigChange::Append("shred".to_owned())).is_err());
    assert_eq!(change("no.such", ConfigChange::Delete).as_ref(), Ok(&config), "Kafka takes it too");
}
