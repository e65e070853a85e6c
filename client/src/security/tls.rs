//! TLS settings from PEM texts: which authorities are trusted, who the client is, whether names are checked.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::{CertificateError, Secret};

/// Largest PEM file read: the authorities of a whole operating system take 250 KiB.
const PEM_BYTES_MAX: u64 = 4 << 20;

/// Where a PEM text is, and which setting says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pem {
    /// In a file.
    File { key: &'static str, path: PathBuf },
    /// In the setting itself.
    Text { key: &'static str, text: Secret },
}

impl Pem {
    /// The setting.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::File { key, .. } | Self::Text { key, .. } => key,
        }
    }

    fn read(&self) -> Result<Vec<u8>, CertificateError> {
        match self {
            Self::Text { text, .. } => Ok(text.expose().as_bytes().to_vec()),
            Self::File { key, path } => {
                let limited = || -> std::io::Result<Vec<u8>> {
                    let mut bytes = Vec::new();
                    let file = std::fs::File::open(path)?;
                    std::io::Read::read_to_end(&mut std::io::Read::take(file, PEM_BYTES_MAX), &mut bytes)?;
                    Ok(bytes)
                };
                limited().map_err(|source| CertificateError::Read { key, path: path.clone(), source: source.into() })
            }
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
        let (key, bytes) = (self.key(), self.read()?);
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let certificates =
            certificates.map_err(|error| CertificateError::Unusable { key, reason: error.to_string() })?;
        if certificates.is_empty() {
            let hint = "; `keytool -exportcert -rfc` writes a keystore's certificates in it";
            return Err(CertificateError::NotFound { key, wanted: "certificate", hint });
        }
        Ok(certificates)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, CertificateError> {
        let bytes = self.read()?;
        PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
            let marker = b"ENCRYPTED";
            let is_encrypted = bytes.windows(marker.len()).any(|part| part == marker);
            let hint =
                if is_encrypted { "; the key is encrypted: `openssl pkey -in … -out …` decrypts it" } else { "" };
            CertificateError::NotFound { key: self.key(), wanted: "private key", hint }
        })
    }
}

/// What a TLS session is begun with.
#[derive(Clone)]
pub(crate) struct TlsSettings(pub(crate) Arc<ClientConfig>);

impl TlsSettings {
    /// Reads what the settings name; `identity` is a certificate with its key.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub(crate) fn new(
        authorities: Option<&Pem>,
        identity: Option<(&Pem, &Pem)>,
        verifies_host_name: bool,
    ) -> Result<Self, CertificateError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(roots(authorities)?);
        let versions = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let key = authorities.map_or("ssl.ca.location", Pem::key);
        let unusable = |error: &dyn fmt::Display| CertificateError::Unusable { key, reason: error.to_string() };
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| unusable(&error))?;
        let builder = versions.map_err(|error| unusable(&error))?.dangerous();
        let builder = if verifies_host_name {
            builder.with_custom_certificate_verifier(verifier)
        } else {
            builder.with_custom_certificate_verifier(Arc::new(AnyHostName { verifier, provider }))
        };
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificate.certificates()?;
                builder
                    .with_client_auth_cert(chain, key.private_key()?)
                    .map_err(|error| CertificateError::Unusable { key: certificate.key(), reason: error.to_string() })?
            }
        };
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsSettings")
    }
}

fn roots(authorities: Option<&Pem>) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(pem) => {
            for certificate in pem.certificates()? {
                roots
                    .add(certificate)
                    .map_err(|error| CertificateError::Unusable { key: pem.key(), reason: error.to_string() })?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(CertificateError::NoSystemCertificates);
            }
        }
    }
    Ok(roots)
}

/// Verifies everything about a certificate but the host it is for (`ssl.endpoint.identification.algorithm=none`).
#[derive(Debug)]
struct AnyHostName {
    verifier: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHostName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        // The chain is verified before the name is, so this error says that the chain is good.
        match self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
