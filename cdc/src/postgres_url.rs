//! The address of a Postgres database, with the password kept out of everything that is printed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;
use tokio_postgres::config::{Host, SslMode};

use crate::tls::{SettingsError, TlsMode, TlsSettings};

mod options;
#[cfg(test)]
mod tests;

/// Postgres' port where the address names none.
const DEFAULT_PORT: u16 = 5432;
/// Long enough for a name look-up and a slow handshake, short enough to try again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that vanished without a word is noticed within about half a minute.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// `postgresql://user:password@host:port/database?…`, or libpq's `key=value` form. One host; `/path` as host is the
/// folder of a Unix socket. Printing it, `Debug` included, never shows the password.
///
/// TLS is as libpq has it: `sslmode` (`prefer` by default), `sslrootcert` (a file, or `system`; else
/// `~/.postgresql/root.crt`), `sslcert` and `sslkey` (else `~/.postgresql/postgresql.crt` and `.key`).
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: tokio_postgres::Config,
    tls: TlsSettings,
}

/// An address that cannot be used.
#[derive(Debug, Error)]
pub enum PostgresUrlError {
    /// Not an address.
    #[error("the Postgres address cannot be read; expected postgresql://user:password@host:port/database")]
    Syntax(#[source] tokio_postgres::Error),
    /// No host, or several.
    #[error("the Postgres address must name one host, found {0}")]
    Hosts(usize),
    /// No user.
    #[error("the Postgres address names no user; expected postgresql://user@host/database")]
    NoUser,
    /// A password that is not text.
    #[error("the Postgres password is not UTF-8")]
    Password,
    /// An option about encryption.
    #[error("the Postgres address: {0}")]
    Tls(#[from] SettingsError),
}

impl PostgresUrl {
    /// For `tokio-postgres`, with time-outs where the address sets none.
    pub(crate) fn client_config(&self) -> tokio_postgres::Config {
        let mut config = self.config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("pillion");
        }
        // A host that is only an address is also the name that its certificate must have.
        if config.get_hosts().is_empty() {
            config.host(self.host());
        }
        config.ssl_mode(match self.tls.mode() {
            _ if self.is_unix_socket() => SslMode::Disable,
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        config.keepalives_idle(KEEPALIVE_IDLE).tcp_user_timeout(TCP_USER_TIMEOUT);
        config
    }

    /// How the connection is encrypted.
    pub(crate) fn tls(&self) -> &TlsSettings {
        &self.tls
    }

    /// Whether the host is the folder of a Unix socket, where nothing is encrypted.
    pub(crate) fn is_unix_socket(&self) -> bool {
        self.host().starts_with('/')
    }

    /// What to connect to: the address, where one is given beside the host's name.
    pub(crate) fn address(&self) -> String {
        self.config.get_hostaddrs().first().map_or_else(|| self.host(), ToString::to_string)
    }

    /// The host's name, its address, or the folder of its Unix socket.
    pub fn host(&self) -> String {
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => self.config.get_hostaddrs().first().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT)
    }

    /// The user.
    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    /// The database; the user's name where the address names none, as Postgres has it.
    pub fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.user())
    }

    /// The password, checked to be text; empty if there is none.
    pub(crate) fn password(&self) -> &str {
        self.config.get_password().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl FromStr for PostgresUrl {
    type Err = PostgresUrlError;

    fn from_str(text: &str) -> Result<PostgresUrl, PostgresUrlError> {
        let (text, tls_options) = options::split(text);
        let config: tokio_postgres::Config = text.parse().map_err(PostgresUrlError::Syntax)?;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts != 1 {
            return Err(PostgresUrlError::Hosts(hosts));
        }
        if config.get_user().is_none_or(str::is_empty) {
            return Err(PostgresUrlError::NoUser);
        }
        if config.get_password().is_some_and(|password| std::str::from_utf8(password).is_err()) {
            return Err(PostgresUrlError::Password);
        }
        Ok(PostgresUrl { config, tls: TlsSettings::of_options(&tls_options)? })
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgresql://{}@{}:{}/{}", self.user(), self.host(), self.port(), self.database())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}
