//! `pillion produce`: each line of standard input becomes a record.
//!
//! Reading is blocking and has a thread of its own; a bounded channel carries lines to the sender, and another bounded
//! one carries deliveries on their way to be awaited. Invariant: the exit code is 0 only when every record is
//! acknowledged.

use std::io::{BufRead, Read};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use pillion_client::{Acks, Compression, DeliveryHandle, Header, ProducerConfig, ProducerRecord};
use tokio::sync::mpsc;

use super::flags::ClusterFlags;
use super::process::{self, Kind};

/// Longest line taken, in bytes: Kafka's usual largest message a hundred times over.
const LINE_BYTES_MAX: u64 = 100 << 20;

/// Lines read ahead, and deliveries not looked at yet.
const READ_AHEAD: usize = 1_000;

/// Send each line of standard input as a record
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo hello | pillion produce greetings
  pillion produce orders -K : <<< '42:{\"total\": 100}'       key 42, value {\"total\": 100}
  pillion produce orders -H source=import -z zstd < orders.jsonl

Ends when standard input does, after every record is acknowledged.")]
pub(super) struct Arguments {
    /// Topic to send to
    topic: String,
    /// Split each line at the first of these: what is before is the key
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_separator: Option<String>,
    /// Key of every record
    #[arg(short, long, conflicts_with = "key_separator")]
    key: Option<String>,
    /// Header of every record; may be repeated
    #[arg(short = 'H', long = "header", value_name = "KEY=VALUE", value_parser = header)]
    headers: Vec<Header>,
    /// Send to this partition rather than by key
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Send an empty value as null (a tombstone on compacted topics)
    #[arg(short = 'Z', long)]
    null_empty: bool,
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
enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AcksFlag {
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
        let client = self.cluster.connect().await?;
        let producer = client.producer(ProducerConfig {
            compression: self.compression.into(),
            acks: self.acks.into(),
            ..ProducerConfig::default()
        });
        let (lines_in, mut lines) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || read_lines(std::io::stdin().lock(), &lines_in));
        let (deliveries_in, deliveries) = mpsc::channel(READ_AHEAD);
        let awaited = tokio::spawn(await_all(deliveries));
        while let Some(line) = lines.recv().await {
            let record = self.record(line.context("cannot read standard input")?)?;
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

    /// The record of one line.
    fn record(&self, line: Vec<u8>) -> Result<ProducerRecord> {
        let line = Bytes::from(line);
        let (key, value) = match &self.key_separator {
            None => (self.key.clone().map(Bytes::from), line),
            Some(separator) => {
                let Some(at) = find(&line, separator.as_bytes()) else {
                    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
                    bail!("a line has no key separator {separator:?}: {shown:?}");
                };
                (Some(line.slice(..at)), line.slice(at + separator.len()..))
            }
        };
        let value = (!(self.null_empty && value.is_empty())).then_some(value);
        let headers = self.headers.clone();
        Ok(ProducerRecord {
            topic: self.topic.as_str().into(),
            partition: self.partition,
            key,
            value,
            headers,
            timestamp_ms: None,
        })
    }
}

/// Awaits deliveries in order.
async fn await_all(mut deliveries: mpsc::Receiver<DeliveryHandle>) -> Result<()> {
    while let Some(delivery) = deliveries.recv().await {
        delivery.await.context("a record was not delivered")?;
    }
    Ok(())
}

/// Sends each line without its line end, until the input ends, fails, or nobody listens.
fn read_lines(mut input: impl BufRead, lines: &mpsc::Sender<std::io::Result<Vec<u8>>>) {
    loop {
        let mut line = Vec::new();
        let outcome = match input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(length) if line.last() != Some(&b'\n') && length as u64 == LINE_BYTES_MAX => {
                Err(std::io::Error::other(format!("a line is longer than {LINE_BYTES_MAX} bytes")))
            }
            Ok(_) => {
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                Ok(line)
            }
            Err(error) => Err(error),
        };
        let is_last = outcome.is_err();
        if lines.blocking_send(outcome).is_err() || is_last {
            return;
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len().max(1)).position(|window| window == wanted)
}

fn header(text: &str) -> Result<Header, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok(Header { key: key.into(), value: Some(Bytes::from(value.to_owned())) })
        }
        _ => Err("expected KEY=VALUE".to_owned()),
    }
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
