//! `make bench`: every row of the broker's goals, ours and Apache Kafka's in one run, and what the machine could do.
//!
//! One broker runs at a time, alone. A round starts each side once for each durability; sides alternate and change
//! places from round to round; figures are medians over the rounds. Every measurement is also a JSON line in a file.

pub(crate) mod goal;
mod names;
mod phase;
mod plan;
pub(crate) mod results;
mod rows;
mod scale;
pub(crate) mod table;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use self::phase::Phase;
use self::plan::Plan;
use self::results::{Results, Side};
use self::scale::Scale;
use crate::children::OwnFolder;
use crate::figures::{Figures, number};
use crate::limits::Limits;
use crate::load::partitions::PartitionsLoad;
use crate::server::{Durability, Kafka, Program};
use crate::start;

/// Measure our broker, and Apache Kafka beside it when KAFKA_HOME or KAFKA_CLASSPATH is set
#[derive(Debug, Clone, Args)]
pub(crate) struct Suite {
    /// One round of short loads
    #[arg(long)]
    quick: bool,
    /// Rounds [default: 3, with --quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Only loads whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Our broker's binary [default: beside this program]
    #[arg(long)]
    pillion: Option<PathBuf>,
    /// Where data goes, in folders that are removed afterwards, and the JSON lines
    #[arg(long, default_value = "target/bench")]
    directory: PathBuf,
}

impl Suite {
    /// Runs everything and prints the table.
    pub(crate) fn run(&self) -> Result<()> {
        let begun = Instant::now();
        let pillion = Program::pillion(self.pillion.as_deref())?;
        let kafka = Kafka::from_environment()?.map(Program::Kafka);
        if kafka.is_none() {
            eprintln!("Apache Kafka is not measured: set KAFKA_HOME to an unpacked download to have it beside ours.");
        }
        let scale = if self.quick { Scale::quick() } else { Scale::full() };
        let rounds = self.rounds.unwrap_or(if self.quick { 1 } else { 3 });
        fs::create_dir_all(&self.directory)?;
        let mut results = Results::to_file(&self.directory.join("bench.jsonl"))?;
        let steal = StealClock::start();

        let limits = Limits { directory: self.directory.clone(), seconds: scale.limit_seconds };
        for round in 1..=rounds {
            eprintln!("round {round}: limits of this machine");
            results.add(round, Side::Machine, "limits", limits.run()?)?;
            self.null(round, &scale, &mut results)?;
            for phase in Phase::ALL {
                let mut sides = vec![(Side::Pillion, &pillion)];
                sides.extend(kafka.as_ref().map(|kafka| (Side::Kafka, kafka)));
                if round % 2 == 0 {
                    sides.reverse();
                }
                for (side, program) in sides {
                    self.side(round, side, program, phase, &scale, &mut results)?;
                }
            }
            if let Some(count) = scale.many_partitions.filter(|_| self.wants(names::MANY_PARTITIONS)) {
                eprintln!("round {round}: pillion, {count} partitions");
                results.add(round, Side::Pillion, names::MANY_PARTITIONS, self.many_partitions(&pillion, count)?)?;
            }
        }
        if let Program::Pillion(binary) = &pillion {
            let mut figures = Figures::default();
            figures.add("binary_mb", fs::metadata(binary)?.len() as f64 / 1e6);
            results.add(0, Side::Pillion, names::BINARY, figures)?;
        }
        println!("{}", machine(&results, steal.percent()));
        println!("{}", table::render(&rows::rows(&scale), &results));
        println!("{}", rows::FOOTNOTES);
        let (seconds, lines) = (begun.elapsed().as_secs(), results.path().display());
        println!("Rounds: {rounds}, medians are shown. It took {seconds} s. Every measurement: {lines}");
        Ok(())
    }

    fn wants(&self, load: &str) -> bool {
        load.contains(&self.only)
    }

    /// The loads of one phase against one side.
    fn side(
        &self,
        round: usize,
        side: Side,
        program: &Program,
        phase: Phase,
        scale: &Scale,
        results: &mut Results,
    ) -> Result<()> {
        let mut plan = Plan::of(phase, scale);
        plan.retain(|load| self.wants(load));
        let wants_start = phase == Phase::Written && self.wants(names::START);
        if plan.is_empty() && !wants_start {
            return Ok(());
        }
        eprintln!("round {round}: {}, {}", program.name(), phase.name());
        let folder = OwnFolder::data(&self.directory, program.name())?;
        let mut server = program.start_with(folder.path(), phase.durability(), phase.settings(), |command| command)?;
        if wants_start {
            results.add(round, side, names::START, start::look(&server, scale.idle_seconds)?)?;
        }
        plan.run(&server, |load, figures| results.add(round, side, load, figures)).or_else(|error| {
            server.check_running()?;
            Err(error)
        })?;
        if phase != Phase::Groups {
            let mut figures = Figures::default();
            figures.add("peak_resident_mb", plan.peak_resident_mb());
            results.add(round, side, &names::peak(phase.durability()), figures)?;
        }
        server.stop()
    }

    /// The loads that are held against the null broker.
    fn null(&self, round: usize, scale: &Scale, results: &mut Results) -> Result<()> {
        let mut plan = Plan::of_null(scale);
        plan.retain(|load| self.wants(load));
        if plan.is_empty() {
            return Ok(());
        }
        eprintln!("round {round}: the null broker");
        let folder = OwnFolder::data(&self.directory, "null")?;
        let program = Program::Null(std::env::current_exe()?);
        let server = program.start(folder.path(), Durability::Written, |command| command)?;
        plan.run(&server, |load, figures| results.add(round, Side::Null, load, figures))?;
        server.stop()
    }

    /// Many partitions: made, then after a clean stop, then after SIGKILL.
    fn many_partitions(&self, program: &Program, count: u32) -> Result<Figures> {
        let folder = OwnFolder::data(&self.directory, "many")?;
        let start = || program.start(folder.path(), Durability::Synced, |command| command);
        let server = start()?;
        let load = PartitionsLoad { target: server.target(), topic_prefix: "many-".to_owned(), count };
        let mut figures = load.run()?;
        server.stop()?;
        for (name, kill) in [("restart_s", true), ("restart_after_kill_s", false)] {
            let server = start()?;
            figures.add(name, server.started_in.as_secs_f64());
            load.check(&mut crate::connection::Connection::open(server.address())?).context(name)?;
            if kill { server.kill()? } else { server.stop()? }
        }
        Ok(figures)
    }
}

/// What the machine could do in the same run.
fn machine(results: &Results, steal_percent: Option<f64>) -> String {
    let limit = |name: &str| results.median(Side::Machine, "limits", name).map_or_else(|| "–".to_owned(), number);
    let null = |load: &str, name: &str| results.median(Side::Null, load, name).map_or_else(|| "–".to_owned(), number);
    let (batches, single) = (names::null_batches(), names::single_record(Durability::Written, names::KIB));
    let steal = steal_percent.map_or_else(String::new, |percent| {
        format!("\n- the host took {} % of the processors' time away during the run", number(percent))
    });
    format!(
        "Limits of this machine, same run (MB and GB are powers of ten, KiB of two):
- fdatasync after an append of 4 KiB: p50 {} µs, over fallocated blocks {} µs; appends of 100 KiB, each synced: {} MB/s, over fallocated blocks {} MB/s, of 4 MiB {} MB/s
- append of 100 KiB with CRC-32C to the page cache: {} MB/s, {} CPU s/GB; CRC-32C alone {} MB/s
- loopback, 128 KiB a write: {} MB/s, {} + {} CPU s/GB; 1 KiB asked and 100 B answered between two threads: p50 {} µs
- null broker: {} records/s in batches of 100 × 1 KiB, {} CPU s/GB; one record of 1 KiB a request: p50 {} µs, {} CPU µs each{steal}
",
        limit("fdatasync_4_kib_append_p50_us"),
        limit("fdatasync_4_kib_fallocated_p50_us"),
        limit("fdatasync_100_kib_append_mb_per_s"),
        limit("fdatasync_100_kib_fallocated_mb_per_s"),
        limit("fdatasync_4_mib_fallocated_mb_per_s"),
        limit("append_crc_100_kib_mb_per_s"),
        limit("append_crc_100_kib_cpu_s_per_gb"),
        limit("crc_100_kib_mb_per_s"),
        limit("loopback_128_kib_mb_per_s"),
        limit("loopback_128_kib_send_cpu_s_per_gb"),
        limit("loopback_128_kib_receive_cpu_s_per_gb"),
        limit("request_answer_p50_us"),
        null(&batches, "records_per_s"),
        null(&batches, "cpu_s_per_gb"),
        null(&single, "ack_p50_us"),
        null(&single, "cpu_us_each"),
    )
}

/// How much of the processors' time a virtual machine's host took away.
pub(crate) struct StealClock {
    begun: Option<(u64, u64)>,
}

impl StealClock {
    /// Starts.
    pub(crate) fn start() -> Self {
        Self { begun: Self::read() }
    }

    /// Stolen ticks and all ticks.
    fn read() -> Option<(u64, u64)> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let ticks: Vec<u64> =
            stat.lines().next()?.split_whitespace().skip(1).filter_map(|tick| tick.parse().ok()).collect();
        Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
    }

    /// Per cent of all time since, where the kernel tells.
    pub(crate) fn percent(&self) -> Option<f64> {
        let ((stolen_before, all_before), (stolen, all)) = (self.begun?, Self::read()?);
        Some(100.0 * (stolen - stolen_before) as f64 / (all - all_before).max(1) as f64)
    }
}
