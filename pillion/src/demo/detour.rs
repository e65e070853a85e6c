//! The way to a database that can be closed: what stands still behind it looks to its service as a database that does.
//!
//! Invariant: while it is closed no byte passes in either direction, and none is lost.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes carried at a time.
const CHUNK_BYTES: usize = 16 * 1024;

/// A listener before a database. Dropped, it takes no further connections.
#[derive(Debug)]
pub(super) struct Detour {
    address: SocketAddr,
    is_closed: Arc<watch::Sender<bool>>,
    accepting: JoinHandle<()>,
}

impl Detour {
    /// To a server at `host:port`.
    pub(super) async fn start(server: String) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the way to a database")?;
        let address = listener.local_addr()?;
        let is_closed = Arc::new(watch::Sender::new(false));
        let gate = Arc::clone(&is_closed);
        let accepting = tokio::spawn(async move {
            while let Ok((service, _)) = listener.accept().await {
                let (server, gate) = (server.clone(), gate.subscribe());
                tokio::spawn(async move {
                    // An error on either side ends both, as it would without us.
                    if let Ok(database) = TcpStream::connect(server).await {
                        let (from_service, to_service) = service.into_split();
                        let (from_database, to_database) = database.into_split();
                        tokio::select! {
                            _ = carry(from_service, to_database, gate.clone()) => (),
                            _ = carry(from_database, to_service, gate) => (),
                        }
                    }
                });
            }
        });
        Ok(Self { address, is_closed, accepting })
    }

    /// Where the service finds its database.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nothing through, or everything.
    pub(super) fn close(&self, is_closed: bool) {
        self.is_closed.send_replace(is_closed);
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut gate: watch::Receiver<bool>,
) -> Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        gate.wait_for(|is_closed| !is_closed).await?;
        to.write_all(&chunk[..length]).await?;
    }
}

#[cfg(test)]
mod tests;
