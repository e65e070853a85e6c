use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::{BUFFER_BYTES, Frame, FrameError, FrameReader, Next, RESERVED_BYTES_MAX};
use crate::network::RequestMemory;
use crate::network::request_memory::SMALL_FRAME_BYTES;

const MAX: usize = 100 << 20;

/// A reader and the two ends of its connection.
struct Wire {
    reader: FrameReader,
    memory: RequestMemory,
    near: TcpStream,
    far: TcpStream,
}

impl Wire {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let far = TcpStream::connect(listener.local_addr().expect("it is bound")).await.expect("it listens");
        let (near, _) = listener.accept().await.expect("it was connected to");
        Self { reader: FrameReader::default(), memory: RequestMemory::new(None), near, far }
    }

    /// Sends bytes and reads until they are all here; answers the frames they ended.
    async fn passes(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let (mut frames, mut left) = (Vec::new(), bytes.len());
        let (near, far) = (&self.near, &mut self.far);
        let receive = async {
            while left > 0 {
                near.readable().await.expect("it is open");
                // Readiness may be stale.
                left -= self.reader.read_from(near).unwrap_or(0);
                while let Some(frame) = next(&mut self.reader, &self.memory) {
                    frames.push(frame);
                }
            }
        };
        let (sent, ()) = tokio::join!(far.write_all(bytes), receive);
        sent.expect("it is open");
        frames
    }
}

fn next(reader: &mut FrameReader, memory: &RequestMemory) -> Option<Frame> {
    loop {
        match reader.next_frame(MAX).expect("the length is possible") {
            Next::Frame(frame) => return Some(frame),
            Next::Large { held, size } => reader.give(memory.take(held, size).expect("there is no bound")),
            Next::Part => return None,
        }
    }
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|place| (place % 251) as u8).collect()
}

fn framed(size: usize) -> Vec<u8> {
    [&(size as u32).to_be_bytes()[..], &content(size)].concat()
}

#[tokio::test]
async fn frames_of_all_sizes_come_out_as_they_went_in() {
    let sizes =
        [0, 1, SMALL_FRAME_BYTES, SMALL_FRAME_BYTES + 1, BUFFER_BYTES - 4, BUFFER_BYTES, 100_000, 7, 3 << 20, 9];
    let bytes: Vec<u8> = sizes.into_iter().flat_map(framed).collect();
    for piece in [bytes.len(), 70_001, 4_099] {
        let mut wire = Wire::new().await;
        let mut frames = Vec::new();
        for piece in bytes.chunks(piece) {
            frames.extend(wire.passes(piece).await);
        }
        assert!(frames.iter().map(|frame| frame.bytes.len()).eq(sizes), "{piece} bytes a time");
        assert!(frames.iter().all(|frame| frame.bytes == content(frame.bytes.len())), "{piece} bytes a time");
    }
}

#[tokio::test]
async fn only_large_frames_take_a_share_and_give_it_back() {
    let mut wire = Wire::new().await;
    let frames = wire.passes(&[framed(SMALL_FRAME_BYTES), framed(100_000)].concat()).await;
    assert!(frames[0].memory.is_none());
    assert_eq!(wire.memory.in_use(), 100_000);
    drop(frames);
    assert_eq!(wire.memory.in_use(), 0);
}

#[tokio::test]
async fn a_frame_arriving_byte_by_byte_is_one_when_the_last_came() {
    let mut wire = Wire::new().await;
    let bytes = framed(20);
    for byte in &bytes[..bytes.len() - 1] {
        assert!(wire.passes(&[*byte]).await.is_empty());
        assert!(wire.reader.has_part());
    }
    let frames = wire.passes(&bytes[bytes.len() - 1..]).await;
    assert_eq!(frames[0].bytes, content(20));
    assert!(!wire.reader.has_part());
}

#[tokio::test]
async fn a_claimed_length_is_not_reserved_before_it_arrives() {
    let mut wire = Wire::new().await;
    let claim = (100_u32 << 20).to_be_bytes();
    assert!(wire.passes(&[&claim[..], &content(50_000)].concat()).await.is_empty());
    let large = wire.reader.large.as_ref().expect("it has begun");
    assert_eq!(large.bytes.len(), 50_000);
    assert!(large.bytes.capacity() + wire.memory.in_use() <= 2 * RESERVED_BYTES_MAX);
}

#[tokio::test]
async fn without_bytes_there_is_no_buffer() {
    let mut wire = Wire::new().await;
    assert_eq!(wire.passes(&framed(20)).await.len(), 1);
    wire.reader.release();
    assert_eq!(wire.reader.buffer.capacity(), 0);
    wire.passes(&[0]).await;
    wire.reader.release();
    assert_eq!(wire.reader.buffer[..], [0], "what has come is kept");
}

#[test]
fn an_impossible_length_is_an_error() {
    for (prefix, max) in [(-1_i32, MAX), (101, 100), (i32::MAX, MAX)] {
        let mut reader = FrameReader { buffer: prefix.to_be_bytes()[..].into(), large: None };
        let expected = FrameError::Length { length: prefix, max, prefix: prefix.to_be_bytes() };
        assert_eq!(reader.next_frame(max).expect_err("it cannot be"), expected);
    }
}

#[test]
fn what_another_protocol_begins_with_is_named_in_one_line() {
    let told = |bytes: &[u8]| {
        let mut reader = FrameReader { buffer: bytes.into(), large: None };
        reader.next_frame(MAX).expect_err("it is no length").to_string()
    };
    // A hello's record, from TLS 1.0 to 1.3 and of SSL 3.
    for version in [0_u8, 1, 2, 3] {
        let words = told(&[22, 3, version, 2, 0, 1, 0, 1, 252, 3, 3]);
        assert!(words.ends_with(": this looks like TLS; the listener speaks plain text"), "{words}");
    }
    for method in ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "CONNECT", "PATCH", "TRACE", "PRI"] {
        let words = told(format!("{method} / HTTP/1.1\r\nHost: broker\r\n\r\n").as_bytes());
        assert!(words.ends_with(": this looks like HTTP; the listener speaks Kafka's protocol"), "{words}");
        assert_eq!(words.lines().count(), 1, "{words}");
    }
    assert!(told(b"SSH-2.0-OpenSSH_9.2\r\n").ends_with(": this looks like SSH"));
    assert_eq!(told(&[255, 255, 255, 255]), "frame length -1 is outside 0..=104857600", "nothing is guessed");
}
