//! Fetch: reads a topic from its beginning, again and again, and drops what comes inside the kernel.
//!
//! Only the first batch of an answer is looked at: the topic must hold batches of one size, as the produce load writes
//! them, and every answer's first base offset shows whether it does.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::Target;
use super::fetch_stream::{FetchLimits, FetchStream, PartitionPart};
use crate::connection::Connection;
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::Meter;

/// Bytes read beyond the fields of an answer's front.
const READ_AHEAD: usize = 512;

/// Read a topic that the produce load has written
#[derive(Debug, Clone, Args)]
pub(crate) struct FetchLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The topic
    #[arg(long, default_value = "bench")]
    pub(crate) topic: String,
    /// Bytes an answer at most, of one partition too
    #[arg(long, default_value_t = 1 << 20, value_name = "BYTES")]
    pub(crate) max_bytes: usize,
    /// Connections; partitions are dealt out to them
    #[arg(long, default_value_t = 1)]
    pub(crate) connections: usize,
    /// Stop after so many records
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) records: u64,
    /// Stop after so many seconds, if that is earlier
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Copy records to user space, as a client does, in place of dropping them in the kernel
    #[arg(long)]
    pub(crate) copy: bool,
}

/// How far one partition has been read.
#[derive(Debug, Clone, Copy)]
struct Place {
    partition: i32,
    next_offset: i64,
    high_watermark: i64,
}

/// What was read.
#[derive(Debug, Default)]
struct Read {
    records: u64,
    bytes: u64,
    answers: u64,
    latencies: Latencies,
}

impl FetchLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        let mut admin = Connection::open(&self.target.bootstrap)?;
        admin.greet()?;
        let partitions = admin.partitions(&self.topic)?;
        let ends = admin.end_offsets(&self.topic, partitions)?;
        ensure!(ends.iter().all(|end| *end > 0), "{} has an empty partition: produce to it first", self.topic);
        ensure!(self.connections > 0, "one connection at least");
        let share = self.records.div_ceil(self.connections as u64);
        let meter = Meter::start(self.target.process())?;
        let threads: Vec<_> = (0..self.connections)
            .map(|connection| {
                let load = self.clone();
                let places = places(connection, self.connections, &ends);
                thread::spawn(move || load.read(places, share))
            })
            .collect();
        let mut all = Read::default();
        for thread in threads {
            let read = thread.join().map_err(|_| anyhow!("a fetching thread panicked"))?;
            let read = read.with_context(|| format!("fetching from {}", self.topic))?;
            all.records += read.records;
            all.bytes += read.bytes;
            all.answers += read.answers;
            all.latencies.extend(read.latencies);
        }
        let used = meter.read()?;
        let mut figures = Figures::default();
        figures.add("records", all.records as f64);
        figures.add("records_per_s", all.records as f64 / used.time.as_secs_f64());
        figures.add_used(used, all.bytes, all.answers);
        figures.add("bytes_an_answer", all.bytes as f64 / all.answers as f64);
        figures.add_latencies("fetch", all.latencies);
        if let Some(server) = self.target.process() {
            figures.add("peak_resident_mb", server.peak_resident_bytes()? as f64 / 1e6);
        }
        Ok(figures)
    }

    fn read(&self, mut places: Vec<Place>, records: u64) -> Result<Read> {
        let read_ahead = if self.copy { 256 << 10 } else { READ_AHEAD };
        let mut stream = FetchStream::open(&self.target.bootstrap, &self.topic, read_ahead)?;
        let limits = FetchLimits { bytes_max: self.max_bytes, partition_bytes_max: self.max_bytes, wait_ms_max: 500 };
        let begun = Instant::now();
        let time = Duration::from_secs_f64(self.seconds);
        let mut read = Read::default();
        while read.records < records && begun.elapsed() < time {
            for place in &mut places {
                if place.next_offset >= place.high_watermark {
                    place.next_offset = 0;
                }
            }
            let asked = Instant::now();
            stream.ask(places.iter().map(|place| (place.partition, place.next_offset)), limits)?;
            stream.answer(|stream, part| self.take(stream, part, &mut places, &mut read))?;
            read.latencies.record(asked.elapsed());
            read.answers += 1;
            // The next answer should not begin with a partition that this one left no room for.
            places.rotate_left(1);
        }
        Ok(read)
    }

    fn take(&self, stream: &mut FetchStream, part: PartitionPart, places: &mut [Place], read: &mut Read) -> Result<()> {
        let place = places.iter_mut().find(|place| place.partition == part.partition);
        let place = place.with_context(|| format!("partition {} was not asked for", part.partition))?;
        place.high_watermark = part.high_watermark;
        if part.records_bytes < HEADER_BYTES {
            return stream.drop_bytes(part.records_bytes);
        }
        let header = BatchHeader::parse(stream.take(HEADER_BYTES)?)?;
        ensure!(
            header.base_offset == place.next_offset,
            "partition {}: a batch at offset {} in place of {}: batches of one size are needed",
            part.partition,
            header.base_offset,
            place.next_offset
        );
        let batches = (part.records_bytes / header.size()) as i64;
        let records = batches * i64::from(header.record_count);
        place.next_offset += records;
        read.records += records as u64;
        read.bytes += part.records_bytes as u64;
        let rest = part.records_bytes - HEADER_BYTES;
        if self.copy { stream.copy_bytes(rest) } else { stream.drop_bytes(rest) }
    }
}

/// The partitions that one of so many connections reads; with more connections than partitions they are shared.
fn places(connection: usize, connections: usize, ends: &[i64]) -> Vec<Place> {
    let at = |partition: usize| Place { partition: partition as i32, next_offset: 0, high_watermark: ends[partition] };
    let own: Vec<Place> = (connection..ends.len()).step_by(connections).map(at).collect();
    if own.is_empty() { vec![at(connection % ends.len())] } else { own }
}
