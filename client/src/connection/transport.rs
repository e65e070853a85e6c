//! The socket. The one place that knows what lies between a connection and the network.
//!
//! Reads and writes are attempts that never wait, so that a connection's state can be held while writing. Where there
//! is a TLS session it goes between them and the socket here.

use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::Interest;
use tokio::net::{TcpStream, lookup_host};

use super::ConnectionError;
use super::tls_session::TlsSession;
use crate::security::TlsSettings;

/// A socket, plaintext or with TLS over it.
#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    tls: Option<TlsSession>,
}

impl Transport {
    /// Connects to `host:port`, trying every address it resolves to in turn, and shakes hands where TLS is wanted, all
    /// within `timeout`.
    pub(super) async fn connect(
        address: &str,
        tls: Option<&TlsSettings>,
        timeout: Duration,
    ) -> Result<Self, ConnectionError> {
        let failed =
            |source: io::Error| ConnectionError::Connect { address: address.to_owned(), source: source.into() };
        let attempt = async {
            let stream = Self::open(address).await?;
            let Some(settings) = tls else { return Ok(Self { stream, tls: None }) };
            let shaken = async {
                let session = TlsSession::new(settings, host(address))?;
                session.handshake(&stream).await.map(|()| session)
            };
            let session = shaken.await.map_err(|error| ConnectionError::of_handshake(address, error))?;
            Ok(Self { stream, tls: Some(session) })
        };
        tokio::time::timeout(timeout, attempt).await.unwrap_or_else(|_| Err(failed(ErrorKind::TimedOut.into())))
    }

    async fn open(address: &str) -> Result<TcpStream, ConnectionError> {
        let failed =
            |source: io::Error| ConnectionError::Connect { address: address.to_owned(), source: source.into() };
        let resolved = lookup_host(address)
            .await
            .map_err(|source| ConnectionError::Resolve { address: address.to_owned(), source: source.into() })?;
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for resolved in resolved {
            match TcpStream::connect(resolved).await {
                Ok(stream) => {
                    // A request must not wait for the acknowledgement of the one before it.
                    stream.set_nodelay(true).map_err(failed)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Writes what the socket takes now.
    pub(super) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.tls {
            None => self.stream.try_write_vectored(parts),
            Some(session) => session.try_write(&self.stream, parts),
        }
    }

    /// Writes what [`Transport::try_write`] took and the socket did not.
    pub(super) fn try_flush(&self) -> io::Result<()> {
        self.tls.as_ref().map_or(Ok(()), |session| session.try_flush(&self.stream))
    }

    /// Whether there is something to flush.
    pub(super) fn wants_flush(&self) -> bool {
        self.tls.as_ref().is_some_and(TlsSession::wants_write)
    }

    /// Reads what is there behind what the buffer holds; 0 at the end of the stream.
    pub(super) fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match &self.tls {
            None => self.stream.try_read_buf(buffer),
            Some(session) => session.try_read(&self.stream, buffer),
        }
    }

    /// Waits until there is something to read or, when `writing`, room to write.
    pub(super) async fn ready(&self, writing: bool) -> io::Result<()> {
        let interest = if writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.stream.ready(interest).await.map(drop)
    }
}

/// The host of `host:port`, an IPv6 one without its brackets.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
