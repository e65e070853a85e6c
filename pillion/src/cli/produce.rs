//! `pillion produce`: lines, files or JSON objects become records.
//!
//! Reading is blocking and has a thread of its own; a bounded channel carries lines to the sender, and another bounded
//! one carries deliveries on their way to be awaited. Invariant: the exit code is 0 only when every record is
//! acknowledged.

mod input;
mod line;
mod pace;

use std::path::PathBuf;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use pillion_client::{Acks, Compression, DeliveryHandle, Header, ProducerConfig};
use tokio::sync::mpsc;

use self::input::Input;
use self::line::{Form, Template};
use self::pace::Pace;
use super::flags::ClusterFlags;
use super::process::{self, Kind};

/// Lines read ahead, and deliveries not looked at yet.
const READ_AHEAD: usize = 1_000;

/// Send each line of standard input, or each file, as a record
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo hello | pillion produce greetings
  pillion produce orders -K : <<< '42:{\"total\": 100}'       key 42, value {\"total\": 100}
  pillion produce orders -H source=import -z zstd < orders.jsonl
  pillion produce orders -k 42 order.json                   the whole file is one record
  pillion consume orders -e --json | pillion produce copy --json
  pillion produce orders --lines-from orders.jsonl --rate 100

Ends when its input does, after every record is acknowledged.")]
pub(super) struct Arguments {
    /// Topic to send to
    topic: String,
    /// Send each of these files as one record, in place of standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read lines from this file rather than standard input
    #[arg(short = 'l', long, value_name = "FILE", conflicts_with = "files")]
    lines_from: Option<PathBuf>,
    /// Split each line at the first of these: what is before is the key
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_separator: Option<String>,
    /// Key of every record
    #[arg(short, long, conflicts_with = "key_separator")]
    key: Option<String>,
    /// Header of every record; may be repeated. Without = its value is null
    #[arg(short = 'H', long = "header", value_name = "NAME[=VALUE]", value_parser = header)]
    headers: Vec<Header>,
    /// Send to this partition rather than by key
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Send an empty value as null (a tombstone on compacted topics)
    #[arg(short = 'Z', long)]
    null_empty: bool,
    /// Each line is a JSON object as `pillion consume --json` prints it; topic, partition and offset in it are left
    /// aside
    #[arg(short = 'J', long, conflicts_with_all = ["files", "key", "key_separator", "null_empty"])]
    json: bool,
    /// Send so many records a second at most
    #[arg(long, value_name = "PER SECOND", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Compress batches
    #[arg(short = 'z', long, value_enum, default_value = "none")]
    compression: Codec,
    /// What counts as delivered: synced to disk by all replicas in sync, written by the leader, or sent
    #[arg(long, value_enum, default_value = "all")]
    acks: AcksFlag,
    #[command(flatten)]
    cluster: ClusterFlags,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum AcksFlag {
    All,
    #[value(name = "1", alias = "leader")]
    Leader,
    #[value(name = "0", alias = "none")]
    None,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Tool, self.produce())
    }

    async fn produce(self) -> Result<()> {
        let template = self.template();
        let input = match (self.files, self.lines_from) {
            (files, _) if !files.is_empty() => Input::Files(files),
            (_, Some(path)) => Input::Lines(path),
            _ => Input::Standard,
        };
        let client = self.cluster.connect().await?;
        let producer = client.producer(ProducerConfig {
            compression: self.compression.into(),
            acks: self.acks.into(),
            ..ProducerConfig::default()
        });
        let (values_in, mut values) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || input.read(&values_in));
        let (deliveries_in, deliveries) = mpsc::channel(READ_AHEAD);
        let awaited = tokio::spawn(await_all(deliveries));
        let mut pace = self.rate.map(Pace::new);
        while let Some(value) = values.recv().await {
            let record = template.record(value?)?;
            if let Some(pace) = &mut pace {
                pace.wait().await;
            }
            let delivery = producer.send(record).await.context("cannot send")?;
            // The other end closes early only when a delivery failed, which `awaited` tells.
            if deliveries_in.send(delivery).await.is_err() {
                break;
            }
        }
        drop(deliveries_in);
        awaited.await.context("waiting for deliveries broke off")??;
        client.shutdown().await;
        Ok(())
    }

    fn template(&self) -> Template {
        let form = match (&self.key_separator, self.json) {
            (_, true) => Form::Json,
            (Some(separator), _) => Form::KeyAndValue(separator.clone()),
            _ => Form::Value,
        };
        Template {
            topic: self.topic.as_str().into(),
            partition: self.partition,
            key: self.key.clone().map(Bytes::from),
            headers: self.headers.clone(),
            null_empty: self.null_empty,
            form,
        }
    }
}

/// Awaits deliveries in order.
async fn await_all(mut deliveries: mpsc::Receiver<DeliveryHandle>) -> Result<()> {
    while let Some(delivery) = deliveries.recv().await {
        delivery.await.context("a record was not delivered")?;
    }
    Ok(())
}

fn header(text: &str) -> Result<Header, String> {
    let (key, value) = text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
    if key.is_empty() {
        return Err("expected NAME=VALUE, or NAME for a null value".to_owned());
    }
    Ok(Header { key: key.into(), value: value.map(|value| Bytes::from(value.to_owned())) })
}

impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Gzip => Self::Gzip,
            Codec::Snappy => Self::Snappy,
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
        }
    }
}

impl From<AcksFlag> for Acks {
    fn from(acks: AcksFlag) -> Self {
        match acks {
            AcksFlag::All => Self::All,
            AcksFlag::Leader => Self::Leader,
            AcksFlag::None => Self::None,
        }
    }
}
