//! Bytes that are no requests: the connection is closed, nothing large is allocated, others notice nothing.

use pillion_wire::Request;
use pillion_wire::frame::API_VERSIONS_KEY;
use pillion_wire::messages::{ApiVersionsRequest, MetadataRequest};

use crate::support::{
    Client, ServedProcess, TestBroker, batch, create_topic, fetch_request, frame, metadata, produce_request,
};

/// Sends bytes on a connection of their own, which must be closed, and sees that another one still works.
struct Hostile {
    broker: TestBroker,
    neighbour: Client,
}

impl Hostile {
    fn new(settings: &[(&str, &str)]) -> Self {
        let broker = TestBroker::fresh(settings);
        let neighbour = broker.client();
        Self { broker, neighbour }
    }

    fn closes(&mut self, what: &str, bytes: &[u8]) {
        println!("{what}");
        let mut client = self.broker.client();
        client.send_bytes(bytes);
        client.expect_closed();
        assert_eq!(metadata(&mut self.neighbour, &[]).brokers.len(), 1, "{what}");
    }
}

/// A frame from its parts, with its length.
fn framed(key: i16, version: i16, rest: &[u8]) -> Vec<u8> {
    let header = [&key.to_be_bytes()[..], &version.to_be_bytes(), &1_i32.to_be_bytes(), &(-1_i16).to_be_bytes()];
    let frame = [&header.concat(), rest].concat();
    [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
}

#[test]
fn a_length_that_cannot_be_closes_the_connection() {
    let mut hostile = Hostile::new(&[("socket.request.max.bytes", "100000")]);
    for length in [-1, i32::MIN, 100_001, i32::MAX] {
        hostile.closes(&format!("length {length}"), &length.to_be_bytes());
    }
    hostile.closes("an empty frame", &0_i32.to_be_bytes());
    hostile.closes("a frame shorter than a header", &[0, 0, 0, 4, 0, 3, 0, 1]);
}

#[test]
fn other_protocols_are_closed() {
    let mut hostile = Hostile::new(&[]);
    let hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    hostile.closes("a TLS hello", &hello);
    for line in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n"] {
        hostile.closes(line, line.as_bytes());
    }
}

#[test]
fn requests_that_are_not_served_close_the_connection() {
    let mut hostile = Hostile::new(&[]);
    for key in [-1, 4, 7, 99, i16::MAX] {
        hostile.closes(&format!("API key {key}"), &framed(key, 0, &[]));
    }
    for (key, version) in [(3, 14), (3, -1), (1, 3), (1, 19), (0, 14), (2, 0), (19, 1), (60, 3)] {
        hostile.closes(&format!("API key {key} version {version}"), &framed(key, version, &[0; 64]));
    }
}

#[test]
fn every_api_outside_of_its_versions_closes_the_connection() {
    let mut hostile = Hostile::new(&[]);
    let told = hostile.neighbour.call(&ApiVersionsRequest::default(), 0).api_keys;
    assert!(told.len() > 40, "{told:?}");
    // ApiVersions itself answers whatever it is asked in.
    for api in told.iter().filter(|api| api.api_key != API_VERSIONS_KEY) {
        for version in [api.min_version - 1, api.max_version + 1] {
            hostile
                .closes(&format!("API key {} version {version}", api.api_key), &framed(api.api_key, version, &[0; 64]));
        }
    }
}

#[test]
fn bodies_that_do_not_parse_close_the_connection() {
    let mut hostile = Hostile::new(&[]);
    for (key, version) in [(0, 3), (0, 13), (1, 4), (1, 18), (2, 1), (2, 11), (3, 1), (3, 13), (19, 2), (20, 6)] {
        hostile.closes(&format!("an empty body for API key {key} version {version}"), &framed(key, version, &[]));
    }
    hostile.closes("a client id that is no text", &[0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0, 2, 0xff, 0xfe]);
    let name = [&1_i32.to_be_bytes()[..], &2_i16.to_be_bytes(), &[0xff, 0xfe]].concat();
    hostile.closes("a topic name that is no text", &framed(3, 1, &name));
}

/// A request without its last bytes, however many those are.
fn cut<R: Request>(hostile: &mut Hostile, request: &R, version: i16) {
    let whole = frame(request, version, 1);
    for length in 4..whole.len() - 4 {
        let mut cut = whole[..4 + length].to_vec();
        cut[..4].copy_from_slice(&(length as u32).to_be_bytes());
        hostile.closes(&format!("{} version {version} cut to {length} bytes", R::API), &cut);
    }
}

#[test]
fn requests_cut_anywhere_close_the_connection() {
    let mut hostile = Hostile::new(&[("auto.create.topics.enable", "false")]);
    let records = batch(&["x"]);
    for version in [3, 12] {
        cut(&mut hostile, &produce_request("t", 0, records.clone()), version);
    }
    for version in [4, 12] {
        cut(&mut hostile, &fetch_request("t", 0, 0), version);
    }
}

/// Bodies whose counts promise more than they hold.
fn greedy_frames() -> Vec<(&'static str, Vec<u8>)> {
    let count = i32::MAX.to_be_bytes();
    // Variable-length: as large as an uint32 can be.
    let compact = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let name = [&1_i32.to_be_bytes()[..], &i16::MAX.to_be_bytes(), b"abc"].concat();
    let produce = |rest: &[u8]| [&(-1_i16).to_be_bytes()[..], &[0, 1], &[0; 4], rest].concat();
    let one_topic = [&1_i32.to_be_bytes()[..], &[0, 1, b't']].concat();
    let one_partition = [&one_topic[..], &1_i32.to_be_bytes(), &[0; 4]].concat();
    vec![
        ("topics", framed(3, 1, &count)),
        ("topics of a flexible version", framed(3, 9, &[&[0][..], &compact].concat())),
        ("bytes of a name", framed(3, 1, &name)),
        ("bytes of a flexible version's name", framed(3, 9, &[&[0, 2][..], &compact, b"abc"].concat())),
        ("bytes of the client id", [&[0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff], &b"ab"[..]].concat()),
        ("tagged fields of the header", framed(3, 9, &compact)),
        ("bytes of a tagged field", framed(3, 9, &[&[1, 0][..], &compact].concat())),
        ("tagged fields of the body", framed(3, 9, &[&[0, 1, 0, 0, 0][..], &compact].concat())),
        ("topics to produce to", framed(0, 3, &produce(&count))),
        ("partitions to produce to", framed(0, 3, &produce(&[&one_topic[..], &count].concat()))),
        ("bytes of a batch", framed(0, 3, &produce(&[&one_partition[..], &count].concat()))),
        ("topics to fetch from", framed(1, 4, &[&[0; 17][..], &count].concat())),
        ("topics to make", framed(19, 2, &count)),
        ("topics to delete", framed(20, 1, &count)),
        ("resources to describe", framed(32, 1, &count)),
    ]
}

#[test]
fn counts_beyond_the_bytes_left_close_the_connection() {
    let mut hostile = Hostile::new(&[]);
    for (what, bytes) in greedy_frames() {
        hostile.closes(what, &bytes);
    }
}

#[test]
fn claims_choose_no_allocation() {
    const SPARE: u64 = 64 << 20;
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let served = ServedProcess::start(directory.path(), &[]);
    let mut neighbour = Client::connect(served.address);
    create_topic(&mut neighbour, "t", 1, &[]);
    let before = (served.memory("VmHWM"), served.memory("VmPeak"));
    for (_, bytes) in greedy_frames() {
        let mut client = Client::connect(served.address);
        client.send_bytes(&bytes);
        client.expect_closed();
    }
    // Frames of the largest length allowed, of which only the beginning arrives.
    let mut waiting: Vec<_> = (0..50).map(|_| Client::connect(served.address)).collect();
    for client in &mut waiting {
        client.send_bytes(&[&(100_i32 << 20).to_be_bytes()[..], &[0; 100]].concat());
    }
    // A body of many tiny elements must not grow into many times its size.
    let tiny = framed(3, 9, &[&[0][..], &[0xff, 0xff, 0xff, 0x07], &vec![1; 16 << 20]].concat());
    let mut client = Client::connect(served.address);
    client.send_bytes(&tiny);
    client.expect_closed();
    assert_eq!(metadata(&mut neighbour, &["t"]).topics[0].error_code, 0);
    assert!(served.memory("VmHWM") - before.0 < 3 * SPARE, "memory in use grew from {} bytes", before.0);
    assert!(served.memory("VmPeak") - before.1 < 1 << 30, "memory reserved grew from {} bytes", before.1);
}

#[test]
fn tens_of_millions_of_tagged_fields_close_the_connection() {
    let mut hostile = Hostile::new(&[]);
    // Empty fields, two bytes each: in the header, and at the end of an ApiVersions body.
    let fields = [&[0x80, 0x87, 0xa7, 0x0e][..], &vec![0; 60_000_000]].concat();
    hostile.closes("tagged fields of a header", &framed(3, 9, &fields));
    hostile.closes("tagged fields of a body", &framed(18, 3, &[&[0, 2, b'c', 2, b'1'], &fields[..]].concat()));
}

#[test]
fn random_bytes_never_harm_others() {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    let broker = TestBroker::fresh(&[("auto.create.topics.enable", "false")]);
    let mut neighbour = broker.client();
    let mut random = StdRng::seed_from_u64(11);
    let keys = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 22, 23, 32, 60];
    for _ in 0..600 {
        let key = keys[random.random_range(0..keys.len())];
        // Small bytes parse further than large ones: counts and lengths stay plausible.
        let largest = [3, 16, 255][random.random_range(0..3)];
        let body: Vec<u8> = (0..random.random_range(0..200)).map(|_| random.random_range(0..=largest)).collect();
        let bytes = framed(key, random.random_range(0..14), &body);
        let mut client = broker.client();
        client.send_bytes(&bytes);
        assert_eq!(metadata(&mut neighbour, &[]).brokers.len(), 1, "{bytes:?}");
    }
}

#[test]
fn what_came_before_a_bad_frame_is_answered() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    client.send(&ApiVersionsRequest::default(), 0);
    client.send(&MetadataRequest { topics: Some(Vec::new()), ..MetadataRequest::default() }, 1);
    client.send_bytes(&framed(99, 0, &[]));
    assert_eq!(client.receive::<ApiVersionsRequest>(0).error_code, 0);
    assert_eq!(client.receive::<MetadataRequest>(1).brokers.len(), 1);
    client.expect_closed();
}
