//! `pillion consume`: records of topics on standard output.

mod assigned;
mod document;
mod filter;
mod format;
mod member;
mod printing;
mod range;

use anyhow::Result;
use clap::Args;
use pillion_client::{Client, ConsumerConfig, GroupConfig, IsolationLevel, OffsetReset};
use tokio_util::sync::CancellationToken;

pub(super) use self::document::{json as record_document, write_pretty};

use self::assigned::Range;
use self::filter::Filter;
use self::format::Format;
use self::printing::{Printer, Style};
use self::range::{Start, Stop};
use super::flags::ClusterFlags;
use super::process::{self, Kind};
use crate::signals;

/// Print the records of topics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion consume outbox.event.order                everything, then what comes
  pillion consume orders --from end                 only what comes
  pillion consume orders --from -10 --exit-at-end   the last ten of each partition
  pillion consume orders --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z
  pillion consume orders --key 42 --header type=OrderPlaced --pretty
  pillion consume orders --group billing            as a member; what is printed is committed
  pillion consume orders -n 1 --json                one record with key, headers and time
  pillion consume orders -f '%p %o %k %h %s\\n'

Format (-f), as in kcat: %s value, %S its length, %R its length as four bytes, %k key,
%K its length, %t topic, %p partition, %o offset, %T timestamp in ms, %h headers, %% a percent
sign; \\n, \\t, \\r, \\x41 and \\65 for A, and any other sign for itself.
A null key or value prints nothing; its length is -1.")]
pub(super) struct Arguments {
    /// Topics to read
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Where to begin: start, end, an offset, -N for the last N of each partition, or a time
    #[arg(short = 'o', long, value_name = "WHERE", default_value = "start", allow_hyphen_values = true)]
    from: Start,
    /// Where to end, before: end (as it is when the command begins), an offset, or a time
    #[arg(long, value_name = "WHERE")]
    to: Option<Stop>,
    /// Only these partitions; may be repeated
    #[arg(short, long = "partition", value_name = "PARTITION", value_parser = clap::value_parser!(i32).range(0..))]
    partitions: Vec<i32>,
    /// End after so many records
    #[arg(short = 'n', long, value_name = "COUNT")]
    count: Option<u64>,
    /// End where the partitions ended when the command began: --to end
    #[arg(short, long, conflicts_with = "to")]
    exit_at_end: bool,
    /// Read as a member of this group, from what it has committed, and commit what is printed; --from start or end
    /// is for partitions of which nothing is committed
    #[arg(short = 'G', long, value_name = "GROUP", conflicts_with_all = ["partitions", "to"])]
    group: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// How to print a record
    #[arg(short, long, value_name = "FORMAT", default_value = "%s\\n")]
    format: Format,
    /// Print one JSON object a line
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Print each record over several lines, JSON indented
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pretty: bool,
    /// Leave out records of transactions that are not committed
    #[arg(long)]
    read_committed: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Tool, async {
            let stop = signals::stop_on_signal()?;
            let client = self.cluster.connect().await?;
            let outcome = self.consume(&client, &stop).await;
            client.shutdown().await;
            outcome
        })
    }

    async fn consume(&self, client: &Client, stop: &CancellationToken) -> Result<()> {
        let isolation_level =
            if self.read_committed { IsolationLevel::ReadCommitted } else { IsolationLevel::ReadUncommitted };
        let config = ConsumerConfig { isolation_level, ..ConsumerConfig::default() };
        let style = match (self.json, self.pretty) {
            (true, _) => Style::Json,
            (_, true) => Style::Pretty,
            _ => Style::Format(self.format.clone()),
        };
        let mut printer = Printer { style, filter: self.filter.clone(), left: self.count.unwrap_or(u64::MAX) };
        if let Some(group) = &self.group {
            let offset_reset = match self.from {
                Start::Beginning => OffsetReset::Earliest,
                Start::End => OffsetReset::Latest,
                _ => anyhow::bail!(
                    "--from with --group is start or end; `pillion group reset-offsets` puts a group elsewhere"
                ),
            };
            let topics = self.topics.clone();
            let config = GroupConfig { offset_reset, consumer: config, ..GroupConfig::new(group, topics) };
            return member::read(client, config, self.exit_at_end, &mut printer, stop).await;
        }
        let to = self.to.or(self.exit_at_end.then_some(Stop::End));
        let range = Range { topics: &self.topics, partitions: &self.partitions, from: self.from, to, config };
        assigned::read(client, range, &mut printer, stop).await
    }
}
