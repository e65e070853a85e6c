//! More requests at once than there is memory for: producers wait on their sockets, nobody else notices, all are
//! served in the end.

use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use pillion_wire::messages::{ApiVersionsRequest, MetadataRequest};

use crate::support::{
    Client, ServedProcess, TestBroker, batch, create_topic, eventually, frame, list_offset, metadata, produce,
    produce_request,
};

const MIB: usize = 1 << 20;

/// A produce request with one record of `size` bytes.
fn large_produce(size: usize) -> Vec<u8> {
    frame(&produce_request("t", 0, batch(&[&"x".repeat(size)])), 12, 1)
}

/// A broker with so many bytes for requests, and a topic that takes batches of any size.
fn broker_with(request_bytes: usize, more: &[(&str, &str)]) -> TestBroker {
    let request_bytes = request_bytes.to_string();
    let settings = [("message.max.bytes", "50000000"), ("queued.max.request.bytes", &request_bytes)];
    let broker = TestBroker::fresh(&[&settings, more].concat());
    create_topic(&mut broker.client(), "t", 1, &[]);
    broker
}

/// Twenty clients send the front half of a request at once and, after `meanwhile`, the rest.
fn twenty_halves(connect: impl Fn() -> Client + Sync, request: &[u8], meanwhile: impl FnOnce()) {
    let (front, back) = request.split_at(request.len() / 2);
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let closed = gate.lock();
        for _ in 0..20 {
            scope.spawn(|| {
                let mut client = connect();
                // Who gets no memory is not read from and stands still here until others are done.
                client.stream().write_all(front).expect("the broker takes it in the end");
                drop(gate.lock());
                client.stream().write_all(back).expect("the broker takes it in the end");
                client.receive_frame().expect("it is answered");
            });
        }
        meanwhile();
        drop(closed);
    });
}

#[test]
fn producers_wait_their_turn_and_others_do_not_notice() {
    let broker = broker_with(32 * MIB, &[]);
    let mut neighbour = broker.client();
    twenty_halves(
        || broker.client(),
        &large_produce(10 * MIB),
        || {
            eventually("the memory being taken", || broker.request_bytes_in_use() > 20 * MIB);
            for _ in 0..50 {
                assert!(broker.request_bytes_in_use() <= 32 * MIB);
                assert_eq!(metadata(&mut neighbour, &["t"]).topics[0].error_code, 0);
                assert_eq!(neighbour.call(&ApiVersionsRequest::default(), 0).error_code, 0);
                assert_eq!(produce(&mut neighbour, "t", 0, batch(&["small"])).error_code, 0);
            }
        },
    );
    assert_eq!(list_offset(&mut neighbour, "t", 0, -1).offset, 50 + 20);
    eventually("the memory being given back", || broker.request_bytes_in_use() == 0);
}

#[test]
fn the_process_stays_as_small_as_it_says() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = ["message.max.bytes=50000000", "queued.max.request.bytes=16777216"];
    let served = ServedProcess::start(directory.path(), &settings);
    let mut neighbour = Client::connect(served.address);
    create_topic(&mut neighbour, "t", 1, &[]);
    let before = served.memory("VmHWM");
    twenty_halves(|| Client::connect(served.address), &large_produce(7 * MIB), || {});
    let grown = served.memory("VmHWM") - before;
    assert!(grown < 40 << 20, "140 MiB of requests at once took {grown} bytes");
    assert_eq!(list_offset(&mut neighbour, "t", 0, -1).offset, 20);
}

#[test]
fn a_request_larger_than_the_bound_goes_alone() {
    let broker = broker_with(MIB, &[]);
    twenty_halves(|| broker.client(), &large_produce(3 * MIB), || {});
    assert_eq!(list_offset(&mut broker.client(), "t", 0, -1).offset, 20);
    eventually("the memory being given back", || broker.request_bytes_in_use() == 0);
}

#[test]
fn who_stalls_or_leaves_half_way_keeps_no_memory() {
    let broker = broker_with(MIB, &[("socket.frame.timeout.ms", "500")]);
    let request = large_produce(MIB);
    for leaves in [true, false] {
        let (mut first, mut second) = (broker.client(), broker.client());
        first.send_bytes(&request[..300_000]);
        eventually("the memory being taken", || broker.request_bytes_in_use() >= MIB);
        second.send_bytes(&request);
        if leaves {
            drop(first);
        } else {
            first.expect_closed();
        }
        second.receive_frame().expect("it has the memory now");
        eventually("the memory being given back", || broker.request_bytes_in_use() == 0);
    }
}

#[test]
fn who_waits_for_memory_is_not_idle() {
    let broker = broker_with(MIB, &[("connections.max.idle.ms", "500")]);
    let request = large_produce(MIB);
    let (mut first, mut second) = (broker.client(), broker.client());
    first.send_bytes(&request[..300_000]);
    eventually("the memory being taken", || broker.request_bytes_in_use() >= MIB);
    second.send_bytes(&request[..300_000]);
    // The first is slow, but not silent.
    for piece in request[300_000..].chunks(request.len() / 20) {
        thread::sleep(Duration::from_millis(50));
        first.send_bytes(piece);
    }
    first.receive_frame().expect("it is answered");
    second.send_bytes(&request[300_000..]);
    second.receive_frame().expect("it was not closed while it waited");
}

#[test]
fn answers_that_nobody_takes_stay_few() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let served = ServedProcess::start(directory.path(), &[]);
    let mut neighbour = Client::connect(served.address);
    create_topic(&mut neighbour, "t", 5_000, &[]);
    let request = MetadataRequest { topics: None, ..MetadataRequest::default() };
    let before = served.memory("VmHWM");
    let mut deaf: Vec<_> = (0..5).map(|_| Client::connect(served.address)).collect();
    for client in &mut deaf {
        (0..100).for_each(|_| client.send(&request, 8));
    }
    for client in &mut deaf {
        for _ in 0..100 {
            assert_eq!(client.receive::<MetadataRequest>(8).topics[0].partitions.len(), 5_000);
        }
    }
    let grown = served.memory("VmHWM") - before;
    assert!(grown < 32 << 20, "500 answers of some 200 kB took {grown} bytes");
}
