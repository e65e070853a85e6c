//! An ordinary connection to the database, for everything but the stream: setting up, checking, asking for positions.

use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::causes;
use crate::lsn::Lsn;
use crate::postgres_url::PostgresUrl;
use crate::refusal;
use crate::tls::{self, TlsMode};

/// A server older than this lacks pgoutput's `messages` option.
const SERVER_VERSION_MIN: i32 = 140_000;

/// A connection and the task that drives it. Dropping it closes the connection.
pub(crate) struct Control {
    client: Client,
    task: JoinHandle<()>,
}

/// The database cannot be asked.
#[derive(Debug, Error)]
pub enum ControlError {
    /// It cannot be reached, or not for the moment.
    #[error("cannot connect to {url}")]
    Unreachable {
        /// The address, without a password.
        url: String,
        /// Why.
        #[source]
        source: tokio_postgres::Error,
    },
    /// It does not let us in.
    #[error("{url} refuses the connection: {reason}")]
    Refused {
        /// The address, without a password.
        url: String,
        /// The server's words, and what to do.
        reason: String,
    },
    /// The connection cannot be encrypted as asked for.
    #[error("{url}: {reason}")]
    Tls {
        /// The address, without a password.
        url: String,
        /// Why, and what to do.
        reason: String,
    },
    /// It is too old.
    #[error("{url} is PostgreSQL {version}; version 14 or later is needed")]
    Version {
        /// The address, without a password.
        url: String,
        /// What it says it is.
        version: String,
    },
    /// A question failed.
    #[error("a query failed")]
    Query(#[from] tokio_postgres::Error),
    /// An answer that cannot be understood.
    #[error("the server answered `{0}` where a position was asked for")]
    Answer(String),
}

impl ControlError {
    /// Whether another try may help.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            ControlError::Refused { .. } | ControlError::Tls { .. } | ControlError::Version { .. } => false,
            // A statement the server understood and refused; a connection that ended with it is another matter.
            ControlError::Query(error) => error.as_db_error().is_none_or(|answer| is_passing(answer.code())),
            ControlError::Unreachable { .. } | ControlError::Answer(_) => true,
        }
    }
}

impl Control {
    pub(crate) async fn connect(url: &PostgresUrl) -> Result<Control, ControlError> {
        let (client, task) = if url.tls().mode() == TlsMode::Disable || url.is_unix_socket() {
            open(url, NoTls).await?
        } else {
            let tls = url.tls().client_config();
            let tls = tls.map_err(|error| ControlError::Tls { url: url.to_string(), reason: causes::text(&error) })?;
            open(url, MakeRustlsConnect::new(tls)).await?
        };
        let control = Control { client, task };
        let version = control.text("select current_setting('server_version_num')").await?;
        match version.parse() {
            Ok(number) if number >= SERVER_VERSION_MIN => Ok(control),
            number => {
                let version = number.map_or(version, |number: i32| (number / 10_000).to_string());
                Err(ControlError::Version { url: url.to_string(), version })
            }
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// How far the server's log is flushed, or replayed if it is a standby.
    pub(crate) async fn server_lsn(&self) -> Result<Lsn, ControlError> {
        let text = self
            .text(
                "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end::text",
            )
            .await?;
        text.parse().map_err(|_| ControlError::Answer(text))
    }

    async fn text(&self, query: &str) -> Result<String, ControlError> {
        Ok(self.client.query_one(query, &[]).await?.try_get(0)?)
    }
}

async fn open<T>(url: &PostgresUrl, tls: T) -> Result<(Client, JoinHandle<()>), ControlError>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = url.client_config().connect(tls).await.map_err(|error| refused(url, error))?;
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the control connection ended");
        }
    });
    Ok((client, task))
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// SQLSTATE classes that pass by themselves: connection exceptions, too few resources, serialization, shutting down or
/// starting up, input and output; and internal errors, which making several slots at the same moment can bring about
/// (PostgreSQL documentation, appendix A).
fn is_passing(state: &SqlState) -> bool {
    ["08", "40", "53", "57P", "58", "XX000"].iter().any(|class| state.code().starts_with(class))
}

/// Whether the server said no for good, by SQLSTATE class: 28 (authorization) and 3D (no such database).
fn refused(url: &PostgresUrl, source: tokio_postgres::Error) -> ControlError {
    let is_final = |state: &SqlState| state.code().starts_with("28") || *state == SqlState::INVALID_CATALOG_NAME;
    if let Some(reason) = tls_failure(url, &source) {
        return ControlError::Tls { url: url.to_string(), reason };
    }
    match source.as_db_error() {
        Some(answer) if is_final(answer.code()) => {
            let hint = match refusal::hint(answer.message()) {
                "" => "; check user, password, database and pg_hba.conf",
                hint => hint,
            };
            ControlError::Refused { url: url.to_string(), reason: format!("{}{hint}", answer.message()) }
        }
        // The client's own: a password is wanted and the address has none, or the method is one it cannot do.
        None if matches!(source.to_string().as_str(), "invalid configuration" | "authentication error") => {
            let reason = format!("{}; check user and password of postgres.url", causes::text(&source));
            ControlError::Refused { url: url.to_string(), reason }
        }
        _ => ControlError::Unreachable { url: url.to_string(), source },
    }
}

/// What went wrong with TLS, if it was that.
fn tls_failure(url: &PostgresUrl, error: &tokio_postgres::Error) -> Option<String> {
    let explained = tls::explain(error, url.tls(), &url.host());
    explained
        .or_else(|| causes::text(error).contains("server does not support TLS").then(|| tls::no_tls(url.tls().mode())))
}
