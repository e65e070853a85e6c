//! Malformed bodies of every API in every version that is served: cut at each byte, with huge lengths at each place,
//! damaged at random. The broker closes the connection or answers; it neither ends nor grows, and others notice nothing.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::Bytes;
use pillion_wire::messages::ApiVersionsRequest;
use pillion_wire::{Message, messages};

use crate::every_message::{encode, every_message, random};
use crate::support::{Client, ServedProcess, create_topic, metadata};

/// Connections that are open at once; fewer than one address may have.
const AT_ONCE: usize = 64;
/// Seeds a body is chosen among, and the bytes it may have, so that there are not too many places in it.
const SEEDS: u64 = 24;
const BODY_BYTES_MAX: usize = 120;
/// Bodies of each version that are damaged at random.
const DAMAGED: usize = 24;
const CORRELATION_ID: i32 = 77;
/// What the broker may grow by, whatever it is sent.
const SPARE_BYTES: u64 = 64 << 20;

/// The request of an API in one version.
struct Subject {
    name: &'static str,
    key: i16,
    version: i16,
    is_flexible: bool,
    /// A valid body.
    body: Bytes,
}

/// Requests by API key, each in the versions the broker says it serves.
type Bodies = BTreeMap<i16, Vec<Subject>>;

fn add<M: Message>(bodies: &mut Bodies, served: &BTreeMap<i16, RangeInclusive<i16>>) {
    let Some(key) = M::API_KEY.filter(|_| M::NAME.ends_with("Request")) else { return };
    let Some(served) = served.get(&key) else { return };
    let subjects = served.clone().filter(|version| M::VERSIONS.contains(version)).map(|version| {
        let samples = (0..SEEDS).map(|seed| encode(&M::sample(&mut random(seed), version), version));
        let mut samples: Vec<Bytes> = samples.collect();
        samples.sort_by_key(Bytes::len);
        let body = samples.iter().rfind(|body| body.len() <= BODY_BYTES_MAX).unwrap_or(&samples[0]).clone();
        Subject { name: M::NAME, key, version, is_flexible: M::is_flexible(version), body }
    });
    bodies.insert(key, subjects.collect());
}

/// Every API that ApiVersions tells of.
fn every_body(client: &mut Client) -> Vec<Subject> {
    let told = client.call(&ApiVersionsRequest::default(), 0).api_keys;
    let served = told.iter().map(|api| (api.api_key, api.min_version..=api.max_version)).collect();
    let mut bodies = Bodies::new();
    macro_rules! add_each {
        ($($shared:ident,)* @ours $($ours:ident,)*) => {
            $(add::<messages::$shared>(&mut bodies, &served);)*
            $(add::<messages::$ours>(&mut bodies, &served);)*
        };
    }
    every_message!(add_each);
    let missing: Vec<_> = served.keys().filter(|key| !bodies.contains_key(key)).collect();
    assert!(missing.is_empty(), "served and not in the list of messages: {missing:?}");
    bodies.into_values().flatten().collect()
}

impl Subject {
    /// A frame with this body.
    fn frame(&self, body: &[u8]) -> Vec<u8> {
        let tags: &[u8] = if self.is_flexible { &[0] } else { &[] };
        let (key, version) = (self.key.to_be_bytes(), self.version.to_be_bytes());
        let frame = [&key[..], &version, &CORRELATION_ID.to_be_bytes(), &[0, 1, b'c'], tags, body].concat();
        [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
    }

    /// Cut before each byte.
    fn cut(&self) -> impl Iterator<Item = Vec<u8>> {
        (0..self.body.len()).map(|length| self.frame(&self.body[..length]))
    }

    /// With a length at each place that is beyond everything, or below what there is.
    fn with_huge_lengths(&self) -> impl Iterator<Item = Vec<u8>> {
        let lengths: &[&[u8]] = if self.is_flexible {
            &[&[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff, 0xff, 0xff, 0xff, 0x07], &[0xff; 10], &[0xff, 0xff, 0x03]]
        } else {
            &[&[0x7f, 0xff, 0xff, 0xff], &[0xff; 4], &[0x80, 0, 0, 0], &[0x7f, 0xff], &[0xff, 0xff, 0xff, 0xfe]]
        };
        (0..self.body.len()).map(|place| {
            let length = lengths[(place + self.version as usize) % lengths.len()];
            let behind = self.body.get(place + length.len()..).unwrap_or_default();
            self.frame(&[&self.body[..place], length, behind].concat())
        })
    }

    /// With a few bytes changed, left out or put in.
    fn damaged(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut random = random(u64::from(self.key.unsigned_abs()) << 16 | u64::from(self.version.unsigned_abs()));
        (0..DAMAGED).map(move |_| {
            let mut body = self.body.to_vec();
            for _ in 0..=random() % 3 {
                let place = random() as usize % (body.len() + 1);
                match random() % 4 {
                    0 if place < body.len() => drop(body.remove(place)),
                    1 if place < body.len() => body[place] ^= 1 << (random() % 8),
                    2 if place < body.len() => body[place] = random() as u8,
                    _ => body.insert(place, random() as u8),
                }
            }
            self.frame(&body)
        })
    }
}

/// Sends each on a connection of its own, some at a time, and hands the connections to `judge`.
fn send_each(address: SocketAddr, frames: impl Iterator<Item = Vec<u8>>, judge: impl Fn(&mut Client, &[u8])) {
    let mut frames = frames.peekable();
    while frames.peek().is_some() {
        let some: Vec<_> = frames.by_ref().take(AT_ONCE).collect();
        let mut clients: Vec<_> = some.iter().map(|_| Client::connect(address)).collect();
        for (client, frame) in clients.iter_mut().zip(&some) {
            client.send_bytes(frame);
        }
        for (client, frame) in clients.iter_mut().zip(&some) {
            judge(client, frame);
        }
    }
}

/// The broker has closed the connection, or answers once and closes it when this side does.
fn answers_or_closes(client: &mut Client, sent: &[u8]) {
    let _ = client.stream().shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match client.stream().read_to_end(&mut answer) {
        Ok(0) => return,
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
        Err(error) => panic!("neither an answer to {sent:?} nor an end: {error}"),
    }
    let (length, answer) = answer.split_first_chunk::<4>().expect("an answer has a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, answer.len(), "{sent:?} is answered by a whole frame: {answer:?}");
    assert!(answer.starts_with(&CORRELATION_ID.to_be_bytes()), "{sent:?} is answered with its number: {answer:?}");
}

fn try_all(address: SocketAddr, subject: &Subject) {
    println!("{} version {}: {:?}", subject.name, subject.version, subject.body);
    send_each(address, subject.cut(), |client, _| client.expect_closed());
    send_each(address, subject.with_huge_lengths().chain(subject.damaged()), answers_or_closes);
}

#[test]
fn malformed_bodies_of_every_api_and_version_harm_nobody() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = ["auto.create.topics.enable=false", "offsets.topic.num.partitions=2"];
    let served = ServedProcess::start(directory.path(), &settings);
    let address = served.address;
    let mut neighbour = Client::connect(address);
    create_topic(&mut neighbour, "held", 1, &[]);
    let subjects = every_body(&mut neighbour);
    let before = served.memory("VmHWM");
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_done = &is_done;
        scope.spawn(move || {
            // It fails when an answer takes longer than a test has patience.
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(neighbour.call(&ApiVersionsRequest::default(), 0).error_code, 0);
                assert_eq!(metadata(&mut neighbour, &["held"]).topics[0].error_code, 0);
            }
        });
        let halves = subjects.split_at(subjects.len() / 2);
        let workers = [halves.0, halves.1]
            .map(|subjects| scope.spawn(move || subjects.iter().for_each(|subject| try_all(address, subject))));
        let ended = workers.map(thread::ScopedJoinHandle::join);
        is_done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok), "see above");
    });
    let grown = served.memory("VmHWM") - before;
    assert!(grown < SPARE_BYTES, "the broker grew by {grown} bytes");
}
