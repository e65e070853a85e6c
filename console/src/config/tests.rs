use super::*;

#[test]
fn addresses_and_none_are_taken_and_remembered_as_chosen() {
    let mut config = ConsoleConfig::default();
    assert!(!config.is_listen_given);
    for address in ["127.0.0.1:0", "0.0.0.0:9180", "[::1]:80", "localhost:9180"] {
        config.set("ui.listen", address).unwrap();
        assert_eq!((config.listen.as_deref(), config.is_listen_given), (Some(address), true));
    }
    config.set("ui.listen", "none").unwrap();
    assert_eq!(config.listen, None);
}

#[test]
fn what_is_no_value_is_refused_and_changes_nothing() {
    let mut config = ConsoleConfig::default();
    for (key, value) in [
        ("ui.listen", "9180"),
        ("ui.listen", ":9180"),
        ("ui.listen", "localhost"),
        ("ui.listen", "localhost:70000"),
        ("ui.listen", "::1:80"),
        ("ui.allow.writes", "yes"),
        ("ui.trace.url", "javascript:alert({traceId})"),
        ("ui.trace.url", "http://jaeger/trace"),
        ("ui.colour", "blue"),
    ] {
        assert!(config.set(key, value).is_err(), "{key}={value}");
    }
    assert_eq!(config, ConsoleConfig::default());
}

#[test]
fn every_key_can_be_set() {
    let mut config = ConsoleConfig::default();
    for key in ConsoleConfig::KEYS {
        assert_ne!(config.set(key, "?"), Err(ConsoleConfigError::Unknown(key.to_owned())));
    }
    config.set("ui.allow.writes", "true").unwrap();
    config.set("ui.trace.url", "https://jaeger/trace/{traceId}").unwrap();
    assert!(config.allow_writes && config.trace_url.is_some());
}
