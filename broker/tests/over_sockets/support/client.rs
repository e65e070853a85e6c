//! One connection: requests out, answers in, and what a client sees when the broker will have none of it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_wire::frame::{API_VERSIONS_KEY, RequestHeader, encode_request};
use pillion_wire::{ApiMessage, Chunk, DecodeError, Reader, Request};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` holds.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A connection of a client that numbers its requests and expects their answers in order.
pub(crate) struct Client {
    stream: TcpStream,
    next_correlation_id: i32,
    unanswered: VecDeque<i32>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).expect("the broker accepts")
    }

    pub(crate) fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, next_correlation_id: 1, unanswered: VecDeque::new() })
    }

    /// A request and its answer.
    pub(crate) fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.send(request, version);
        self.receive::<R>(version)
    }

    /// Sends without waiting for the answer.
    pub(crate) fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.try_send(request, version).unwrap_or_else(|error| panic!("cannot send {} {version}: {error}", R::API));
    }

    pub(crate) fn try_send<R: Request>(&mut self, request: &R, version: i16) -> io::Result<()> {
        let frame = frame(request, version, self.next_correlation_id);
        self.unanswered.push_back(self.next_correlation_id);
        self.next_correlation_id += 1;
        self.stream.write_all(&frame)
    }

    /// Sends a request that gets no answer.
    pub(crate) fn send_unanswered<R: Request>(&mut self, request: &R, version: i16) {
        self.send(request, version);
        self.unanswered.pop_back();
    }

    /// The next answer, which must be to the oldest request without one.
    pub(crate) fn receive<R: Request>(&mut self, version: i16) -> R::Response {
        self.try_receive::<R>(version)
            .unwrap_or_else(|error| panic!("no answer to {} version {version}: {error}", R::API))
    }

    pub(crate) fn try_receive<R: Request>(&mut self, version: i16) -> io::Result<R::Response> {
        let frame = self.receive_frame()?;
        let (correlation_id, response) = decode::<R::Response>(&frame, version);
        assert_eq!(Some(correlation_id), self.unanswered.pop_front(), "answers come in the order of the requests");
        Ok(response)
    }

    /// The next frame, without its length.
    pub(crate) fn receive_frame(&mut self) -> io::Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut frame)?;
        Ok(Bytes::from(frame))
    }

    /// Sends bytes as they are. A broker that has seen enough may close before it has read them all.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Waits until the broker closes the connection without another answer.
    pub(crate) fn expect_closed(&mut self) {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => {}
            Ok(_) => panic!("the broker answered instead of closing the connection"),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Err(error) => panic!("the broker did not close the connection: {error}"),
        }
    }

    /// The socket.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }
}

/// A request's bytes with its length.
pub(crate) fn frame<R: Request>(request: &R, version: i16, correlation_id: i32) -> Vec<u8> {
    let chunks = encode_request(request, version, correlation_id, Some("tests"));
    let chunks = chunks.unwrap_or_else(|error| panic!("{} version {version} is not sendable: {error}", R::API));
    let bytes = chunks.into_iter().map(|chunk| match chunk {
        Chunk::Bytes(bytes) => bytes,
        Chunk::External { .. } => unreachable!("requests carry their bytes"),
    });
    bytes.collect::<Vec<_>>().concat()
}

/// An answer, all of whose bytes must belong to it.
fn decode<M: ApiMessage>(frame: &Bytes, version: i16) -> (i32, M) {
    read(frame, version)
        .unwrap_or_else(|error| panic!("the answer does not decode as {} version {version}: {error}", M::NAME))
}

fn read<M: ApiMessage>(frame: &Bytes, version: i16) -> Result<(i32, M), DecodeError> {
    let mut reader = Reader::new(frame);
    let correlation_id = reader.get_i32()?;
    // The answer to ApiVersions is read before a client knows what the broker speaks: its header has no tags.
    if M::is_flexible(version) && M::KEY != API_VERSIONS_KEY {
        RequestHeader::skip_tagged_fields(&mut reader)?;
    }
    let response = M::read(&mut reader, version)?;
    assert_eq!(reader.remaining(), 0, "bytes behind the answer to {} version {version}", M::API);
    Ok((correlation_id, response))
}
