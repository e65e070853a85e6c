//! Produce: batches made beforehand, a bounded number of requests in flight on each of some connections.
//!
//! One thread a connection. With a rate the load is open: a request is due at its time whatever came before, and its
//! latency counts from then. Invariant: nothing is reported unless every answer was free of errors, base offsets rose,
//! and the end offsets grew by exactly what was sent.

mod pipeline;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use self::pipeline::{Bound, Pipeline};
use super::Target;
use crate::batch::{BatchShape, ProduceFrame};
use crate::connection::{ANSWER_WAIT_MAX, Connection};
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::{Meter, Process};
use crate::socket;

/// Append batches at full speed or at a rate
#[derive(Debug, Clone, Args)]
pub(crate) struct ProduceLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The topic
    #[arg(long, default_value = "bench")]
    pub(crate) topic: String,
    /// Create the topic first
    #[arg(long)]
    pub(crate) create: bool,
    /// Partitions of the topic
    #[arg(long, default_value_t = 1)]
    pub(crate) partitions: i32,
    /// Bytes of a record's value
    #[arg(long, default_value_t = 1024, value_name = "BYTES")]
    pub(crate) record_size: usize,
    /// Records a batch; a request carries one batch
    #[arg(long, default_value_t = 100)]
    pub(crate) batch_records: u32,
    /// Requests in flight a connection
    #[arg(long, default_value_t = 5)]
    pub(crate) in_flight: usize,
    /// Connections
    #[arg(long, default_value_t = 1)]
    pub(crate) connections: usize,
    /// -1 (all), 1 or 0
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    pub(crate) acks: i16,
    /// Stop after so many records
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) records: u64,
    /// Stop after so many seconds, if that is earlier
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Records sent before, which are not measured
    #[arg(long, default_value_t = 0)]
    pub(crate) warmup: u64,
    /// Records a second; 0 for as many as go
    #[arg(long, default_value_t = 0.0)]
    pub(crate) rate: f64,
}

/// What one connection did.
#[derive(Debug)]
struct Done {
    requests: u64,
    warmup_requests: u64,
    latencies: Latencies,
    /// Open until the meter is read: the time of a thread that a broker gives each connection is lost with it.
    _connection: Connection,
}

impl ProduceLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        ensure!(self.connections > 0 && self.in_flight > 0 && self.partitions > 0, "one of each at least");
        ensure!(self.topic.len() <= 126, "a topic's name of up to 126 bytes");
        let mut admin = Connection::open(&self.target.bootstrap)?;
        admin.greet()?;
        if self.create {
            admin.create_topic(&self.topic, self.partitions, &[])?;
        }
        let ends_before: i64 = admin.end_offsets(&self.topic, self.partitions)?.iter().sum();
        let shape = BatchShape { records: self.batch_records, value_bytes: self.record_size };
        let batches = shape.pool()?;
        let batch_bytes = batches[0].len() as u64;
        let pipelines = (0..self.connections).map(|connection| {
            let partitions = self.partitions_of(connection);
            let frames = partitions.iter().map(|partition| {
                batches.iter().map(|batch| ProduceFrame::new(&self.topic, *partition, self.acks, batch)).collect()
            });
            Pipeline::open(&self.target.bootstrap, self, partitions.clone(), frames.collect::<Result<_>>()?)
        });
        let (done, meter) = self.measure(pipelines.collect::<Result<_>>()?)?;
        let used = meter.read()?;
        let requests: u64 = done.iter().map(|done| done.requests).sum();
        let sent = requests + done.iter().map(|done| done.warmup_requests).sum::<u64>();
        self.check_growth(&mut admin, ends_before, sent * u64::from(self.batch_records))?;

        let records = requests * u64::from(self.batch_records);
        let mut figures = Figures::default();
        figures.add("records", records as f64);
        figures.add("records_per_s", records as f64 / used.time.as_secs_f64());
        figures.add("requests_per_s", requests as f64 / used.time.as_secs_f64());
        figures.add_used(used, requests * batch_bytes, requests);
        let mut latencies = Latencies::default();
        done.into_iter().for_each(|done| latencies.extend(done.latencies));
        figures.add_latencies("ack", latencies);
        if let Some(server) = self.target.process() {
            figures.add("peak_resident_mb", server.peak_resident_bytes()? as f64 / 1e6);
        }
        Ok(figures)
    }

    /// Holds the end offsets against what was sent. What was not acknowledged by all may become visible later.
    fn check_growth(&self, admin: &mut Connection, ends_before: i64, sent: u64) -> Result<()> {
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            let grown = admin.end_offsets(&self.topic, self.partitions)?.iter().sum::<i64>() - ends_before;
            if grown == sent as i64 {
                return Ok(());
            }
            let is_late = self.acks == -1 || grown > sent as i64 || Instant::now() > deadline;
            ensure!(!is_late, "the end offsets grew by {grown}, but {sent} records were sent");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs every pipeline in a thread of its own; the meter begins when all are warm.
    fn measure(&self, pipelines: Vec<Pipeline>) -> Result<(Vec<Done>, Meter)> {
        let count = pipelines.len() as u64;
        let share = |records: u64| records.div_ceil(u64::from(self.batch_records)).div_ceil(count);
        let warmup = Bound { requests: share(self.warmup), time: Duration::MAX, interval: None };
        let interval = (self.rate > 0.0)
            .then(|| Duration::from_secs_f64(f64::from(self.batch_records) * count as f64 / self.rate));
        let bound = Bound { requests: share(self.records), time: Duration::from_secs_f64(self.seconds), interval };
        // Twice: all are warm; the meter runs.
        let gate = Arc::new(Barrier::new(pipelines.len() + 1));
        let threads: Vec<_> = pipelines
            .into_iter()
            .enumerate()
            .map(|(index, mut pipeline)| {
                let gate = Arc::clone(&gate);
                let phase = interval.map_or(Duration::ZERO, |interval| interval.mul_f64(index as f64 / count as f64));
                thread::spawn(move || {
                    socket::sharpen_timers();
                    let warm = pipeline.run(warmup, Duration::ZERO);
                    gate.wait();
                    gate.wait();
                    let (warmup_requests, _) = warm?;
                    let (requests, latencies) = pipeline.run(bound, phase)?;
                    Ok(Done { requests, warmup_requests, latencies, _connection: pipeline.finish()? })
                })
            })
            .collect();
        gate.wait();
        self.target.process().inspect(|server| Process::reset_peak(*server));
        let meter = Meter::start(self.target.process());
        gate.wait();
        let done = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(_) => Err(anyhow!("a sending thread panicked")),
        });
        let done = done.collect::<Result<_>>().with_context(|| format!("producing to {}", self.topic))?;
        Ok((done, meter?))
    }

    /// Partitions are dealt out to the connections; with more connections than partitions they are shared.
    fn partitions_of(&self, connection: usize) -> Vec<i32> {
        let own: Vec<i32> = (0..self.partitions).skip(connection).step_by(self.connections).collect();
        if own.is_empty() { vec![connection as i32 % self.partitions] } else { own }
    }
}
