//! SASL against a scripted broker: who is let in, what is said to those who are not, and what a broker must not say.

use std::time::{Duration, Instant};

use crate::guarded_broker::{GuardedBroker, PASSWORD, Rules, USER};
use pillion_client::{Client, ClientConfig, ClientError, ErrorCode, SecurityConfig};

/// A configuration with these settings, for a broker on this machine.
pub(crate) fn config(broker: &GuardedBroker, settings: &[(&str, &str)]) -> ClientConfig {
    let mut security = SecurityConfig::default();
    for (key, value) in settings {
        security.set(key, value).unwrap();
    }
    assert_eq!(security.validate(), Ok(()));
    ClientConfig {
        bootstrap_servers: vec![format!("127.0.0.1:{}", broker.port())],
        security,
        request_timeout: Duration::from_secs(60),
        ..ClientConfig::default()
    }
}

fn sasl<'a>(mechanism: &'a str, password: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", mechanism),
        ("sasl.username", USER),
        ("sasl.password", password),
    ]
}

/// The error with its causes, as a person sees it; it must have come at once.
pub(crate) async fn refusal(config: ClientConfig) -> (String, ClientError) {
    let limit = config.request_timeout / 2;
    let started = Instant::now();
    let error = Client::connect(config).await.unwrap_err();
    assert!(started.elapsed() < limit, "tried on and on: {error:?}");
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    assert!(!format!("{text} {error:?}").contains(PASSWORD), "a secret is told: {text} {error:?}");
    (text, error)
}

#[tokio::test]
async fn right_password_is_let_in() {
    for mechanism in ["PLAIN", "SCRAM-SHA-256"] {
        let rules = Rules { mechanisms: vec!["PLAIN", "SCRAM-SHA-256"], ..Rules::default() };
        let broker = GuardedBroker::start(rules).await;
        let client = Client::connect(config(&broker, &sasl(mechanism, PASSWORD))).await.expect(mechanism);
        client.admin().list_topics().await.unwrap();
        assert!(broker.seen(|seen| seen.authentications) >= 1);
        assert!(!format!("{client:?}").contains(PASSWORD));
        client.shutdown().await;
    }
}

#[tokio::test]
async fn wrong_password_is_told_at_once() {
    for mechanism in ["PLAIN", "SCRAM-SHA-256"] {
        let broker = GuardedBroker::start(Rules { mechanisms: vec![mechanism], ..Rules::default() }).await;
        let (text, error) = refusal(config(&broker, &sasl(mechanism, "wrong-one"))).await;
        assert!(text.contains("sasl.password") && text.contains(USER) && text.contains(mechanism), "{text}");
        assert!(!text.contains("wrong-one"), "{text}");
        assert_eq!(error.error_code(), Some(ErrorCode::SaslAuthenticationFailed));
        assert!(error.needs_other_settings());
    }
}

#[tokio::test]
async fn mechanism_that_is_not_enabled_is_answered_with_those_that_are() {
    let broker = GuardedBroker::start(Rules { mechanisms: vec!["GSSAPI", "PLAIN"], ..Rules::default() }).await;
    let (text, error) = refusal(config(&broker, &sasl("SCRAM-SHA-512", PASSWORD))).await;
    assert!(text.contains("SCRAM-SHA-512") && text.contains("GSSAPI, PLAIN"), "{text}");
    assert_eq!(error.error_code(), Some(ErrorCode::UnsupportedSaslMechanism));
}

#[tokio::test]
async fn listener_without_sasl_says_so() {
    let broker = GuardedBroker::start(Rules::default()).await;
    let (text, _) = refusal(config(&broker, &sasl("PLAIN", PASSWORD))).await;
    assert!(text.contains("security.protocol=PLAINTEXT"), "{text}");
}

#[tokio::test]
async fn listener_that_wants_sasl_closes_on_strangers_and_the_protocol_is_named() {
    let broker = GuardedBroker::start(Rules { mechanisms: vec!["PLAIN"], ..Rules::default() }).await;
    let config = ClientConfig { request_timeout: Duration::from_secs(1), ..config(&broker, &[]) };
    let ClientError::NoBootstrapServer { source: Some(source), .. } = Client::connect(config).await.unwrap_err() else {
        panic!("another error")
    };
    let text = source.to_string();
    assert!(text.contains("PLAINTEXT") && text.contains("security.protocol"), "{text}");
}

#[tokio::test]
async fn hostile_servers_are_not_worked_for() {
    for (tokens, part) in [
        (vec!["r=x,s=c2FsdA==,i=4096"], "another client's"),
        (vec!["nonsense"], "not SCRAM's"),
        (vec![""], "not SCRAM's"),
    ] {
        let rules = Rules { mechanisms: vec!["SCRAM-SHA-256"], tokens, ..Rules::default() };
        let broker = GuardedBroker::start(rules).await;
        let (text, _) = refusal(config(&broker, &sasl("SCRAM-SHA-256", PASSWORD))).await;
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn answer_cut_short_is_an_error() {
    for cut in [4, 5, 6, 8, 10] {
        let rules = Rules { mechanisms: vec!["SCRAM-SHA-256"], cut, ..Rules::default() };
        let broker = GuardedBroker::start(rules).await;
        let config = config(&broker, &sasl("SCRAM-SHA-256", PASSWORD));
        let config = ClientConfig { request_timeout: Duration::from_millis(500), ..config };
        assert!(Client::connect(config).await.is_err(), "{cut} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authentication_is_renewed_and_other_requests_wait_meanwhile() {
    let rules = Rules { mechanisms: vec!["SCRAM-SHA-256"], lifetime_ms: 50, ..Rules::default() };
    let broker = GuardedBroker::start(rules).await;
    let client = Client::connect(config(&broker, &sasl("SCRAM-SHA-256", PASSWORD))).await.unwrap();
    while broker.seen(|seen| seen.authentications) < 6 {
        let asking = (0..8).map(|_| {
            let admin = client.admin();
            tokio::spawn(async move { admin.list_topics().await })
        });
        for asked in asking.collect::<Vec<_>>() {
            asked.await.unwrap().unwrap();
        }
    }
    assert_eq!(broker.seen(|seen| seen.strays), 0);
    client.shutdown().await;
}
