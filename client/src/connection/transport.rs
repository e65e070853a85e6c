//! The socket. The one place that knows what lies between a connection and the network.
//!
//! Reads and writes are attempts that never wait, so that a connection's state can be held while writing. A TLS
//! session is a state machine that fits the same four calls: it goes between them and the socket here.

use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::Interest;
use tokio::net::{TcpStream, lookup_host};

use super::ConnectionError;

/// A plaintext socket.
#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
}

impl Transport {
    /// Connects to `host:port`, trying every address it resolves to in turn, all within `timeout`.
    pub(super) async fn connect(address: &str, timeout: Duration) -> Result<Self, ConnectionError> {
        let failed =
            |source: io::Error| ConnectionError::Connect { address: address.to_owned(), source: source.into() };
        let attempt = async {
            let resolved = lookup_host(address)
                .await
                .map_err(|source| ConnectionError::Resolve { address: address.to_owned(), source: source.into() })?;
            let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
            for resolved in resolved {
                match TcpStream::connect(resolved).await {
                    Ok(stream) => {
                        // A request must not wait for the acknowledgement of the one before it.
                        stream.set_nodelay(true).map_err(failed)?;
                        return Ok(Self { stream });
                    }
                    Err(error) => last = error,
                }
            }
            Err(failed(last))
        };
        tokio::time::timeout(timeout, attempt).await.unwrap_or_else(|_| Err(failed(ErrorKind::TimedOut.into())))
    }

    /// Writes what the socket takes now.
    pub(super) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(parts)
    }

    /// Reads what is there into the buffer's room; 0 at the end of the stream.
    pub(super) fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.stream.try_read_buf(buffer)
    }

    /// Waits until there is something to read or, when `writing`, room to write.
    pub(super) async fn ready(&self, writing: bool) -> io::Result<()> {
        let interest = if writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.stream.ready(interest).await.map(drop)
    }
}
