//! TLS for the replication library: it speaks plainly to a Unix socket of ours, and we speak TLS to the server.
//!
//! The socket lies in a folder that only this user may enter, takes one connection, and is gone before the first byte
//! has passed. Passwords go through it as they would go to the server, so nothing is heard that the process does not
//! know itself.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tempfile::TempDir;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::explain::{explain, no_tls};
use super::{TlsError, TlsMode};
use crate::postgres_url::PostgresUrl;

/// SSLRequest: its length and 1234.5679 (PostgreSQL documentation, 54.7 Message Formats).
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Longest wait for the library to come to the socket; it comes at once.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one direction may outlive the other.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// No tunnel could be made.
#[derive(Debug, Error)]
pub(crate) enum NegotiationError {
    /// Worth another try.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The files.
    #[error(transparent)]
    Settings(#[from] TlsError),
    /// The server's certificate, or its refusal of ours, with what to do.
    #[error("{0}")]
    Refused(String),
    /// No place for the socket.
    #[error(
        "TLS needs a folder for a socket, and none can be made in {folder}; set TMPDIR to one that can be written to"
    )]
    Folder {
        /// Where it was tried.
        folder: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// Negotiates with the server and returns the folder in which the socket `.s.PGSQL.<port>` awaits one connection; None
/// where the connection is to be plain: `disable`, `prefer` and a server without TLS, or a Unix socket.
///
/// The tunnel ends when either side closes.
pub(crate) async fn open_tunnel(url: &PostgresUrl) -> Result<Option<TempDir>, NegotiationError> {
    let mode = url.tls().mode();
    if mode == TlsMode::Disable || url.is_unix_socket() {
        return Ok(None);
    }
    let mut tcp = TcpStream::connect((url.address(), url.port())).await?;
    tcp.set_nodelay(true)?;
    tcp.write_all(&SSL_REQUEST).await?;
    if tcp.read_u8().await? != b'S' {
        return if mode == TlsMode::Prefer { Ok(None) } else { Err(NegotiationError::Refused(no_tls(mode))) };
    }
    let host = url.host();
    let connector = TlsConnector::from(Arc::new(url.tls().client_config()?));
    let name = ServerName::try_from(host.clone())
        .map_err(|_| NegotiationError::Refused(format!("{host} is not a name that a certificate can have")))?;
    let server = connector.connect(name, tcp).await.map_err(|error| match explain(&error, url.tls(), &host) {
        Some(reason) => NegotiationError::Refused(reason),
        None => NegotiationError::Io(error),
    })?;
    let (folder, listener) = listen(url.port())?;
    tokio::spawn(forward(listener, server));
    Ok(Some(folder))
}

fn listen(port: u16) -> Result<(TempDir, UnixListener), NegotiationError> {
    let parent = std::env::temp_dir();
    let made = || {
        // The path of a Unix socket has room for about a hundred bytes. Made with access for this user alone.
        let folder = tempfile::Builder::new()
            .prefix("pillion")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)?;
        let listener = UnixListener::bind(folder.path().join(format!(".s.PGSQL.{port}")))?;
        Ok((folder, listener))
    };
    made().map_err(|source| NegotiationError::Folder { folder: parent.display().to_string(), source })
}

async fn forward(listener: UnixListener, server: TlsStream<TcpStream>) {
    let accepted = tokio::time::timeout(ACCEPT_TIMEOUT, listener.accept()).await;
    let Ok(Ok((library, _))) = accepted else { return };
    drop(listener);
    let (mut from_library, mut to_library) = library.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let mut up = std::pin::pin!(async {
        let _ = tokio::io::copy(&mut from_library, &mut to_server).await;
        let _ = to_server.shutdown().await;
    });
    let mut down = std::pin::pin!(async {
        let _ = tokio::io::copy(&mut from_server, &mut to_library).await;
        let _ = to_library.shutdown().await;
    });
    // What the server said last, its reason for closing, still reaches the library.
    tokio::select! {
        () = &mut up => drop(tokio::time::timeout(CLOSE_TIMEOUT, down).await),
        () = &mut down => {}
    }
}
