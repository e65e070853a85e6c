//! How brokers are reached and convinced: TLS and SASL, under the names that Kafka's clients and librdkafka use.
//!
//! ```text
//! SecurityConfig (texts, checked) → Security (certificates read, ready to connect with) → connection
//! ```
//! **Invariant:** a password or a private key is in no debug output, no log and no error.

mod error;
mod jaas;
mod scram;
mod secret;
mod tls;

use std::path::PathBuf;

pub use error::{CertificateError, SecurityError};
pub use scram::ScramError;
pub(crate) use scram::{Exchange, Hash};
pub(crate) use secret::Secret;
pub(crate) use tls::TlsSettings;

use tls::Pem;

/// `security.protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    #[default]
    Plaintext,
    /// TLS; the client is known by its certificate, if it has one.
    Ssl,
    /// Authenticated by SASL, not encrypted.
    SaslPlaintext,
    /// Authenticated by SASL within TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// Kafka's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    fn is_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    fn is_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// `sasl.mechanism`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaslMechanism {
    /// The password as it is: with TLS only, where others can listen.
    Plain,
    /// SCRAM-SHA-256.
    ScramSha256,
    /// SCRAM-SHA-512.
    ScramSha512,
}

impl SaslMechanism {
    /// Its registered name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// A client's security, set key by key. Files are read when a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityConfig {
    protocol: SecurityProtocol,
    mechanism: Option<SaslMechanism>,
    username: Option<String>,
    password: Option<Secret>,
    /// Authorities; those of the machine when there are none.
    authorities: Option<Pem>,
    /// The client's own certificate with those up to its authority, and its key.
    certificate: Option<Pem>,
    key: Option<Pem>,
    verifies_host_name: bool,
}

impl Default for SecurityConfig {
    fn default() -> Self {
        Self {
            protocol: SecurityProtocol::default(),
            mechanism: None,
            username: None,
            password: None,
            authorities: None,
            certificate: None,
            key: None,
            verifies_host_name: true,
        }
    }
}

impl SecurityConfig {
    /// Every key: Kafka's, and librdkafka's where the two differ.
    pub const KEYS: [&'static str; 20] = [
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "sasl.jaas.config",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.truststore.location",
        "ssl.truststore.certificates",
        "ssl.truststore.type",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.keystore.location",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.endpoint.identification.algorithm",
    ];

    /// Whether a key's value must not be shown.
    #[must_use]
    pub fn is_secret(key: &str) -> bool {
        matches!(key, "sasl.password" | "sasl.jaas.config" | "ssl.key.pem" | "ssl.keystore.key")
    }

    /// Sets one of [`SecurityConfig::KEYS`].
    ///
    /// # Errors
    /// [`SecurityError`] when the key is unknown or the value impossible.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SecurityError> {
        let Some(key) = Self::KEYS.into_iter().find(|known| *known == key) else {
            return Err(SecurityError::Unknown(key.to_owned()));
        };
        let file = || Some(Pem::File { key, path: PathBuf::from(value) });
        let text = || Some(Pem::Text { key, text: Secret::new(value) });
        match key {
            "security.protocol" => self.protocol = protocol(value)?,
            "sasl.mechanism" | "sasl.mechanisms" => self.mechanism = Some(mechanism(key, value)?),
            "sasl.username" => self.username = Some(value.to_owned()),
            "sasl.password" => self.password = Some(Secret::new(value)),
            "sasl.jaas.config" => {
                let (username, password) = jaas::credentials(value)?;
                self.username = Some(username);
                self.password = Some(Secret::new(&password));
            }
            "ssl.ca.location" | "ssl.truststore.location" => self.authorities = file(),
            "ssl.ca.pem" | "ssl.truststore.certificates" => self.authorities = text(),
            "ssl.certificate.location" => self.certificate = file(),
            "ssl.certificate.pem" | "ssl.keystore.certificate.chain" => self.certificate = text(),
            "ssl.key.location" => self.key = file(),
            "ssl.key.pem" | "ssl.keystore.key" => self.key = text(),
            "ssl.keystore.location" => (self.certificate, self.key) = (file(), file()),
            "ssl.endpoint.identification.algorithm" => self.verifies_host_name = verifies_host_name(value)?,
            _ if value.eq_ignore_ascii_case("PEM") => {}
            _ => {
                let expected = "PEM; `keytool -exportcert -rfc` writes a keystore's certificates in it, `openssl \
                                pkcs12 -nodes` those and the key of a PKCS12 file";
                return Err(SecurityError::Value { key, value: value.to_owned(), expected });
            }
        }
        Ok(())
    }

    /// `security.protocol`.
    #[must_use]
    pub fn protocol(&self) -> SecurityProtocol {
        self.protocol
    }

    /// `sasl.mechanism`.
    #[must_use]
    pub fn mechanism(&self) -> Option<SaslMechanism> {
        self.mechanism
    }

    /// Checks what can be checked without looking at files.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn validate(&self) -> Result<(), Vec<SecurityError>> {
        let mut errors = Vec::new();
        let protocol = self.protocol.name();
        if self.protocol.is_sasl() {
            let reason = "security.protocol wants SASL; PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are known";
            let mut require = |key, is_there: bool, reason| {
                if !is_there {
                    errors.push(SecurityError::Missing { key, reason });
                }
            };
            require("sasl.mechanism", self.mechanism.is_some(), reason);
            require("sasl.username", self.username.is_some(), "security.protocol wants SASL");
            require("sasl.password", self.password.is_some(), "security.protocol wants SASL");
        } else {
            let given = [
                ("sasl.mechanism", self.mechanism.is_some()),
                ("sasl.username", self.username.is_some()),
                ("sasl.password", self.password.is_some()),
            ];
            let wanted = "SASL_SSL or SASL_PLAINTEXT";
            // A password that is not used is a connection less safe than its owner thinks.
            let unused = given.into_iter().find(|(_, is_given)| *is_given);
            errors.extend(unused.map(|(key, _)| SecurityError::Unused { key, protocol, wanted }));
        }
        if self.protocol.is_tls() {
            let missing = match (&self.certificate, &self.key) {
                (Some(_), None) => Some("ssl.key.location"),
                (None, Some(_)) => Some("ssl.certificate.location"),
                _ => None,
            };
            let reason = "a client's certificate and its key belong together";
            errors.extend(missing.map(|key| SecurityError::Missing { key, reason }));
        } else {
            let given = [&self.authorities, &self.certificate, &self.key].into_iter().flatten().next();
            let wanted = "SSL or SASL_SSL";
            errors.extend(given.map(|pem| SecurityError::Unused { key: pem.key(), protocol, wanted }));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Reads certificates and keys.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub(crate) fn read(&self) -> Result<Security, CertificateError> {
        let tls = self.protocol.is_tls().then(|| {
            let identity = self.certificate.as_ref().zip(self.key.as_ref());
            TlsSettings::new(self.authorities.as_ref(), identity, self.verifies_host_name)
        });
        let credentials = self.mechanism.zip(self.username.clone().zip(self.password.clone()));
        let credentials = credentials.filter(|_| self.protocol.is_sasl());
        let credentials =
            credentials.map(|(mechanism, (username, password))| Credentials { mechanism, username, password });
        Ok(Security { protocol: self.protocol, tls: tls.transpose()?, credentials })
    }
}

/// What a connection is made with.
#[derive(Debug)]
pub(crate) struct Security {
    pub(crate) protocol: SecurityProtocol,
    pub(crate) tls: Option<TlsSettings>,
    pub(crate) credentials: Option<Credentials>,
}

/// What a client authenticates with.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) mechanism: SaslMechanism,
    pub(crate) username: String,
    pub(crate) password: Secret,
}

fn protocol(value: &str) -> Result<SecurityProtocol, SecurityError> {
    use SecurityProtocol::{Plaintext, SaslPlaintext, SaslSsl, Ssl};
    let known = [Plaintext, Ssl, SaslPlaintext, SaslSsl];
    known.into_iter().find(|known| known.name().eq_ignore_ascii_case(value)).ok_or_else(|| SecurityError::Value {
        key: "security.protocol",
        value: value.to_owned(),
        expected: "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
    })
}

fn mechanism(key: &'static str, value: &str) -> Result<SaslMechanism, SecurityError> {
    use SaslMechanism::{Plain, ScramSha256, ScramSha512};
    let known = [Plain, ScramSha256, ScramSha512];
    known.into_iter().find(|known| known.name().eq_ignore_ascii_case(value)).ok_or_else(|| SecurityError::Value {
        key,
        value: value.to_owned(),
        expected: "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
    })
}

fn verifies_host_name(value: &str) -> Result<bool, SecurityError> {
    match value.to_ascii_lowercase().as_str() {
        "https" => Ok(true),
        "" | "none" => Ok(false),
        _ => Err(SecurityError::Value {
            key: "ssl.endpoint.identification.algorithm",
            value: value.to_owned(),
            expected: "https, or none to accept a certificate whatever host it is for",
        }),
    }
}

#[cfg(test)]
mod tests;
