//! `pillion-bench`: a load generator for Kafka's protocol, and the benchmarks made with it.
//!
//! ```text
//! load::{produce, fetch, roundtrip, connections, partitions} ── one measurement over the wire ── figures
//! load::{commits, transactions, group::{start, rebalance, size}} ── the same of the coordinators
//! null                a broker that stores nothing: the generator's own ceiling
//! server              brokers under test: ours, Apache Kafka, the null broker ── children
//! suite, limits       `make bench`: rounds, medians, a table beside the goals
//! backlog             `make backlog`: a full log in little memory, read back and checked
//! cdc                 `make bench-cdc`: the outbox connector beside the walsender alone, Kafka and Debezium
//! zero_copy           `make bench-zero-copy`: which system calls move bytes best
//! ```
//!
//! Linux only: processes are measured through `/proc`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backlog;
mod batch;
mod cdc;
mod children;
mod connection;
mod coordinator;
mod figures;
mod latency;
mod limits;
mod load;
mod null;
mod process;
mod server;
mod socket;
mod start;
mod suite;
mod zero_copy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde_json::Value;

use crate::figures::Figures;

/// Load generator and benchmarks for brokers that speak Kafka's protocol
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct CommandLine {
    /// Print one JSON line in place of a list
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Produce(load::produce::ProduceLoad),
    Fetch(load::fetch::FetchLoad),
    Roundtrip(load::roundtrip::RoundtripLoad),
    Connections(load::connections::ConnectionsLoad),
    Partitions(load::partitions::PartitionsLoad),
    Commits(load::commits::CommitsLoad),
    Transactions(load::transactions::TransactionsLoad),
    GroupStart(load::group::start::GroupStartLoad),
    GroupRebalance(load::group::rebalance::GroupRebalanceLoad),
    GroupSize(load::group::size::GroupSizeLoad),
    Start(start::StartLoad),
    Null(null::NullBroker),
    Limits(limits::Limits),
    Suite(suite::Suite),
    Backlog(backlog::Backlog),
    Cdc(cdc::CdcSuite),
    ZeroCopy(zero_copy::ZeroCopy),
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    match run(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pillion-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: CommandLine) -> Result<()> {
    children::end_all_on_signals()?;
    let figures = match line.command {
        Command::Produce(load) => load.run(),
        Command::Fetch(load) => load.run(),
        Command::Roundtrip(load) => load.run(),
        Command::Connections(load) => load.run(),
        Command::Partitions(load) => load.run(),
        Command::Commits(load) => load.run(),
        Command::Transactions(load) => load.run(),
        Command::GroupStart(load) => load.run(),
        Command::GroupRebalance(load) => load.run(),
        Command::GroupSize(load) => load.run(),
        Command::Start(load) => load.run(),
        Command::Limits(limits) => limits.run(),
        Command::Null(broker) => return broker.run(),
        Command::Suite(suite) => return suite.run(),
        Command::Backlog(backlog) => return backlog.run(),
        Command::Cdc(suite) => return suite.run(),
        Command::ZeroCopy(bench) => return bench.run(),
    };
    print(&figures?, line.json);
    Ok(())
}

fn print(figures: &Figures, json: bool) {
    if json {
        println!("{}", Value::Object(figures.to_json()));
    } else {
        print!("{figures}");
    }
}
