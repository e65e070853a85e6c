//! Fills the topic: a connection for each half of the partitions, batches that are all different, made as they are sent.
//!
//! A batch's first record begins with its partition and its number there, and the checksum is computed anew: no two
//! batches are alike, so that one in another's place would show.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use bytes::{Bytes, BytesMut};

use super::digest::Digest;
use crate::batch::{BatchShape, ProduceAnswer, ProduceFrame};
use crate::connection::{connect, error_name};
use crate::socket::{self, Incoming, Outgoing};

/// Connections that fill.
const CONNECTIONS: usize = 2;
/// Requests in flight on each.
const IN_FLIGHT: usize = 5;
/// Where a batch's checksum stands.
const CHECKSUM: std::ops::Range<usize> = 17..21;
/// Where what the checksum covers begins.
const CHECKSUMMED_FROM: usize = 21;
/// Bytes of the mark in the first record: partition and number.
const MARK_BYTES: usize = 12;

/// What is to be filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    pub(super) topic: &'static str,
    pub(super) partitions: i32,
    pub(super) shape: BatchShape,
    /// Bytes of batches, rounded up to whole rounds over the partitions.
    pub(super) bytes: u64,
}

impl Filling {
    /// Sends everything; answers what each partition has acknowledged.
    pub(super) fn run(self, address: &str) -> Result<Vec<Digest>> {
        ensure!(self.partitions > 0, "one partition at least");
        ensure!(self.shape.value_bytes >= MARK_BYTES, "records of {MARK_BYTES} bytes at least");
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|connection| {
                let own: Vec<i32> = (0..self.partitions).skip(connection).step_by(CONNECTIONS).collect();
                let address = address.to_owned();
                thread::spawn(move || {
                    let digests = Filler::open(&address, self, own.clone())?.run()?;
                    Ok(own.into_iter().zip(digests).collect::<Vec<_>>())
                })
            })
            .collect();
        let mut digests = vec![Digest::default(); self.partitions as usize];
        for thread in threads {
            let filled: Result<_> = thread.join().map_err(|_| anyhow!("a filling thread panicked"))?;
            for (partition, digest) in filled? {
                digests[partition as usize] = digest;
            }
        }
        Ok(digests)
    }
}

/// One connection.
struct Filler {
    filling: Filling,
    stream: TcpStream,
    partitions: Vec<i32>,
    pool: Vec<Bytes>,
    mark_at: usize,
    outgoing: Outgoing,
    incoming: Incoming,
    unanswered: VecDeque<(i32, usize, u32)>,
    digests: Vec<Digest>,
    next_offsets: Vec<i64>,
}

impl Filler {
    fn open(address: &str, filling: Filling, partitions: Vec<i32>) -> Result<Self> {
        let pool = filling.shape.pool()?;
        Ok(Self {
            filling,
            stream: connect(address)?,
            mark_at: first_value(&pool[0])?,
            pool,
            outgoing: Outgoing::default(),
            incoming: Incoming::new(),
            unanswered: VecDeque::new(),
            digests: vec![Digest::default(); partitions.len()],
            next_offsets: vec![0; partitions.len()],
            partitions,
        })
    }

    fn run(mut self) -> Result<Vec<Digest>> {
        let batch_bytes = self.pool[0].len() as u64;
        let rounds = self.filling.bytes.div_ceil(batch_bytes * self.filling.partitions.unsigned_abs() as u64);
        let requests = rounds * self.partitions.len() as u64;
        let mut sent = 0;
        while sent < requests || !self.unanswered.is_empty() {
            while sent < requests && self.unanswered.len() < IN_FLIGHT {
                self.enqueue(sent)?;
                sent += 1;
            }
            self.outgoing.send(&self.stream)?;
            if self.outgoing.is_empty() {
                self.incoming.receive(&self.stream, true)?;
            } else if socket::wait(&self.stream, true, None)? {
                self.incoming.receive(&self.stream, false)?;
            }
            self.take_answers()?;
        }
        Ok(self.digests)
    }

    fn enqueue(&mut self, request: u64) -> Result<()> {
        let slot = (request % self.partitions.len() as u64) as usize;
        let number = request / self.partitions.len() as u64;
        let partition = self.partitions[slot];
        let pattern = &self.pool[(number % self.pool.len() as u64) as usize];
        let (batch, checksum) = marked(pattern, self.mark_at, partition, number);
        let correlation_id = (request & 0x7fff_ffff) as i32;
        let frame = ProduceFrame::new(self.filling.topic, partition, -1, &batch)?;
        self.outgoing.extend(frame.parts(correlation_id));
        self.unanswered.push_back((correlation_id, slot, checksum));
        Ok(())
    }

    fn take_answers(&mut self) -> Result<()> {
        let records = self.filling.shape.records;
        while let Some(frame) = self.incoming.next_frame() {
            let answer = ProduceAnswer::parse(frame, self.filling.topic).context("an answer that is too short")?;
            let (correlation_id, slot, checksum) = self.unanswered.pop_front().context("an answer too many")?;
            let partition = self.partitions[slot];
            ensure!(answer.correlation_id == correlation_id, "answers came out of order");
            ensure!(answer.error_code == 0, "partition {partition}: {}", error_name(answer.error_code));
            let expected = self.next_offsets[slot];
            ensure!(
                answer.base_offset == expected,
                "partition {partition}: offset {} in place of {expected}",
                answer.base_offset
            );
            self.next_offsets[slot] += i64::from(records);
            self.digests[slot].add(records, self.pool[0].len(), checksum);
        }
        Ok(())
    }
}

/// Where the first record's value begins.
fn first_value(batch: &Bytes) -> Result<usize> {
    let (_, records) = pillion_wire::records::read_batch(batch)?;
    let value = records.first().and_then(|record| record.value.as_ref()).context("a batch without a value")?;
    // The value is a slice of the batch.
    Ok(value.as_ptr().addr() - batch.as_ptr().addr())
}

/// The batch with its partition and number in it, and its new checksum.
fn marked(pattern: &Bytes, at: usize, partition: i32, number: u64) -> (Bytes, u32) {
    let mut batch = BytesMut::from(&pattern[..]);
    batch[at..at + 4].copy_from_slice(&partition.to_be_bytes());
    batch[at + 4..at + MARK_BYTES].copy_from_slice(&number.to_be_bytes());
    let checksum = crc32c::crc32c(&batch[CHECKSUMMED_FROM..]);
    batch[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    (batch.freeze(), checksum)
}

#[cfg(test)]
mod tests;
