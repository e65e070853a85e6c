//! Idempotent producers that go on through crashes, as real ones do: what was not acknowledged is sent again, in
//! order and under the same sequence numbers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use pillion_wire::messages::{FetchRequest, ProduceRequest};

use super::{
    Client, Fetched, History, eventually, fetch_request, idempotent, produce_request, producer_id, records_of,
};

/// Batches a producer has unanswered at most: as many as a broker tells retries of.
const IN_FLIGHT_MAX: usize = 5;

/// A producer of unique values.
pub(crate) struct Producer {
    id: i64,
    topic: &'static str,
    pub(crate) partition: i32,
    next_sequence: i32,
    /// Sent or to be sent, and not acknowledged.
    unacknowledged: VecDeque<(Bytes, Vec<String>)>,
    /// Offsets with the values acknowledged there.
    pub(crate) acknowledged: Vec<(i64, String)>,
}

/// What producers of one run share.
#[derive(Default)]
pub(crate) struct Load {
    /// Batches acknowledged.
    pub(crate) acknowledged: AtomicUsize,
    /// Tells the producers to make nothing new, and the reader to end.
    pub(crate) ending: AtomicBool,
    /// What is received from here on was sent without power and is as if it had not been.
    is_cut_off: AtomicBool,
}

impl Producer {
    /// A producer with an id from the broker.
    pub(crate) fn new(client: &mut Client, topic: &'static str, partition: i32) -> Self {
        Self {
            id: producer_id(client),
            topic,
            partition,
            next_sequence: 0,
            unacknowledged: VecDeque::new(),
            acknowledged: Vec::new(),
        }
    }

    /// Produces until the broker is gone, or everything is acknowledged after the load has ended.
    pub(crate) fn run(&mut self, address: SocketAddr, load: &Load) {
        // A broker that goes away is what these tests are about; what it answered before is kept.
        let _ = self.try_run(address, load);
    }

    /// As [`Producer::run`], of a broker that must stay.
    pub(crate) fn finish(&mut self, address: SocketAddr) {
        let load = Load { ending: AtomicBool::new(true), ..Load::default() };
        self.try_run(address, &load).expect("the broker takes what is left");
        assert!(self.unacknowledged.is_empty());
    }

    fn try_run(&mut self, address: SocketAddr, load: &Load) -> io::Result<()> {
        let mut client = Client::try_connect(address)?;
        let mut sent = 0;
        loop {
            while sent < IN_FLIGHT_MAX && (sent < self.unacknowledged.len() || !load.ending.load(Ordering::Relaxed)) {
                if sent == self.unacknowledged.len() {
                    self.make_batch();
                }
                let batch = self.unacknowledged[sent].0.clone();
                client.try_send(&produce_request(self.topic, self.partition, batch), 12)?;
                sent += 1;
            }
            if sent == 0 {
                return Ok(());
            }
            let response = client.try_receive::<ProduceRequest>(12)?;
            if load.is_cut_off.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let answer = &response.responses[0].partition_responses[0];
            if answer.error_code != 0 {
                return Err(io::Error::other(format!("{}: {:?}", answer.error_code, answer.error_message)));
            }
            let (_, values) = self.unacknowledged.pop_front().expect("it was sent");
            sent -= 1;
            self.acknowledged.extend((answer.base_offset..).zip(values));
            load.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn make_batch(&mut self) {
        let count = self.next_sequence % 3 + 1;
        let values: Vec<_> = (0..count).map(|place| format!("{}-{}", self.id, self.next_sequence + place)).collect();
        let texts: Vec<_> = values.iter().map(String::as_str).collect();
        let batch = idempotent(&texts, self.id, 0, self.next_sequence);
        self.unacknowledged.push_back((batch, values));
        self.next_sequence += count;
    }
}

impl Load {
    /// Runs `producers` with a reader of each partition until the broker is gone or the load has ended, while
    /// `meanwhile` decides when that is.
    pub(crate) fn run(
        &self,
        address: SocketAddr,
        producers: &mut [Producer],
        history: &History,
        meanwhile: impl FnOnce(&Self),
    ) {
        let topic = producers[0].topic;
        let mut partitions: Vec<_> = producers.iter().map(|producer| producer.partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        std::thread::scope(|scope| {
            for producer in producers {
                scope.spawn(|| producer.run(address, self));
            }
            for partition in partitions {
                scope.spawn(move || self.read(address, topic, partition, history));
            }
            meanwhile(self);
            self.ending.store(true, Ordering::Relaxed);
        });
    }

    /// Lets clients hear nothing more, as of a machine whose power is about to be cut.
    pub(crate) fn hear_nothing_more(&self) {
        self.is_cut_off.store(true, Ordering::SeqCst);
    }

    /// Waits until so many batches have been acknowledged.
    pub(crate) fn await_acknowledged(&self, batches: usize) {
        eventually("acknowledging", || self.acknowledged.load(Ordering::Relaxed) >= batches);
    }

    /// Reads as consumers do, and notes what it sees.
    fn read(&self, address: SocketAddr, topic: &str, partition: i32, history: &History) {
        let Ok(mut client) = Client::try_connect(address) else { return };
        let mut offset = 0;
        while !self.ending.load(Ordering::Relaxed) {
            let mut request = fetch_request(topic, partition, offset);
            request.max_wait_ms = 20;
            let answer = client.try_send(&request, 12).and_then(|()| client.try_receive::<FetchRequest>(12));
            let Ok(answer) = answer else { return };
            let fetched = &answer.responses[0].partitions[0];
            if fetched.error_code != 0 || self.is_cut_off.load(Ordering::SeqCst) {
                return;
            }
            for record in records_of(&fetched.bytes(), offset) {
                offset = record.offset + 1;
                history.note(partition, &record);
            }
        }
    }
}
