//! `make backlog`: a topic is filled at full speed while nobody reads, the broker in little memory, then read back.
//!
//! A second connection sends one record after the other to a topic of its own during both, and times each to a long
//! poll's answer: that is what others feel. Invariant: success is told only when every partition gave back exactly the
//! batches it acknowledged, in number, content and order. Nothing but one batch a partition is ever in memory here.

mod control_group;
mod digest;
mod filling;
mod probe;
mod reading;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::control_group::ControlGroup;
use self::digest::Digest;
use self::filling::Filling;
use self::probe::{Felt, Probe};
use self::reading::Reading;
use crate::batch::BatchShape;
use crate::children::OwnFolder;
use crate::connection::Connection;
use crate::figures::number;
use crate::load::Target;
use crate::process::{Meter, Used};
use crate::server::{Durability, Program};
use crate::suite::table::aligned;

/// The topic that is filled.
const TOPIC: &str = "backlog";
/// Space on the disk that stays free beside the backlog, in bytes.
const SPARE_BYTES: u64 = 2 << 30;

/// Fill a log of many times the broker's memory with no consumer, then read it back and check it
#[derive(Debug, Clone, Args)]
pub(crate) struct Backlog {
    /// Bytes of record batches, as 18G, 512M
    #[arg(long, default_value = "18G", value_parser = bytes_of)]
    size: u64,
    /// The broker's memory with its page cache, in bytes
    #[arg(long, default_value = "2G", value_parser = bytes_of)]
    memory: u64,
    /// Partitions
    #[arg(long, default_value_t = 6)]
    partitions: i32,
    /// Bytes of a record's value
    #[arg(long, default_value_t = 1024, value_name = "BYTES")]
    record_size: usize,
    /// Records a batch
    #[arg(long, default_value_t = 100)]
    batch_records: u32,
    /// Acknowledge once written, not once synced (log.durability=async)
    #[arg(long)]
    written: bool,
    /// Records a second of the second connection
    #[arg(long, default_value_t = 200.0)]
    probe_rate: f64,
    /// A broker that runs already, in place of one of our own in little memory
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "pillion")]
    bootstrap: Option<String>,
    /// Our broker's binary [default: beside this program]
    #[arg(long)]
    pillion: Option<PathBuf>,
    /// Where the data goes, in a folder that is removed afterwards
    #[arg(long, default_value = "target/bench")]
    directory: PathBuf,
}

/// One of the two phases.
struct Phase {
    name: &'static str,
    digests: Vec<Digest>,
    used: Used,
    felt: Felt,
}

impl Backlog {
    /// Runs it; fails unless everything acknowledged was read.
    pub(crate) fn run(&self) -> Result<()> {
        let phases = match &self.bootstrap {
            Some(bootstrap) => {
                let target = Target { bootstrap: bootstrap.clone(), server_pid: None };
                let phases = self.phases(&target)?;
                println!("{}\n{}", table(&phases), self.conditions("a broker that was running"));
                phases
            }
            None => self.run_own()?,
        };
        digest::compare(&phases[0].digests, &phases[1].digests)
    }

    /// Runs it against a broker of our own, in a control group where that can be.
    fn run_own(&self) -> Result<[Phase; 2]> {
        let program = Program::pillion(self.pillion.as_deref())?;
        let folder = OwnFolder::data(&self.directory, "backlog")?;
        self.check_space(folder.path())?;
        let memory = number(self.memory as f64 / 1e6);
        let group = ControlGroup::new(self.memory);
        match &group {
            Ok(group) => eprintln!("the broker has {memory} MB with its page cache ({})", group.version()),
            Err(reason) => eprintln!("THE MEMORY LIMIT IS NOT APPLIED: {reason:#}"),
        }
        let durability = if self.written { Durability::Written } else { Durability::Synced };
        let wrap = |command: Command| match &group {
            Ok(group) => group.wrap(&command),
            Err(_) => command,
        };
        let mut server = program.start(folder.path(), durability, wrap)?;
        let phases = self.phases(&server.target()).or_else(|error| {
            server.check_running()?;
            Err(error)
        })?;
        let resident = number(server.process().peak_resident_bytes()? as f64 / 1e6);
        let limit = match &group {
            Ok(group) => {
                let peak = group.peak_bytes().map_or_else(|| "?".to_owned(), |bytes| number(bytes as f64 / 1e6));
                format!("at most {memory} MB with its page cache ({}), of which it used {peak} MB", group.version())
            }
            Err(_) => "NO MEMORY LIMIT APPLIED".to_owned(),
        };
        server.stop()?;
        let kind = if self.written { "written" } else { "synced" };
        let broker = format!("ours, {kind}, {limit}, {resident} MB of it resident");
        println!("{}\n{}", table(&phases), self.conditions(&broker));
        Ok(phases)
    }

    fn check_space(&self, folder: &Path) -> Result<()> {
        let disk = rustix::fs::statvfs(folder)?;
        let free = disk.f_bavail * disk.f_frsize;
        let needed = self.size + SPARE_BYTES;
        ensure!(
            free > needed,
            "{} MB are free in {}, {} MB are needed: make backlog SIZE=… takes less",
            number(free as f64 / 1e6),
            self.directory.display(),
            number(needed as f64 / 1e6)
        );
        Ok(())
    }

    fn phases(&self, target: &Target) -> Result<[Phase; 2]> {
        let address = &target.bootstrap;
        let mut admin = Connection::open(address)?;
        admin.greet()?;
        admin.create_topic(TOPIC, self.partitions, &[])?;
        let probe = Probe::start(address, self.probe_rate)?;
        let shape = BatchShape { records: self.batch_records, value_bytes: self.record_size };

        eprintln!("filling with {} MB", number(self.size as f64 / 1e6));
        let meter = Meter::start(target.process())?;
        let filling = Filling { topic: TOPIC, partitions: self.partitions, shape, bytes: self.size };
        let digests = filling.run(address).context("filling")?;
        let filled = Phase { name: "fill", digests, used: meter.read()?, felt: probe.take()? };

        eprintln!("reading back");
        let ends = admin.end_offsets(TOPIC, self.partitions)?;
        let meter = Meter::start(target.process())?;
        let digests = Reading { topic: TOPIC, ends }.run(address).context("reading back")?;
        let read = Phase { name: "read back", digests, used: meter.read()?, felt: probe.take()? };
        probe.stop()?;
        Ok([filled, read])
    }

    fn conditions(&self, broker: &str) -> String {
        format!(
            "{} partitions, batches of {} × {} B, acks=all. The broker: {broker}.\n\
             Second connection: one record of 100 B to a topic of its own, {} a second, from its sending to a long \
             poll's answer; records due while one is under way count with what is left of it.",
            self.partitions,
            self.batch_records,
            self.record_size,
            number(self.probe_rate),
        )
    }
}

fn table(phases: &[Phase; 2]) -> String {
    let head = [
        "phase",
        "records",
        "MB",
        "MB/s",
        "CPU s/GB",
        "second connection: records",
        "p50 ms",
        "p99 ms",
        "max ms",
        "stalls over 100 ms",
    ];
    let lines = phases.each_ref().map(|phase| {
        let records: u64 = phase.digests.iter().map(|digest| digest.records).sum();
        let bytes: u64 = phase.digests.iter().map(|digest| digest.bytes).sum();
        let cpu = phase.used.server_cpu.map(|cpu| number(cpu.as_secs_f64() / (bytes as f64 / 1e9)));
        let summary = phase.felt.latencies.clone().summary();
        [
            phase.name.to_owned(),
            number(records as f64),
            number(bytes as f64 / 1e6),
            number(bytes as f64 / 1e6 / phase.used.time.as_secs_f64()),
            cpu.unwrap_or_else(|| "–".to_owned()),
            number(phase.felt.latencies.count() as f64),
            number(summary.p50_us / 1e3),
            number(summary.p99_us / 1e3),
            number(summary.max_us / 1e3),
            number(phase.felt.stalls as f64),
        ]
    });
    aligned(&head.map(str::to_owned), &lines)
}

/// Bytes from text as `18G`, `512M`, `64K` (powers of two) or plain bytes.
fn bytes_of(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" | "KIB" => 1 << 10,
        "M" | "MIB" => 1 << 20,
        "G" | "GIB" => 1 << 30,
        _ => return Err("expected bytes, or a number with K, M or G".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected bytes, or a number with K, M or G".to_owned())?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(|| "out of range".to_owned())
}

#[cfg(test)]
mod tests;
