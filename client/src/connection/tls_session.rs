//! A TLS session over a socket, in attempts that never wait.
//!
//! **Invariants:** whatever was read from the socket is decrypted and handed on within the same call, so that waiting
//! for the socket is waiting for more; what was taken for sending and not yet written shows in
//! [`TlsSession::wants_write`].

use std::io::{self, BufRead, ErrorKind, IoSlice, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::security::TlsSettings;

/// Read from the socket at once: two TLS records.
const INCOMING_BYTES: usize = 32 << 10;

/// A session, whose handshake is done once [`TlsSession::handshake`] has returned.
#[derive(Debug)]
pub(super) struct TlsSession {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    session: ClientConnection,
    incoming: Box<[u8]>,
}

impl TlsSession {
    /// Begins a session with the host that the certificate must be for.
    pub(super) fn new(settings: &TlsSettings, host: &str) -> io::Result<Self> {
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let session = ClientConnection::new(Arc::clone(&settings.0), name).map_err(invalid)?;
        Ok(Self { state: Mutex::new(State { session, incoming: vec![0; INCOMING_BYTES].into() }) })
    }

    /// Waits for the handshake to be done.
    ///
    /// # Errors
    /// The socket's, or a [`rustls::Error`] within; [`ErrorKind::UnexpectedEof`] when the other side closed.
    pub(super) async fn handshake(&self, stream: &TcpStream) -> io::Result<()> {
        let mut early = BytesMut::new();
        loop {
            {
                let mut state = self.lock();
                state.push(stream)?;
                if !state.session.is_handshaking() {
                    return Ok(());
                }
            }
            let interest =
                if self.wants_write() { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            stream.ready(interest).await?;
            match self.lock().pull(stream, &mut early) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                // A broker says nothing before it is asked.
                Ok(_) if !early.is_empty() => return Err(ErrorKind::InvalidData.into()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes what fits for sending, and writes what the socket takes.
    pub(super) fn try_write(&self, stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.lock();
        if !state.push(stream)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = state.session.writer().write_vectored(parts)?;
        state.push(stream)?;
        Ok(taken)
    }

    /// Writes what was taken before.
    pub(super) fn try_flush(&self, stream: &TcpStream) -> io::Result<()> {
        self.lock().push(stream).map(drop)
    }

    /// Whether something was taken and not written.
    pub(super) fn wants_write(&self) -> bool {
        self.lock().session.wants_write()
    }

    /// Appends what has arrived; 0 at the end of the stream.
    pub(super) fn try_read(&self, stream: &TcpStream, buffer: &mut BytesMut) -> io::Result<usize> {
        let mut state = self.lock();
        loop {
            let before = buffer.len();
            if state.pull(stream, buffer)? == 0 {
                return Ok(0);
            }
            if buffer.len() > before {
                return Ok(buffer.len() - before);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes encrypted bytes until the socket is full; true when none are left.
    fn push(&mut self, stream: &TcpStream) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Socket(stream)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads once from the socket and decrypts all of it; gives the bytes read, encrypted ones.
    fn pull(&mut self, stream: &TcpStream, buffer: &mut BytesMut) -> io::Result<usize> {
        let read = stream.try_read(&mut self.incoming)?;
        let mut rest = &self.incoming[..read];
        while !rest.is_empty() {
            // 0 behind the other side's close: what follows means nothing.
            if self.session.read_tls(&mut rest)? == 0 {
                break;
            }
            if let Err(error) = self.session.process_new_packets() {
                // The other side is told why, if it still listens.
                let _ = self.push(stream);
                return Err(invalid(error));
            }
            drain(&mut self.session, buffer)?;
        }
        // Answers of TLS itself, such as to a change of keys.
        self.push(stream)?;
        Ok(read)
    }
}

/// Appends decrypted bytes; there are at most as many as were read.
fn drain(session: &mut ClientConnection, buffer: &mut BytesMut) -> io::Result<()> {
    let mut reader = session.reader();
    loop {
        let length = match reader.fill_buf() {
            Ok([]) => return Ok(()),
            Ok(decrypted) => {
                buffer.extend_from_slice(decrypted);
                decrypted.len()
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        reader.consume(length);
    }
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

/// The socket as rustls writes to it.
struct Socket<'a>(&'a TcpStream);

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
