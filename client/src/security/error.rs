//! What can be wrong with the settings of [`super::SecurityConfig`], and with the files they name.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// A setting that cannot be. No variant repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecurityError {
    /// Not one of the keys.
    #[error("`{0}` is not a key of a client's security; those are listed in SecurityConfig::KEYS")]
    Unknown(String),
    /// A value that is none of those there are.
    #[error("{key} = `{value}`: expected {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was given; never a secret.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A value that another one calls for.
    #[error("{key} is missing: {reason}")]
    Missing {
        /// The key.
        key: &'static str,
        /// Who wants it.
        reason: &'static str,
    },
    /// Settings that would be without effect, which a person would not expect.
    #[error("{key} is set, but security.protocol is {protocol}; set it to {wanted}")]
    Unused {
        /// The key.
        key: &'static str,
        /// The protocol in force.
        protocol: &'static str,
        /// Those with which the key has an effect.
        wanted: &'static str,
    },
    /// `sasl.jaas.config` is more than a user's name and password.
    #[error("sasl.jaas.config: {0}; or set sasl.username and sasl.password instead")]
    Jaas(&'static str),
}

/// Certificates or a key that cannot be used.
#[derive(Debug, Clone, Error)]
pub enum CertificateError {
    /// The file cannot be read.
    #[error("{key}: cannot read {path}")]
    Read {
        /// The setting that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: Arc<io::Error>,
    },
    /// The text holds nothing of the kind.
    #[error("{key}: no {wanted} in PEM form (-----BEGIN …) found{hint}")]
    NotFound {
        /// The setting.
        key: &'static str,
        /// What was looked for.
        wanted: &'static str,
        /// What to do about it; may be empty.
        hint: &'static str,
    },
    /// The text is damaged, or the certificate or key of a kind that is not known.
    #[error("{key}: cannot be used: {reason}")]
    Unusable {
        /// The setting.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The machine has no certificates of authorities.
    #[error("this machine has no certificates of authorities; name the cluster's in ssl.ca.location (a PEM file)")]
    NoSystemCertificates,
}
