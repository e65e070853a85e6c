//! Roundtrip: the way of one record from its sending to its sight by a long poll, one record at a time.
//!
//! One thread has both connections, so that no hand-over of the load generator's own is measured. Paced, a record's
//! time counts from when it was due.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::Target;
use super::fetch_stream::{FetchLimits, FetchStream};
use crate::batch::{BatchShape, ProduceAnswer, ProduceFrame};
use crate::connection::{Connection, connect, error_name};
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::Meter;
use crate::socket::{self, Incoming, Outgoing};

/// How long one long poll waits; it is repeated until the record comes.
const LIMITS: FetchLimits = FetchLimits { bytes_max: 1 << 20, partition_bytes_max: 1 << 20, wait_ms_max: 1_000 };

/// Time one record after the other, from its sending to a long poll's answer
#[derive(Debug, Clone, Args)]
pub(crate) struct RoundtripLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The topic; its partition 0 is used
    #[arg(long, default_value = "bench-roundtrip")]
    pub(crate) topic: String,
    /// Create the topic first
    #[arg(long)]
    pub(crate) create: bool,
    /// Bytes of a record's value
    #[arg(long, default_value_t = 1024, value_name = "BYTES")]
    pub(crate) record_size: usize,
    /// Records
    #[arg(long, default_value_t = 5_000)]
    pub(crate) count: u64,
    /// Records sent before, which are not measured
    #[arg(long, default_value_t = 500)]
    pub(crate) warmup: u64,
    /// Records a second; 0 for one behind the other
    #[arg(long, default_value_t = 0.0)]
    pub(crate) rate: f64,
}

impl RoundtripLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        let mut admin = Connection::open(&self.target.bootstrap)?;
        admin.greet()?;
        if self.create {
            admin.create_topic(&self.topic, 1, &[])?;
        }
        socket::sharpen_timers();
        let mut way = RecordsWay::open(&self.target.bootstrap, &self.topic, self.record_size)?;
        for _ in 0..self.warmup {
            way.once(None)?;
        }
        let interval = (self.rate > 0.0).then(|| Duration::from_secs_f64(1.0 / self.rate));
        let mut ways = Latencies::default();
        let mut acks = Latencies::default();
        let meter = Meter::start(self.target.process())?;
        let begun = Instant::now();
        for record in 0..self.count {
            let due = interval.map(|interval| begun + interval.mul_f64(record as f64));
            let times = way.once(due)?;
            ways.record(times.seen);
            acks.record(times.acknowledged);
        }
        let used = meter.read()?;
        let mut figures = Figures::default();
        figures.add("records", self.count as f64);
        figures.add("records_per_s", self.count as f64 / used.time.as_secs_f64());
        figures.add_used(used, self.count * way.batch_bytes, self.count);
        figures.add_latencies("way", ways);
        figures.add_latencies("ack", acks);
        Ok(figures)
    }
}

/// A producer and a consumer of one partition.
#[derive(Debug)]
pub(crate) struct RecordsWay {
    topic: String,
    producer: TcpStream,
    incoming: Incoming,
    consumer: FetchStream,
    frame: ProduceFrame,
    batch_bytes: u64,
    correlation_id: i32,
    next_offset: i64,
}

/// Times of one record, from its sending or from when it was due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Until the consumer had it.
    pub(crate) seen: Duration,
    /// Until the producer was acknowledged.
    pub(crate) acknowledged: Duration,
}

impl RecordsWay {
    /// Connects; records go behind what partition 0 of the topic holds, with acks=all.
    pub(crate) fn open(address: &str, topic: &str, value_bytes: usize) -> Result<Self> {
        let next_offset = Connection::open(address)?.end_offsets(topic, 1)?[0];
        let batch = BatchShape { records: 1, value_bytes }.build()?;
        Ok(Self {
            topic: topic.to_owned(),
            producer: connect(address)?,
            incoming: Incoming::new(),
            consumer: FetchStream::open(address, topic, 64 << 10)?,
            frame: ProduceFrame::new(topic, 0, -1, &batch)?,
            batch_bytes: batch.len() as u64,
            correlation_id: 0,
            next_offset,
        })
    }

    /// One record's way: the poll is sent, then, once it is due, the record.
    pub(crate) fn once(&mut self, due: Option<Instant>) -> Result<Times> {
        self.consumer.ask(std::iter::once((0, self.next_offset)), LIMITS)?;
        if let Some(due) = due {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let since = due.unwrap_or_else(Instant::now);
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let mut outgoing = Outgoing::default();
        outgoing.extend(self.frame.parts(self.correlation_id));
        while !outgoing.is_empty() {
            outgoing.send(&self.producer)?;
        }
        while !self.take_record()? {
            self.consumer.ask(std::iter::once((0, self.next_offset)), LIMITS)?;
        }
        let seen = since.elapsed();
        self.take_acknowledgement()?;
        self.next_offset += 1;
        Ok(Times { seen, acknowledged: since.elapsed() })
    }

    /// Whether the answer holds the record; a poll whose time was up comes back empty.
    fn take_record(&mut self) -> Result<bool> {
        let next_offset = self.next_offset;
        let mut found = false;
        self.consumer.answer(|stream, part| {
            if part.records_bytes >= HEADER_BYTES {
                let header = BatchHeader::parse(stream.take(HEADER_BYTES)?)?;
                ensure!(header.base_offset == next_offset, "offset {} came, not {next_offset}", header.base_offset);
                found = true;
                return stream.copy_bytes(part.records_bytes - HEADER_BYTES);
            }
            stream.drop_bytes(part.records_bytes)
        })?;
        Ok(found)
    }

    fn take_acknowledgement(&mut self) -> Result<()> {
        loop {
            if let Some(frame) = self.incoming.next_frame() {
                let answer = ProduceAnswer::parse(frame, &self.topic).context("an answer that is too short")?;
                ensure!(answer.error_code == 0, "the record: {}", error_name(answer.error_code));
                ensure!(answer.base_offset == self.next_offset, "the record has offset {}", answer.base_offset);
                return Ok(());
            }
            self.incoming.receive(&self.producer, true)?;
        }
    }
}
