//! Connections that never end, never speak or never listen: each has a bound, and none holds up the others.

use std::io::Read;
use std::time::{Duration, Instant};

use pillion_wire::messages::{FetchRequest, MetadataRequest, ProduceRequest};

use crate::support::{
    Client, PATIENCE, ServedProcess, TestBroker, batch, create_topic, eventually, fetch_request, frame, list_offset,
    metadata, produce, produce_request,
};

#[test]
fn an_address_gets_only_its_share_of_connections() {
    let broker = TestBroker::fresh(&[("max.connections.per.ip", "2")]);
    let (mut first, mut second) = (broker.client(), broker.client());
    assert_eq!(metadata(&mut first, &[]).brokers.len(), 1);
    assert_eq!(metadata(&mut second, &[]).brokers.len(), 1);
    broker.client().expect_closed();
    assert_eq!(metadata(&mut second, &[]).brokers.len(), 1);
    drop(first);
    eventually("a place becoming free", || is_served(&broker));
}

#[test]
fn a_frame_that_never_ends_is_closed_at_its_deadline() {
    let broker = TestBroker::fresh(&[("socket.frame.timeout.ms", "100")]);
    let mut neighbour = broker.client();
    for beginning in [&[0, 0][..], &[0, 0, 0, 100], &[0, 0, 0, 100, 0, 3, 0, 1]] {
        let mut client = broker.client();
        client.send_bytes(beginning);
        client.expect_closed();
        assert_eq!(metadata(&mut neighbour, &[]).brokers.len(), 1);
    }
    assert_eq!(metadata(&mut neighbour, &[]).brokers.len(), 1, "waiting between frames has no such deadline");
}

#[test]
fn a_frame_that_trickles_in_is_closed_at_its_deadline() {
    let broker = TestBroker::fresh(&[("socket.frame.timeout.ms", "150")]);
    let mut client = broker.client();
    client.send_bytes(&1_000_000_i32.to_be_bytes());
    client.stream().set_read_timeout(Some(Duration::from_millis(5))).expect("it is a socket");
    let began = Instant::now();
    loop {
        client.send_bytes(&[0]);
        let mut byte = [0];
        match client.stream().read(&mut byte) {
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            _ => break,
        }
        assert!(began.elapsed() < PATIENCE, "a byte now and then keeps the frame alive");
    }
}

#[test]
fn whole_frames_in_a_row_have_a_deadline_each() {
    let broker = TestBroker::fresh(&[("socket.frame.timeout.ms", "1500")]);
    let mut client = broker.client();
    let request = MetadataRequest { topics: Some(Vec::new()), ..MetadataRequest::default() };
    let began = Instant::now();
    let mut rest = Vec::new();
    let mut number = 1;
    // Each write ends one frame and begins the next: the connection always has a part of one.
    while began.elapsed() < Duration::from_millis(3_500) {
        let frame = frame(&request, 1, number);
        let bytes = [&rest[..], &frame[..5]].concat();
        client.send_bytes(&bytes);
        if number > 1 {
            client.receive_frame().expect("a frame that ended in time is answered");
        }
        rest = frame[5..].to_vec();
        number += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let broker = TestBroker::fresh(&[("connections.max.idle.ms", "100")]);
    let mut silent = broker.client();
    let mut once = broker.client();
    assert_eq!(metadata(&mut once, &[]).brokers.len(), 1);
    silent.expect_closed();
    once.expect_closed();
    assert_eq!(metadata(&mut broker.client(), &[]).brokers.len(), 1);
}

#[test]
fn someone_who_waits_for_an_answer_is_not_idle() {
    let broker = TestBroker::fresh(&[("connections.max.idle.ms", "100")]);
    create_topic(&mut broker.client(), "t", 1, &[]);
    let mut client = broker.client();
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 600;
    let answer = client.call(&request, 12);
    assert_eq!(answer.responses[0].partitions[0].error_code, 0, "the wait is longer than an idle connection's life");
}

#[test]
fn someone_who_never_reads_is_closed() {
    let broker = TestBroker::fresh(&[("connections.max.idle.ms", "200"), ("max.connections.per.ip", "1")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    for _ in 0..8 {
        assert_eq!(produce(&mut client, "t", 0, batch(&[&"x".repeat(1_000_000)])).error_code, 0);
    }
    // On the only connection there may be: answers of 80 MB are more than the sockets' buffers take.
    for _ in 0..10 {
        client.send(&fetch_request("t", 0, 0), 12);
    }
    eventually("the connection being given up", || is_served(&broker));
}

/// Whether a new connection is answered.
fn is_served(broker: &TestBroker) -> bool {
    let mut client = broker.client();
    let request = MetadataRequest { topics: Some(Vec::new()), ..MetadataRequest::default() };
    client.try_send(&request, 1).and_then(|()| client.try_receive::<MetadataRequest>(1)).is_ok()
}

#[test]
fn requests_beyond_those_that_may_be_in_flight_wait_their_turn() {
    let broker = TestBroker::fresh(&[]);
    create_topic(&mut broker.client(), "t", 1, &[]);
    let mut client = broker.client();
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 50;
    // More than are taken at once, in one piece: the last ones are read only when the first are answered.
    let frames: Vec<u8> = (1..=300).flat_map(|number| frame(&request, 12, number)).collect();
    client.send_bytes(&frames);
    for number in 1..=300_i32 {
        let frame = client.receive_frame().expect("every fetch expires");
        assert_eq!(frame[..4], number.to_be_bytes());
    }
}

#[test]
fn a_connection_is_closed_though_a_fetch_of_its_is_parked() {
    let broker = TestBroker::fresh(&[]);
    create_topic(&mut broker.client(), "t", 1, &[]);
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 600_000;
    let mut client = broker.client();
    client.send(&request, 12);
    client.send_bytes(b"GET / HTTP/1.1\r\n\r\n");
    client.expect_closed();
}

#[test]
fn parked_fetches_of_clients_that_left_keep_no_socket() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let served = ServedProcess::start(directory.path(), &[]);
    let mut client = Client::connect(served.address);
    create_topic(&mut client, "t", 1, &[]);
    let before = served.open_files();
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 600_000;
    for _ in 0..20 {
        let mut leaving = Client::connect(served.address);
        leaving.send(&request, 12);
        assert_eq!(metadata(&mut client, &["t"]).topics[0].error_code, 0);
    }
    eventually("the sockets being closed", || served.open_files() <= before);
}

#[test]
fn a_clean_stop_does_not_wait_for_those_who_have_much_in_flight() {
    let broker = TestBroker::fresh(&[]);
    create_topic(&mut broker.client(), "t", 1, &[]);
    let mut client = broker.client();
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 600_000;
    let frames: Vec<u8> = (1..=300).flat_map(|number| frame(&request, 12, number)).collect();
    client.send_bytes(&frames);
    assert_eq!(metadata(&mut broker.client(), &["t"]).topics[0].error_code, 0);
    broker.stop();
}

#[test]
fn a_clean_stop_lets_answers_in_flight_go_out() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let mut waiting = broker.client();
    let mut fetch = fetch_request("t", 0, 0);
    fetch.max_wait_ms = 600_000;
    waiting.send(&fetch, 12);
    // Handled in order: once this produce has an effect the fetch before it is parked.
    create_topic(&mut client, "other", 1, &[]);
    waiting.send(&produce_request("other", 0, batch(&["x"])), 12);
    eventually("the produce", || list_offset(&mut client, "other", 0, -1).offset == 1);
    broker.stop();
    let answer = waiting.receive::<FetchRequest>(12);
    assert_eq!(answer.responses[0].partitions[0].error_code, 0);
    assert_eq!(waiting.receive::<ProduceRequest>(12).responses[0].partition_responses[0].error_code, 0);
    waiting.expect_closed();
}
