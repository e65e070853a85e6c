//! What a failed TLS session means for the one who set it up. Pure.

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError};

/// What to do about a TLS session that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsAdvice {
    /// A sentence for a person.
    pub text: &'static str,
    /// Whether the failure stays until someone changes something.
    pub lasts: bool,
}

impl TlsAdvice {
    /// Judges an error of the socket, within which one of rustls may be.
    pub(super) fn of(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(error) => Self { text: text(error), lasts: true },
            None if error.kind() == ErrorKind::InvalidInput => {
                Self { text: "its name cannot be in a certificate; connect by a host name or an address", lasts: true }
            }
            // A plaintext listener takes the first message for a frame too long and closes; so does a broker that stops.
            None => Self {
                text: "the connection was closed during the handshake; if it stays so, this is a plaintext listener \
                       (security.protocol=PLAINTEXT or SASL_PLAINTEXT), or not the port of the TLS one",
                lasts: false,
            },
        }
    }
}

fn text(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(error) => of_certificate(error),
        rustls::Error::AlertReceived(alert) => of_alert(*alert),
        rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. } => {
            "it does not answer in TLS; set security.protocol=PLAINTEXT or SASL_PLAINTEXT, or use the port of its TLS \
             listener"
        }
        rustls::Error::PeerIncompatible(_) => "it speaks neither TLS 1.2 nor 1.3 with ciphers that are still safe",
        _ => "the session was ended by an error",
    }
}

fn of_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer => {
            "its certificate comes from an authority that is not trusted; name that authority's certificate in \
             ssl.ca.location (a PEM file)"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host; connect by a name the certificate has (advertised.listeners must, too), \
             or set ssl.endpoint.identification.algorithm=none"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; the cluster needs a new one"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; compare the clocks"
        }
        CertificateError::BadSignature => {
            "its certificate is not signed by the authority of that name; ssl.ca.location may hold an old one"
        }
        _ => "its certificate cannot be accepted",
    }
}

fn of_alert(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateRequired => {
            "it wants a certificate of the client's; set ssl.certificate.location and ssl.key.location"
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            "it does not accept this client's certificate, or wants one and got none; check ssl.certificate.location \
             against the authorities that the cluster trusts"
        }
        AlertDescription::CertificateExpired => "this client's certificate has expired; it needs a new one",
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => {
            "it accepts no version or cipher of this client's, or wants a certificate (ssl.certificate.location)"
        }
        AlertDescription::UnrecognisedName => "it knows no host of that name; connect by a name its certificate has",
        _ => "it ended the session",
    }
}

#[cfg(test)]
mod tests;
