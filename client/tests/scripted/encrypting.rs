//! TLS against a scripted broker: which certificates are accepted, and what is said of the others.

use std::sync::Arc;
use std::time::Duration;

use crate::authenticating::{config, refusal};
use crate::guarded_broker::{GuardedBroker, PASSWORD, Rules, USER};
use pillion_client::{Client, ClientConfig, ClientError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a host, and its key.
    fn sign(&self, host: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    fn server(&self, host: &str, wants_certificate: bool) -> Option<Arc<ServerConfig>> {
        let (certificate, key) = self.sign(host);
        let provider = Arc::new(ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = if wants_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        Some(Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()))
    }
}

async fn connects(config: ClientConfig) {
    let client = Client::connect(config).await.unwrap();
    client.admin().list_topics().await.unwrap();
    client.shutdown().await;
}

#[tokio::test]
async fn certificate_of_a_trusted_authority_is_accepted() {
    let authority = Authority::new();
    let broker = GuardedBroker::start(Rules { tls: authority.server("127.0.0.1", false), ..Rules::default() }).await;
    connects(config(&broker, &[("security.protocol", "SSL"), ("ssl.ca.pem", &authority.pem())])).await;
}

#[tokio::test]
async fn password_goes_through_tls() {
    let authority = Authority::new();
    let tls = authority.server("127.0.0.1", false);
    let broker = GuardedBroker::start(Rules { tls, mechanisms: vec!["SCRAM-SHA-256"], ..Rules::default() }).await;
    let settings = [
        ("security.protocol", "SASL_SSL"),
        ("ssl.ca.pem", &authority.pem()),
        ("sasl.mechanism", "SCRAM-SHA-256"),
        ("sasl.username", USER),
        ("sasl.password", PASSWORD),
    ];
    connects(config(&broker, &settings)).await;
}

#[tokio::test]
async fn unknown_authority_is_refused_at_once() {
    let broker =
        GuardedBroker::start(Rules { tls: Authority::new().server("127.0.0.1", false), ..Rules::default() }).await;
    let other = Authority::new().pem();
    let (text, error) = refusal(config(&broker, &[("security.protocol", "SSL"), ("ssl.ca.pem", &other)])).await;
    assert!(text.contains("ssl.ca.location"), "{text}");
    assert!(error.needs_other_settings());
}

#[tokio::test]
async fn certificate_for_another_host_is_refused_unless_allowed() {
    let authority = Authority::new();
    let broker = GuardedBroker::start(Rules { tls: authority.server("elsewhere", false), ..Rules::default() }).await;
    let pem = authority.pem();
    let settings = [("security.protocol", "SSL"), ("ssl.ca.pem", pem.as_str())];
    let (text, _) = refusal(config(&broker, &settings)).await;
    assert!(text.contains("another host") && text.contains("elsewhere"), "{text}");
    let lenient = [settings[0], settings[1], ("ssl.endpoint.identification.algorithm", "none")];
    connects(config(&broker, &lenient)).await;
    // Whose certificate it is counts all the same.
    let (text, _) = refusal(config(&broker, &[lenient[0], ("ssl.ca.pem", &Authority::new().pem()), lenient[2]])).await;
    assert!(text.contains("ssl.ca.location"), "{text}");
}

#[tokio::test]
async fn client_shows_its_certificate_where_one_is_wanted() {
    let authority = Authority::new();
    let broker = GuardedBroker::start(Rules { tls: authority.server("127.0.0.1", true), ..Rules::default() }).await;
    let (certificate, key) = authority.sign("client");
    let directory = tempfile::tempdir().unwrap();
    // Key and certificate in one file, as Kafka's PEM keystores are.
    let path = directory.path().join("client.pem");
    std::fs::write(&path, format!("{}{}", key.serialize_pem(), certificate.pem())).unwrap();
    let pem = authority.pem();
    let settings = [("security.protocol", "SSL"), ("ssl.ca.pem", pem.as_str())];
    let (text, _) = refusal(config(&broker, &settings)).await;
    assert!(text.contains("ssl.certificate.location"), "{text}");
    let path = path.to_str().unwrap();
    connects(config(&broker, &[settings[0], settings[1], ("ssl.keystore.location", path)])).await;
}

#[tokio::test]
async fn plaintext_to_a_tls_listener_says_so() {
    let tls = Authority::new().server("127.0.0.1", false);
    let broker = GuardedBroker::start(Rules { tls, ..Rules::default() }).await;
    let (text, _) = refusal(config(&broker, &[])).await;
    assert!(text.contains("security.protocol=SSL"), "{text}");
}

#[tokio::test]
async fn tls_to_a_plaintext_listener_says_so() {
    let broker = GuardedBroker::start(Rules::default()).await;
    let config = config(&broker, &[("security.protocol", "SSL"), ("ssl.ca.pem", &Authority::new().pem())]);
    let config = ClientConfig { request_timeout: Duration::from_secs(1), ..config };
    let ClientError::NoBootstrapServer { source: Some(source), .. } = Client::connect(config).await.unwrap_err() else {
        panic!("another error")
    };
    assert!(source.to_string().contains("security.protocol=PLAINTEXT"), "{source}");
}
