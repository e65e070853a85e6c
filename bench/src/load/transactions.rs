//! Transactions: producers that each commit one small transaction behind the other.
//!
//! One thread a producer. Invariant: nothing is reported unless every answer was free of errors and the end offsets
//! grew by exactly what was sent and one marker a transaction.

mod producer;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use self::producer::{Producer, Protocol, Work};
use super::Target;
use crate::batch::BatchShape;
use crate::connection::{ANSWER_WAIT_MAX, Connection, raise_descriptors};
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::{Meter, Process};
use crate::socket;

/// Commit transactions, each of one batch
#[derive(Debug, Clone, Args)]
pub(crate) struct TransactionsLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The topic
    #[arg(long, default_value = "bench-transactions")]
    pub(crate) topic: String,
    /// Create the topic first
    #[arg(long)]
    pub(crate) create: bool,
    /// Partitions of the topic; each producer writes to one
    #[arg(long, default_value_t = 1)]
    pub(crate) partitions: i32,
    /// Producers at once, each on a connection of its own
    #[arg(long, default_value_t = 1)]
    pub(crate) producers: usize,
    /// Records a transaction, in one batch
    #[arg(long, default_value_t = 1)]
    pub(crate) records: u32,
    /// Bytes of a record's value
    #[arg(long, default_value_t = 1024, value_name = "BYTES")]
    pub(crate) record_size: usize,
    /// Add partitions before producing, as clients did before KIP-890
    #[arg(long)]
    pub(crate) older_protocol: bool,
    /// Stop after so many transactions
    #[arg(long, default_value_t = 5_000)]
    pub(crate) count: u64,
    /// Stop after so many seconds, if that is earlier
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Transactions before, which are not measured
    #[arg(long, default_value_t = 100)]
    pub(crate) warmup: u64,
}

/// What one producer did.
#[derive(Debug)]
struct Done {
    latencies: Latencies,
    warmup: u64,
    asked_again: u64,
    /// Open until the meter is read: the time of a thread that a broker gives each connection is lost with it.
    _producer: Producer,
}

impl TransactionsLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        ensure!(self.producers > 0 && self.records > 0 && self.partitions > 0, "one of each at least");
        raise_descriptors();
        let mut admin = Connection::open(&self.target.bootstrap)?;
        admin.greet()?;
        if self.create {
            admin.create_topic(&self.topic, self.partitions, &[])?;
        }
        let ends_before: i64 = admin.end_offsets(&self.topic, self.partitions)?.iter().sum();
        let producers = (0..self.producers).map(|number| Producer::open(&self.target.bootstrap, self.work(number)));
        let (done, meter) = self.measure(producers.collect::<Result<_>>()?)?;
        let used = meter.read()?;
        let transactions: u64 = done.iter().map(|done| done.latencies.count() as u64).sum();
        let sent = transactions + done.iter().map(|done| done.warmup).sum::<u64>();
        self.check_growth(&mut admin, ends_before, sent * u64::from(self.records + 1))?;

        let mut figures = Figures::default();
        figures.add("transactions", transactions as f64);
        figures.add("transactions_per_s", transactions as f64 / used.time.as_secs_f64());
        figures.add_cost(used, transactions);
        let asked_again: u64 = done.iter().map(|done| done.asked_again).sum();
        figures.add("asked_again_each", asked_again as f64 / transactions.max(1) as f64);
        let mut latencies = Latencies::default();
        done.into_iter().for_each(|done| latencies.extend(done.latencies));
        figures.add_latencies("transaction", latencies);
        if let Some(server) = self.target.process() {
            figures.add("peak_resident_mb", server.peak_resident_bytes()? as f64 / 1e6);
        }
        Ok(figures)
    }

    fn work(&self, number: usize) -> Work {
        Work {
            transactional_id: format!("{}-{number}", self.topic),
            topic: self.topic.clone(),
            partition: number as i32 % self.partitions,
            batch: BatchShape { records: self.records, value_bytes: self.record_size },
            protocol: if self.older_protocol { Protocol::First } else { Protocol::Second },
        }
    }

    /// Runs every producer in a thread of its own; the meter begins when all are warm.
    fn measure(&self, producers: Vec<Producer>) -> Result<(Vec<Done>, Meter)> {
        let share = |transactions: u64| transactions.div_ceil(producers.len() as u64);
        let (warmup, count, seconds) = (share(self.warmup), share(self.count), self.seconds);
        // Twice: all are warm; the meter runs.
        let gate = Arc::new(Barrier::new(producers.len() + 1));
        let threads: Vec<_> = producers
            .into_iter()
            .map(|mut producer| {
                let gate = Arc::clone(&gate);
                thread::spawn(move || {
                    socket::sharpen_timers();
                    let warm = run(&mut producer, warmup, Duration::MAX);
                    gate.wait();
                    gate.wait();
                    let warmup = warm?.count() as u64;
                    let asked_again = producer.asked_again();
                    let latencies = run(&mut producer, count, Duration::from_secs_f64(seconds))?;
                    let asked_again = producer.asked_again() - asked_again;
                    Ok(Done { latencies, warmup, asked_again, _producer: producer })
                })
            })
            .collect();
        gate.wait();
        self.target.process().inspect(|server| Process::reset_peak(*server));
        let meter = Meter::start(self.target.process());
        gate.wait();
        let done = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(_) => Err(anyhow!("a producer's thread panicked")),
        });
        let done = done.collect::<Result<_>>().with_context(|| format!("transactions on {}", self.topic))?;
        Ok((done, meter?))
    }

    /// Holds the end offsets against what was sent; the last markers may be written after they are answered for.
    fn check_growth(&self, admin: &mut Connection, ends_before: i64, sent: u64) -> Result<()> {
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            let grown = admin.end_offsets(&self.topic, self.partitions)?.iter().sum::<i64>() - ends_before;
            if grown == sent as i64 {
                return Ok(());
            }
            let is_wrong = grown > sent as i64 || Instant::now() > deadline;
            ensure!(!is_wrong, "the end offsets grew by {grown}, but {sent} records and markers were sent");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// So many transactions, or for so long.
fn run(producer: &mut Producer, count: u64, time: Duration) -> Result<Latencies> {
    let begun = Instant::now();
    let mut latencies = Latencies::default();
    for _ in 0..count {
        let since = Instant::now();
        if since - begun >= time {
            break;
        }
        producer.transaction()?;
        latencies.record(since.elapsed());
    }
    Ok(latencies)
}
