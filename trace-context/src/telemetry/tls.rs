//! TLS of OTLP by HTTP: whom to trust, and who we are.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::{ClientConfig, RootCertStore};

use super::TelemetryError;
use super::settings::TlsSettings;

/// What a connection to the collector is made with.
///
/// # Errors
/// When a file cannot be read, holds nothing of its kind, or key and certificate do not belong together.
pub(super) fn client_config(settings: &TlsSettings) -> Result<ClientConfig, TelemetryError> {
    let mut roots = RootCertStore::empty();
    match &settings.certificate {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| unusable(path, error))?;
            }
        }
        // One certificate of the system that cannot be read is no reason to do without the others.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(Path::new("TLS"), error))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &settings.client else { return Ok(builder.with_no_client_auth()) };
    let own_key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
    builder.with_client_auth_cert(certificates(certificate)?, own_key).map_err(|error| unusable(certificate, error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TelemetryError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: pem::Error) -> TelemetryError {
    let source = match error {
        pem::Error::Io(error) => error,
        other => std::io::Error::new(std::io::ErrorKind::InvalidData, other),
    };
    TelemetryError::Certificate { path: path.to_owned(), source }
}

fn unusable(path: &Path, error: rustls::Error) -> TelemetryError {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    TelemetryError::Certificate { path: path.to_owned(), source }
}
