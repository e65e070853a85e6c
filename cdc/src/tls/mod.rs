//! TLS to Postgres, for both connections, as libpq's options ask for it.
//!
//! [`TlsSettings`] says what is wanted, [`TlsSettings::client_config`] makes rustls' configuration of it, reading the
//! files anew for each connection so that renewed certificates are taken without a restart. The control connection
//! takes it directly; the replication library by way of a [`Tunnel`], for with TLS of its own it would bring a second
//! cryptographic library, other root certificates and other messages.

mod explain;
mod settings;
mod tunnel;
mod verifier;

pub(crate) use explain::{explain, no_tls};
pub(crate) use settings::{SettingsError, TlsMode, TlsSettings};
pub(crate) use tunnel::{NegotiationError, open_tunnel};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

use settings::Roots;

/// Settings that no connection can be made with. The message says what to do.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// No file of root certificates.
    #[error(
        "sslmode={mode} needs the certificate of the authority that signed the server's: name its file with sslrootcert, put it at {expected}, or trust the system's authorities with sslrootcert=system"
    )]
    NoRoots {
        /// The mode.
        mode: &'static str,
        /// Where libpq, too, looks for it.
        expected: String,
    },
    /// A file that cannot be used.
    #[error("{option} = {path}: {reason}")]
    File {
        /// The option that names it.
        option: &'static str,
        /// Its path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system has no certificates.
    #[error(
        "sslrootcert=system: this system has no certificate authorities ({0}); install ca-certificates, or name a file"
    )]
    System(String),
    /// A certificate and a key that do not belong together, and the like.
    #[error("{context}")]
    Rustls {
        /// What was being done.
        context: &'static str,
        /// What rustls says.
        #[source]
        source: rustls::Error,
    },
}

impl TlsSettings {
    /// rustls' configuration, with the files as they are now.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|source| TlsError::Rustls { context: "TLS cannot be set up", source })?;
        let verifier = self.verifier(provider)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let Some((certificate, key)) = self.client_certificate() else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates("sslcert", &certificate)?;
        let key = PrivateKeyDer::from_pem_file(&key)
            .map_err(|error| file("sslkey", &key, format!("{error}; expected an unencrypted private key in PEM")))?;
        builder.with_client_auth_cert(chain, key).map_err(|source| TlsError::Rustls {
            context: "the certificate of sslcert and the key of sslkey cannot be used together",
            source,
        })
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<verifier::Verifier>, TlsError> {
        let mode = self.effective_mode();
        if !mode.checks_authority() {
            return Ok(Arc::new(verifier::Verifier::none(provider)));
        }
        let mut roots = RootCertStore::empty();
        match self.roots() {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                let (added, _) = roots.add_parsable_certificates(found.certs);
                if added == 0 {
                    let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
                    return Err(TlsError::System(reasons.join("; ")));
                }
            }
            Roots::File(path) => {
                let (added, _) = roots.add_parsable_certificates(certificates("sslrootcert", &path)?);
                if added == 0 {
                    return Err(file("sslrootcert", &path, "no certificate in it can be used".to_owned()));
                }
            }
            Roots::Missing(expected) => {
                return Err(TlsError::NoRoots { mode: mode.name(), expected: expected.display().to_string() });
            }
        }
        verifier::Verifier::of_roots(roots, mode == TlsMode::VerifyFull, provider)
            .map(Arc::new)
            .map_err(|reason| file("sslrootcert", &PathBuf::from(self.roots_name()), reason))
    }
}

fn certificates(option: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            Err(file(option, path, "there is no certificate in it; expected PEM".to_owned()))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(file(option, path, format!("{error}; expected a readable file in PEM"))),
    }
}

fn file(option: &'static str, path: &Path, reason: String) -> TlsError {
    TlsError::File { option, path: path.display().to_string(), reason }
}
