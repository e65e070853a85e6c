//! `pillion bench`: a first impression of a cluster's speed, measured as a client sees it.
//!
//! It is no replacement for the benchmarks in `bench/`, which measure what a broker costs: here the client's own work is
//! part of every figure. Topics are made for a measurement and deleted behind it.

mod fetch;
mod figures;
mod outbox;
mod produce;
mod round_trip;
mod topic;

use anyhow::Result;
use clap::{Args, Subcommand};
use pillion_client::{Client, ProducerConfig};

use super::flags::ClusterFlags;
use super::process::{self, Kind};
use super::produce::{AcksFlag, Codec};

pub(super) use figures::Figures;

/// Measure produce, fetch, round trips and an outbox's way, against any Kafka cluster
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion bench produce --records 1000000 --size 1024
  pillion bench fetch -b kafka-1:9092
  pillion bench round-trip --records 1000
  pillion bench outbox --postgres URL                a connector must be running for it
  pillion bench produce --acks 1 -z zstd --json

The client runs in this process and shares the machine's cores with a broker beside it.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Produce(Produce),
    Fetch(Fetch),
    RoundTrip(RoundTrip),
    Outbox(outbox::Outbox),
}

/// What every measurement takes.
#[derive(Debug, Clone, Args)]
struct Load {
    /// Bytes of a record's value
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    size: u32,
    /// Partitions of the topic
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=1_000))]
    partitions: i32,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
}

/// Send records as fast as they are taken
#[derive(Debug, Args)]
struct Produce {
    /// How many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,
    /// What counts as delivered
    #[arg(long, value_enum, default_value = "all")]
    acks: AcksFlag,
    /// Compress batches; values are random letters, which compress a little
    #[arg(short = 'z', long, value_enum, default_value = "none")]
    compression: Codec,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Read records back as fast as they come
#[derive(Debug, Args)]
struct Fetch {
    /// How many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Send a record and wait until a consumer has it, one after another
#[derive(Debug, Args)]
struct RoundTrip {
    /// How many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,
    /// What counts as delivered
    #[arg(long, value_enum, default_value = "all")]
    acks: AcksFlag,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::Produce(arguments) => process::run(Kind::Tool, arguments.measure()),
            Command::Fetch(arguments) => process::run(Kind::Tool, arguments.measure()),
            Command::RoundTrip(arguments) => process::run(Kind::Tool, arguments.measure()),
            Command::Outbox(arguments) => arguments.execute(),
        }
    }
}

impl Produce {
    async fn measure(self) -> Result<()> {
        let config = ProducerConfig {
            acks: self.acks.into(),
            compression: self.compression.into(),
            ..ProducerConfig::default()
        };
        let client = self.cluster.connect().await?;
        let figures = topic::with(&client, self.load.partitions, async |client, topic| {
            produce::measure(client, topic, self.records, self.load.size, config).await
        });
        report(client.clone(), figures.await, self.load.json).await
    }
}

impl Fetch {
    async fn measure(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let figures = topic::with(&client, self.load.partitions, async |client, topic| {
            produce::measure(client, topic, self.records, self.load.size, ProducerConfig::default()).await?;
            fetch::measure(client, topic, self.records, self.load.size).await
        });
        report(client.clone(), figures.await, self.load.json).await
    }
}

impl RoundTrip {
    async fn measure(self) -> Result<()> {
        let config = ProducerConfig { acks: self.acks.into(), ..ProducerConfig::default() };
        let client = self.cluster.connect().await?;
        let figures = topic::with(&client, self.load.partitions, async |client, topic| {
            round_trip::measure(client, topic, self.records, self.load.size, config).await
        });
        report(client.clone(), figures.await, self.load.json).await
    }
}

async fn report(client: Client, figures: Result<Figures>, is_json: bool) -> Result<()> {
    client.shutdown().await;
    figures?.write(is_json)
}
