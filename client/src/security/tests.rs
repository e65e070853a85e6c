use super::{SaslMechanism, SecurityConfig, SecurityError, SecurityProtocol};

fn config(settings: &[(&str, &str)]) -> SecurityConfig {
    let mut config = SecurityConfig::default();
    for (key, value) in settings {
        config.set(key, value).expect(key);
    }
    config
}

fn problems(settings: &[(&str, &str)]) -> Vec<String> {
    config(settings).validate().err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn plaintext_needs_nothing() {
    assert_eq!(SecurityConfig::default().validate(), Ok(()));
    assert_eq!(SecurityConfig::default().protocol(), SecurityProtocol::Plaintext);
}

#[test]
fn every_key_is_taken() {
    for key in SecurityConfig::KEYS {
        let outcome = SecurityConfig::default().set(key, "no such value");
        assert!(!matches!(outcome, Err(SecurityError::Unknown(_))), "{key}");
    }
    assert!(matches!(SecurityConfig::default().set("ssl.nonsense", "x"), Err(SecurityError::Unknown(_))));
}

#[test]
fn names_of_kafka_and_of_librdkafka_come_to_the_same() {
    let kafka = config(&[
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.jaas.config", "a.scram.ScramLoginModule required username=\"u\" password=\"p\";"),
    ]);
    let librdkafka = config(&[
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanisms", "SCRAM-SHA-512"),
        ("sasl.username", "u"),
        ("sasl.password", "p"),
    ]);
    assert_eq!(kafka, librdkafka);
    assert_eq!(kafka.mechanism(), Some(SaslMechanism::ScramSha512));
    assert_eq!(kafka.validate(), Ok(()));
}

#[test]
fn every_missing_setting_is_named() {
    let missing = problems(&[("security.protocol", "SASL_SSL"), ("ssl.certificate.location", "c.pem")]);
    for key in ["sasl.mechanism", "sasl.username", "sasl.password", "ssl.key.location"] {
        assert!(missing.iter().any(|problem| problem.starts_with(key)), "{key} in {missing:?}");
    }
    assert_eq!(missing.len(), 4, "{missing:?}");
}

#[test]
fn settings_that_would_be_ignored_are_a_problem() {
    let unused = problems(&[("sasl.username", "u"), ("ssl.ca.location", "ca.pem")]);
    assert!(unused.iter().any(|problem| problem.contains("sasl.username") && problem.contains("SASL_SSL")));
    assert!(unused.iter().any(|problem| problem.contains("ssl.ca.location")), "{unused:?}");
    assert!(problems(&[("security.protocol", "SSL"), ("sasl.password", "s3cr3t")])[0].contains("sasl.password"));
}

#[test]
fn impossible_values_are_refused_with_those_there_are() {
    let mut config = SecurityConfig::default();
    for (key, value, expected) in [
        ("security.protocol", "TLS", "SASL_SSL"),
        ("sasl.mechanism", "GSSAPI", "SCRAM-SHA-256"),
        ("ssl.truststore.type", "JKS", "PEM"),
        ("ssl.endpoint.identification.algorithm", "yes", "https"),
    ] {
        let error = config.set(key, value).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(key), "{error}");
    }
}

#[test]
fn secrets_are_in_no_debug_output() {
    let config = config(&[
        ("sasl.password", "s3cr3t"),
        ("ssl.keystore.key", "-----BEGIN s3cr3t"),
        ("ssl.certificate.pem", "-----BEGIN CERT"),
    ]);
    let shown = format!("{config:?}");
    assert!(!shown.contains("s3cr3t"), "{shown}");
}

#[test]
fn files_that_do_not_hold_what_they_should_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.pem");
    std::fs::write(&path, "nothing").unwrap();
    let error = |path: &str| {
        let config = config(&[("security.protocol", "SSL"), ("ssl.ca.location", path)]);
        config.read().unwrap_err().to_string()
    };
    assert!(error("/nowhere/ca.pem").contains("ssl.ca.location: cannot read /nowhere/ca.pem"));
    assert!(error(path.to_str().unwrap()).contains("no certificate in PEM form"));
}
