use super::*;
use crate::topic_config::TopicConfig;

const EVERY: Scope = Scope::EveryBroker;
const THIS: Scope = Scope::ThisBroker;

fn started(settings: &[(&str, &str)]) -> SettingsInForce {
    let mut config = BrokerConfig::new("data", "127.0.0.1:0");
    settings.iter().for_each(|(key, value)| config.set(key, value).expect("it is valid"));
    SettingsInForce::new(config, [], [])
}

fn set(settings: &SettingsInForce, scope: Scope, key: &str, value: &str) -> SettingsInForce {
    settings.changed(scope, [(key, ConfigChange::Set(value.to_owned()))]).expect("it is taken")
}

fn segment_bytes(settings: &SettingsInForce) -> u64 {
    TopicConfig::inherited(&settings.config().topic_defaults()).segment_bytes()
}

/// What each layer says, nearest first.
fn said(settings: &SettingsInForce, key: &str) -> [Option<String>; 4] {
    let setting = setting(key).expect("it is known");
    Layer::ALL.map(|layer| settings.said(layer, setting))
}

#[test]
fn this_brokers_value_comes_before_every_brokers_and_that_before_the_starts() {
    let start = started(&[("log.segment.bytes", "100")]);
    let every = set(&start, EVERY, "log.segment.bytes", "200");
    let this = set(&every, THIS, "log.segment.bytes", "300");
    assert_eq!([&start, &every, &this].map(segment_bytes), [100, 200, 300]);
    let texts = [Some("300"), Some("200"), Some("100"), Some("1073741824")].map(|text| text.map(str::to_owned));
    assert_eq!(said(&this, "log.segment.bytes"), texts);
    let taken_back = this.changed(THIS, [("log.segment.bytes", ConfigChange::Delete)]).expect("it is taken");
    assert_eq!(segment_bytes(&taken_back), 200);
    let replaced = this.replaced(EVERY, [("message.max.bytes", "5")]).expect("it is taken");
    assert_eq!(segment_bytes(&replaced), 300);
    assert_eq!(replaced.entries(EVERY).keys().collect::<Vec<_>>(), [&"message.max.bytes"]);
}

#[test]
fn milliseconds_set_at_run_time_win_over_the_hours_of_the_start() {
    let retention = |settings: &SettingsInForce| settings.config().topic_defaults().retention_ms;
    let start = started(&[("log.retention.hours", "1")]);
    assert_eq!(retention(&start), 3_600_000);
    assert_eq!(retention(&set(&start, EVERY, "log.retention.ms", "7")), 7);
}

#[test]
fn a_value_that_is_the_built_in_one_was_said_all_the_same() {
    let settings = started(&[("log.retention.bytes", "-1")]);
    assert_eq!(said(&settings, "log.retention.bytes")[2].as_deref(), Some("-1"));
    assert_eq!(said(&started(&[]), "log.retention.bytes")[2], None);
    assert_eq!(said(&started(&[]), "log.retention.ms"), [None, None, None, None], "a number nobody set is none");
}

#[test]
fn lists_are_changed_from_what_is_in_force_below() {
    let append = |value: &str| [("log.cleanup.policy", ConfigChange::Append(value.to_owned()))];
    let subtract = |value: &str| [("log.cleanup.policy", ConfigChange::Subtract(value.to_owned()))];
    let policy = |settings: &SettingsInForce, scope| settings.entries(scope).get("log.cleanup.policy").cloned();
    let every = started(&[]).changed(EVERY, append("compact")).expect("it is taken");
    assert_eq!(policy(&every, EVERY).as_deref(), Some("delete,compact"), "after what is built in");
    let twice = every.changed(EVERY, append("compact")).expect("it is taken");
    assert_eq!(policy(&twice, EVERY).as_deref(), Some("delete,compact"));
    let this = every.changed(THIS, subtract("delete")).expect("it is taken");
    assert_eq!(policy(&this, THIS).as_deref(), Some("compact"), "from every broker's");
    let change = [("message.max.bytes", ConfigChange::Append("5".to_owned()))];
    assert_eq!(every.changed(EVERY, change).err(), Some(DynamicConfigError::NoList("message.max.bytes")));
}

#[test]
fn what_cannot_change_is_refused_all_at_once_and_changes_nothing() {
    let start = started(&[]);
    let five = || ConfigChange::Set("5".to_owned());
    let changes = [("node.id", five()), ("message.max.bytes", five()), ("listeners", five())];
    let refused = DynamicConfigError::ReadOnly(vec!["node.id".to_owned(), "listeners".to_owned()]);
    assert_eq!(start.changed(THIS, changes).err(), Some(refused));
    for (key, value) in [("no.such", "1"), ("message.max.bytes", "-1"), ("log.cleanup.policy", "shred")] {
        let change = ConfigChange::Set(value.to_owned());
        let error = start.changed(EVERY, [(key, change)]).err();
        assert!(matches!(error, Some(DynamicConfigError::Invalid(_))), "{key}={value}: {error:?}");
        assert!(start.replaced(EVERY, [(key, value)]).is_err(), "{key}={value}");
    }
    assert!(start.changed(EVERY, [("no.such", ConfigChange::Delete)]).is_ok(), "Kafka takes it too");
}

#[test]
fn what_is_not_taken_any_more_does_not_keep_a_broker_from_starting() {
    let stored = [("gone", "1"), ("node.id", "7"), ("message.max.bytes", "soon"), ("log.segment.bytes", "200")];
    let stored = stored.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let settings = SettingsInForce::new(BrokerConfig::new("data", "127.0.0.1:0"), stored, []);
    assert_eq!(settings.entries(EVERY).keys().collect::<Vec<_>>(), [&"log.segment.bytes"]);
    assert_eq!((segment_bytes(&settings), settings.config().node_id), (200, 1));
}

#[test]
fn what_can_change_at_run_time_is_what_kafka_lets_change() {
    let read_only = [
        "auto.create.topics.enable",
        "connections.max.idle.ms",
        "fetch.max.bytes",
        "group.max.session.timeout.ms",
        "group.min.session.timeout.ms",
        "log.cleaner.enable",
        "log.retention.hours",
        "log.retention.minutes",
        "log.roll.hours",
        "node.id",
        "num.partitions",
        "socket.request.max.bytes",
    ];
    let dynamic = [
        "compression.type",
        "log.cleaner.backoff.ms",
        "log.flush.interval.ms",
        "log.retention.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "max.connections",
        "max.connections.per.ip",
        "message.max.bytes",
        "min.insync.replicas",
        "num.recovery.threads.per.data.dir",
        "producer.id.expiration.ms",
        "unclean.leader.election.enable",
    ];
    let is_dynamic = |key: &str| setting(key).expect("it is known").is_dynamic();
    assert!(!read_only.into_iter().any(is_dynamic) && dynamic.into_iter().all(is_dynamic));
}

#[test]
fn what_has_no_effect_is_checked_and_kept() {
    let start = started(&[]);
    let threads = set(&start, THIS, "num.io.threads", " 16 ");
    assert_eq!(threads.entries(THIS)["num.io.threads"], "16");
    assert_eq!(
        said(&threads, "num.io.threads"),
        [Some("16"), None, None, Some("8")].map(|text| text.map(str::to_owned))
    );
    let none = ConfigChange::Set("none".to_owned());
    assert!(start.changed(THIS, [("num.io.threads", none)]).is_err());
    assert!(BrokerConfig::new("", "").set("num.io.threads", "16").is_err(), "a start with it would promise something");
    for row in super::super::kept() {
        let default = (row.show)(&start.config);
        assert!(default.is_empty() || row.take(&mut start.config.clone(), &default).is_ok(), "{}={default}", row.key);
    }
}

#[test]
fn a_reload_takes_what_can_be_changed_and_names_what_waits() {
    let settings =
        set(&started(&[("log.segment.bytes", "100"), ("num.partitions", "2")]), THIS, "max.connections", "9");
    let mut other = BrokerConfig::new("elsewhere", "127.0.0.1:0");
    for (key, value) in [("log.segment.bytes", "200"), ("num.partitions", "3"), ("max.connections", "5")] {
        other.set(key, value).expect("it is valid");
    }
    let (reloaded, held_back) = settings.restarted(&other);
    assert_eq!(held_back, ["num.partitions", "log.dirs"]);
    assert_eq!(segment_bytes(&reloaded), 200);
    let config = reloaded.config();
    assert_eq!((config.default_partitions, config.connections_max), (2, 9), "what was changed by a request stays");
    assert_eq!(said(&reloaded, "max.connections")[2].as_deref(), Some("5"));
    let (back, held_back) = reloaded.restarted(&BrokerConfig::new("data", "127.0.0.1:0"));
    assert_eq!((segment_bytes(&back), held_back), (1_073_741_824, vec!["num.partitions"]), "what is taken back is");
}

#[test]
fn a_reload_that_would_take_back_what_only_a_start_can_changes_nothing() {
    let settings = started(&[("log.segment.bytes", "100")]);
    let mut other = BrokerConfig::new("data", "127.0.0.1:0");
    other.set("log.segment.bytes", "200").expect("it is valid");
    other.set("log.retention.minutes", "7").expect("it is valid");
    let (same, held_back) = settings.restarted(&other);
    assert_eq!((segment_bytes(&same), held_back), (100, vec!["log.retention.minutes"]));
}
