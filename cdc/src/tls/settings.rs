//! What an address says about TLS, in libpq's words (PostgreSQL documentation, 32.19 SSL Support).

use std::path::{Path, PathBuf};

use thiserror::Error;

/// `sslmode`, weakest first. libpq's `allow`, encrypted only if the server insists, is taken as `prefer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server can; its certificate is not looked at. The default.
    Prefer,
    /// Encrypted; its certificate is looked at only where there is a file of root certificates, as libpq has it.
    Require,
    /// Its certificate is signed by an authority that is trusted.
    VerifyCa,
    /// And is for the host's name.
    VerifyFull,
}

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Not one of libpq's.
    #[error("sslmode={0} is unknown: expected disable, prefer, require, verify-ca or verify-full")]
    Mode(String),
    /// libpq refuses this too: any certificate authority in the world would do.
    #[error("sslmode={0} is too weak for sslrootcert=system: use sslmode=verify-full")]
    WeakForSystem(&'static str),
    /// Binding both connections' passwords to their TLS is beyond the replication library.
    #[error(
        "channel_binding=require cannot be kept for the replication connection; use channel_binding=prefer with sslmode=verify-full, which rules out the same attack"
    )]
    ChannelBinding,
    /// An option of libpq's that is not built.
    #[error("{name} is not supported: {instead}")]
    Unsupported {
        /// Its name.
        name: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
}

/// TLS as an address asks for it. Empty options count as not given, as with libpq.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    mode: TlsMode,
    root_certificates: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// Which authorities are trusted.
pub(super) enum Roots {
    /// The operating system's.
    System,
    /// Those in a file.
    File(PathBuf),
    /// None: no file was named, and there is none here.
    Missing(PathBuf),
}

impl TlsMode {
    /// libpq's word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TlsMode::Disable => "disable",
            TlsMode::Prefer => "prefer",
            TlsMode::Require => "require",
            TlsMode::VerifyCa => "verify-ca",
            TlsMode::VerifyFull => "verify-full",
        }
    }

    fn parse(text: &str) -> Result<TlsMode, SettingsError> {
        match text {
            "disable" => Ok(TlsMode::Disable),
            "allow" | "prefer" => Ok(TlsMode::Prefer),
            "require" => Ok(TlsMode::Require),
            "verify-ca" => Ok(TlsMode::VerifyCa),
            "verify-full" => Ok(TlsMode::VerifyFull),
            _ => Err(SettingsError::Mode(text.chars().take(40).collect())),
        }
    }

    pub(super) fn checks_authority(self) -> bool {
        self >= TlsMode::VerifyCa
    }
}

impl TlsSettings {
    /// Reads the options that were given.
    pub(crate) fn of_options(options: &[(&'static str, String)]) -> Result<TlsSettings, SettingsError> {
        let given = |name: &str| {
            options.iter().rev().find(|(option, value)| *option == name && !value.is_empty()).map(|(_, value)| value)
        };
        if given("channel_binding").is_some_and(|value| value == "require") {
            return Err(SettingsError::ChannelBinding);
        }
        if given("sslpassword").is_some() {
            let instead = "decrypt the key first, with `openssl pkey -in KEY -out PLAIN`, and guard the file";
            return Err(SettingsError::Unsupported { name: "sslpassword", instead });
        }
        if given("sslnegotiation").is_some_and(|value| value != "postgres") {
            let instead = "leave it out; a server that takes direct TLS takes the other way too";
            return Err(SettingsError::Unsupported { name: "sslnegotiation=direct", instead });
        }
        let root_certificates = given("sslrootcert").map(PathBuf::from);
        let is_system = root_certificates.as_deref() == Some(Path::new("system"));
        let mode = match given("sslmode") {
            Some(text) => TlsMode::parse(text)?,
            None if is_system => TlsMode::VerifyFull,
            None => TlsMode::Prefer,
        };
        if is_system && mode < TlsMode::VerifyFull {
            return Err(SettingsError::WeakForSystem(mode.name()));
        }
        let path = |name| given(name).map(PathBuf::from);
        Ok(TlsSettings { mode, root_certificates, certificate: path("sslcert"), key: path("sslkey") })
    }

    /// The mode that was asked for.
    pub(crate) fn mode(&self) -> TlsMode {
        self.mode
    }

    /// The mode that is kept: with a file of root certificates, `require` checks the authority, as libpq has it.
    pub(super) fn effective_mode(&self) -> TlsMode {
        match (self.mode, self.roots()) {
            (TlsMode::Require, Roots::File(_)) => TlsMode::VerifyCa,
            (mode, _) => mode,
        }
    }

    pub(super) fn roots(&self) -> Roots {
        match &self.root_certificates {
            Some(path) if path == Path::new("system") => Roots::System,
            Some(path) => Roots::File(path.clone()),
            None => {
                let path = of_home("root.crt");
                if path.is_file() { Roots::File(path) } else { Roots::Missing(path) }
            }
        }
    }

    /// Where the trusted authorities come from, for messages.
    pub(super) fn roots_name(&self) -> String {
        match self.roots() {
            Roots::System => "system".to_owned(),
            Roots::File(path) | Roots::Missing(path) => path.display().to_string(),
        }
    }

    /// Files of the certificate to show and its key, if there is one.
    pub(super) fn client_certificate(&self) -> Option<(PathBuf, PathBuf)> {
        let of = |named: &Option<PathBuf>, file| named.clone().unwrap_or_else(|| of_home(file));
        let (certificate, key) = (of(&self.certificate, "postgresql.crt"), of(&self.key, "postgresql.key"));
        (self.certificate.is_some() || certificate.is_file()).then_some((certificate, key))
    }
}

/// A file where libpq looks for it.
fn of_home(file: &str) -> PathBuf {
    std::env::home_dir().unwrap_or_default().join(".postgresql").join(file)
}
