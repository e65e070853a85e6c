//! What a failed handshake means and what to do about it.

use std::error::Error;

use rustls::CertificateError;

use super::{TlsMode, TlsSettings};

/// The failure in words, if TLS is what failed; None for any other error, such as a connection that broke.
///
/// None of these passes by itself: somebody must change an option, a file or the server.
pub(crate) fn explain(error: &(dyn Error + 'static), settings: &TlsSettings, host: &str) -> Option<String> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Some(of_rustls(tls, settings, host));
        }
        // An I/O error hands on what it wraps only through `get_ref`.
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(tls) = wrapped.and_then(|wrapped| wrapped.downcast_ref::<rustls::Error>()) {
            return Some(of_rustls(tls, settings, host));
        }
        next = cause.source();
    }
    None
}

/// The server has no TLS, and it is asked for.
pub(crate) fn no_tls(mode: TlsMode) -> String {
    format!(
        "the server has no TLS, and sslmode={} asks for it: set ssl = on with ssl_cert_file and ssl_key_file in postgresql.conf, or, on a network that is trusted, use sslmode=disable",
        mode.name()
    )
}

fn of_rustls(error: &rustls::Error, settings: &TlsSettings, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(certificate) => of_certificate(certificate, settings, host),
        rustls::Error::AlertReceived(alert) => format!(
            "the server broke off the TLS handshake ({alert:?}): if it asks for a certificate, name one that its ssl_ca_file has signed, with sslcert and sslkey"
        ),
        other => format!("TLS failed: {other}"),
    }
}

fn of_certificate(error: &CertificateError, settings: &TlsSettings, host: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => format!(
            "the server's certificate is signed by no authority in {}: name the file with the right one in sslrootcert (managed databases offer it for download), or sslrootcert=system for a public one",
            settings.roots_name()
        ),
        CertificateError::NotValidForName => format!(
            "the server's certificate is not for {host}: connect by a name that it has, have the server's certificate made anew, or check the authority alone with sslmode=verify-ca"
        ),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names = match presented.len() {
                0 => "no name (a common name does not count, it needs a subjectAltName)".to_owned(),
                _ => presented.iter().take(5).cloned().collect::<Vec<_>>().join(", "),
            };
            format!(
                "the server's certificate is not for {host} but for {names}: connect by a name that it has, have it made anew, or check the authority alone with sslmode=verify-ca"
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired: renew it (ssl_cert_file), and reload the server".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: set this machine's clock".to_owned()
        }
        other => format!(
            "the server's certificate cannot be trusted ({other}): have it made anew as a leaf certificate, version 3, that an authority signs; one that signs itself will not do"
        ),
    }
}
