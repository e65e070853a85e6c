//! `make bench-cdc`: every row of the connector's goals in one run, each beside what Postgres' walsender does alone.
//!
//! One Postgres serves all. For every shape of backlog and every round each side drains a copy of the same replication
//! slot, sides alternating; then latencies, starts, restarts and kills. The sides: the walsender drained to nowhere, our
//! connector and broker, our connector in front of Apache Kafka, Debezium in front of Apache Kafka. Figures are medians
//! over the rounds; every measurement is also a JSON line in a file.

mod backlog;
mod consumer;
mod database;
mod drain;
mod goals;
mod kill;
mod latency;
mod life;
mod relay;
mod scale;
mod writers;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use self::backlog::Shape;
use self::database::Database;
use self::relay::Ways;
use self::scale::Scale;
use crate::figures::number;
use crate::server::{Kafka, Program};
use crate::suite::StealClock;
use crate::suite::results::{Results, Side};

/// What the connector is to promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Delivery {
    /// Each row once, by transactions.
    ExactlyOnce,
    /// Each row, perhaps more than once.
    AtLeastOnce,
}

impl Delivery {
    /// As the option `delivery` has it.
    fn name(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "exactly-once",
            Self::AtLeastOnce => "at-least-once",
        }
    }
}

/// Measure the outbox connector, beside Apache Kafka and Debezium when KAFKA_HOME (or KAFKA_CLASSPATH) and DEBEZIUM are set
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
DEBEZIUM is a program that runs Debezium's engine with the outbox event router and a Kafka sink
when it is called as
  DEBEZIUM run --pg URL --bootstrap HOST:PORT --slot SLOT --offsets FILE
PILLION_POSTGRES_BINARIES names the folder of another Postgres than the newest installed one.")]
pub(crate) struct CdcSuite {
    /// One round of small backlogs
    #[arg(long)]
    quick: bool,
    /// Rounds [default: 3, with --quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Only loads whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// What our connector promises
    #[arg(long, value_enum, default_value = "exactly-once")]
    delivery: Delivery,
    /// Our binary [default: beside this program]
    #[arg(long)]
    pillion: Option<PathBuf>,
    /// Where brokers' data and the JSON lines go; Postgres' data is where temporary files are
    #[arg(long, default_value = "target/bench")]
    directory: PathBuf,
}

impl CdcSuite {
    /// Runs everything and prints the table.
    pub(crate) fn run(&self) -> Result<()> {
        let begun = Instant::now();
        let steal = StealClock::start();
        let scale = if self.quick { Scale::quick() } else { Scale::full() };
        let rounds = self.rounds.unwrap_or(if self.quick { 1 } else { 3 });
        ensure!(rounds > 0, "one round at least");
        fs::create_dir_all(&self.directory)?;
        let ways = self.ways()?;
        let mut results = Results::to_file(&self.directory.join("bench-cdc.jsonl"))?;
        let mut database = Database::start()?;

        for shape in Shape::ALL.into_iter().filter(|shape| self.wants(shape.name())) {
            self.drains(&mut database, &ways, shape, (rounds, &scale), &mut results)?;
        }
        for round in 1..=rounds {
            for side in in_turn(round, ways.connectors()) {
                self.paced(round, side, &mut database, &ways, &scale, &mut results)?;
            }
        }
        let delivery = self.delivery.name();
        println!("{}, our connector: delivery={delivery}", database.version()?);
        if let Some(percent) = steal.percent() {
            println!("the host took {} % of the processors' time away during the run", number(percent));
        }
        println!("\n{}\n{}", goals::table(&results), goals::FOOTNOTES);
        let (seconds, lines) = (begun.elapsed().as_secs(), results.path().display());
        println!("Rounds: {rounds}, medians are shown. It took {seconds} s. Every measurement: {lines}");
        Ok(())
    }

    fn ways(&self) -> Result<Ways> {
        let kafka = Kafka::from_environment()?.map(Program::Kafka);
        let debezium = std::env::var_os("DEBEZIUM").filter(|program| !program.is_empty()).map(PathBuf::from);
        if kafka.is_none() {
            eprintln!("Apache Kafka is not measured: set KAFKA_HOME to an unpacked download to have it beside ours.");
        }
        Ways::new(self.directory.clone(), Program::pillion(self.pillion.as_deref())?, kafka, debezium, self.delivery)
    }

    fn wants(&self, load: &str) -> bool {
        load.contains(&self.only)
    }

    /// One backlog, drained by every side in every round.
    fn drains(
        &self,
        database: &mut Database,
        ways: &Ways,
        shape: Shape,
        (rounds, scale): (usize, &Scale),
        results: &mut Results,
    ) -> Result<()> {
        eprintln!("{}: writing the backlog", shape.name());
        let backlog = backlog::write(database, shape, scale.backlog_rows)?;
        for round in 1..=rounds {
            let sides = [Side::Walsender].into_iter().chain(ways.connectors()).collect();
            for side in in_turn(round, sides) {
                eprintln!("round {round}: {}, {}", side.name(), shape.name());
                let figures = match side {
                    Side::Walsender => drain::to_nowhere(database, &backlog)?,
                    side => drain::to_consumer(database, ways, side, &backlog)?,
                };
                results.add(round, side, shape.name(), figures)?;
            }
        }
        backlog.remove(database)
    }

    /// What one side does with a steady load, at its start, when Postgres goes and when it is killed.
    fn paced(
        &self,
        round: usize,
        side: Side,
        database: &mut Database,
        ways: &Ways,
        scale: &Scale,
        results: &mut Results,
    ) -> Result<()> {
        if self.wants(latency::NAME) {
            for rate in latency::RATES {
                eprintln!("round {round}: {}, {rate} rows/s", side.name());
                let figures = latency::measure(database, ways, side, rate, scale)?;
                results.add(round, side, &latency::name(rate), figures)?;
            }
        }
        if self.wants(life::NAME) {
            eprintln!("round {round}: {}, start, idleness and a restart of Postgres", side.name());
            results.add(round, side, life::NAME, life::look(database, ways, side)?)?;
        }
        if self.wants(kill::NAME) {
            eprintln!("round {round}: {}, killed under load", side.name());
            results.add(round, side, kill::NAME, kill::count(database, ways, side, scale)?)?;
        }
        Ok(())
    }
}

/// The sides in an order that changes from round to round.
fn in_turn(round: usize, mut sides: Vec<Side>) -> Vec<Side> {
    if round.is_multiple_of(2) {
        sides.reverse();
    }
    sides
}
