//! The command line: one file per command.
//!
//! Each command's arguments are a clap struct whose `execute` does the work; what several commands share is in `flags`.
//! Exit codes: 0 done, 1 failed (the reason is on standard error), 2 the command line itself is wrong.

mod bench;
mod broker;
mod cdc;
mod config;
mod connectors;
mod consume;
mod dead_letter;
mod demo;
mod dev;
mod doctor;
mod duration;
mod flags;
mod generate;
mod group;
mod health;
mod log;
mod outbox;
mod process;
mod produce;
mod run;
mod security;
mod status;
mod text;
mod topic;
mod version;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Events from your Postgres to any Kafka client: a small Kafka-protocol broker and an outbox connector.
#[derive(Debug, Parser)]
#[command(
    name = "pillion",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
First steps:
  pillion demo                                 see all of it work; nothing needs to be installed
  pillion outbox init --postgres URL --apply   make outbox table, publication and slot
  pillion doctor --postgres URL                what is missing still, and how to mend it
  pillion run --postgres URL                   relay its events; the broker is on 127.0.0.1:9092
  pillion consume outbox.event.order           read them (so does any Kafka client)

Exit codes: 0 done, 1 failed (the reason is on standard error), 2 a mistake on the command line,
130 ended by a second Ctrl-C. NO_COLOR turns colour off; tables are coloured on terminals only.
Settings: --config FILE (TOML, or Kafka's server.properties) < environment PILLION_* < flags; `pillion config` lists all keys.
Logs go to standard error: PILLION_LOG sets the level (error, warn, info, debug), and
PILLION_LOG_FORMAT the form (human, json). Traces go to OTEL_EXPORTER_OTLP_ENDPOINT."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Broker(broker::Arguments),
    Cdc(cdc::Arguments),
    Dev(dev::Arguments),
    Demo(demo::Arguments),
    Outbox(outbox::Arguments),
    DeadLetter(dead_letter::Arguments),
    Doctor(doctor::Arguments),
    Health(health::Arguments),
    Topic(topic::Arguments),
    Group(group::Arguments),
    Produce(produce::Arguments),
    Consume(consume::Arguments),
    Log(log::Arguments),
    Status(status::Arguments),
    Config(Box<config::Arguments>),
    Bench(bench::Arguments),
    Version(version::Arguments),
    Generate(generate::Arguments),
}

impl CommandLine {
    /// Does what the command line asks; returns when it is done.
    pub(crate) fn execute(self) -> Result<()> {
        match self.command {
            Command::Run(arguments) => arguments.execute(),
            Command::Broker(arguments) => arguments.execute(),
            Command::Cdc(arguments) => arguments.execute(),
            Command::Dev(arguments) => arguments.execute(),
            Command::Demo(arguments) => arguments.execute(),
            Command::Outbox(arguments) => arguments.execute(),
            Command::DeadLetter(arguments) => arguments.execute(),
            Command::Doctor(arguments) => arguments.execute(),
            Command::Health(arguments) => arguments.execute(),
            Command::Topic(arguments) => arguments.execute(),
            Command::Group(arguments) => arguments.execute(),
            Command::Produce(arguments) => arguments.execute(),
            Command::Consume(arguments) => arguments.execute(),
            Command::Log(arguments) => arguments.execute(),
            Command::Status(arguments) => arguments.execute(),
            Command::Config(arguments) => arguments.execute(),
            Command::Bench(arguments) => arguments.execute(),
            Command::Version(arguments) => arguments.execute(),
            Command::Generate(arguments) => arguments.execute(),
        }
    }
}

#[cfg(test)]
mod tests;
