//! `pillion consume`: records of a topic on standard output.

mod format;
mod start;

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use pillion_client::{Admin, Assignment, Client, Consumer, ConsumerConfig, IsolationLevel, Offset};
use tokio_util::sync::CancellationToken;

use self::format::Format;
use self::start::Start;
use super::flags::ClusterFlags;
use super::process::{self, Kind};
use crate::signals;

/// How long one poll waits for records; Ctrl-C is noticed at once all the same.
const POLL_WAIT: Duration = Duration::from_millis(500);

/// Print the records of a topic
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion consume outbox.event.order                everything, then what comes
  pillion consume orders --from end                 only what comes
  pillion consume orders --from -10 --exit-at-end   the last ten of each partition
  pillion consume orders -n 1 --json                one record with key, headers and time
  pillion consume orders -f '%p %o %k %h %s\\n'

Format (-f), as in kcat: %s value, %S its length, %k key, %K its length, %t topic, %p partition,
%o offset, %T timestamp in ms, %h headers, %% a percent sign; \\n, \\t, \\r and \\\\ as usual.
A null key or value prints nothing; its length is -1.")]
pub(super) struct Arguments {
    /// Topic to read
    topic: String,
    /// Where to begin: start, end, an offset, or -N for the last N of each partition
    #[arg(short = 'o', long, value_name = "WHERE", default_value = "start", allow_hyphen_values = true)]
    from: Start,
    /// Only these partitions; may be repeated
    #[arg(short, long = "partition", value_name = "PARTITION", value_parser = clap::value_parser!(i32).range(0..))]
    partitions: Vec<i32>,
    /// End after so many records
    #[arg(short = 'n', long, value_name = "COUNT")]
    count: Option<u64>,
    /// End where the partitions ended when the command began
    #[arg(short, long)]
    exit_at_end: bool,
    /// How to print a record
    #[arg(short, long, value_name = "FORMAT", default_value = "%s\\n")]
    format: Format,
    /// Print one JSON object a line
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
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
        let admin = client.admin();
        let ends = self.end_offsets(&admin).await?;
        let isolation_level =
            if self.read_committed { IsolationLevel::ReadCommitted } else { IsolationLevel::ReadUncommitted };
        let mut consumer = client.consumer(ConsumerConfig { isolation_level, ..ConsumerConfig::default() });
        consumer.assign(self.assignments(&admin, &ends).await?).await?;

        let mut left = self.count.unwrap_or(u64::MAX);
        while left > 0 && !(self.exit_at_end && self.is_at_end(&consumer, &ends)) {
            let records = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                records = consumer.poll(POLL_WAIT) => records?,
            };
            let mut stdout = std::io::stdout().lock();
            for record in records {
                let is_past_end =
                    self.exit_at_end && ends.get(&record.partition).is_some_and(|end| record.offset >= *end);
                if is_past_end || left == 0 {
                    continue;
                }
                left -= 1;
                if self.json {
                    writeln!(stdout, "{}", format::json(&record))?;
                } else {
                    self.format.write(&mut stdout, &record)?;
                }
            }
            stdout.flush()?;
        }
        Ok(())
    }

    /// The end offset of each partition to read.
    async fn end_offsets(&self, admin: &Admin) -> Result<HashMap<i32, i64>> {
        let listed = admin.list_offsets(&self.topic, Offset::Latest).await?;
        let ends: HashMap<i32, i64> = listed
            .into_iter()
            .filter(|listed| self.partitions.is_empty() || self.partitions.contains(&listed.partition))
            .map(|listed| {
                let offset = listed.offset.with_context(|| format!("partition {} has no end", listed.partition))?;
                Ok((listed.partition, offset))
            })
            .collect::<Result<_>>()?;
        if let Some(missing) = self.partitions.iter().find(|partition| !ends.contains_key(partition)) {
            bail!("topic {} has no partition {missing}", self.topic);
        }
        Ok(ends)
    }

    async fn assignments(&self, admin: &Admin, ends: &HashMap<i32, i64>) -> Result<Vec<Assignment>> {
        let listed = match self.from {
            Start::Last(_) => admin.list_offsets(&self.topic, Offset::Earliest).await?,
            _ => Vec::new(),
        };
        let log_starts: HashMap<i32, i64> =
            listed.into_iter().filter_map(|listed| Some((listed.partition, listed.offset?))).collect();
        let assignments = ends.iter().map(|(&partition, &end)| {
            let start = match self.from {
                Start::Beginning => Offset::Earliest,
                // The end that was asked for, so that nothing is missed between asking and reading.
                Start::End => Offset::At(end),
                Start::At(offset) => Offset::At(offset),
                Start::Last(count) => Offset::At((end - count).max(log_starts.get(&partition).copied().unwrap_or(0))),
            };
            Assignment { topic: self.topic.clone(), partition, start }
        });
        Ok(assignments.collect())
    }

    fn is_at_end(&self, consumer: &Consumer, ends: &HashMap<i32, i64>) -> bool {
        // A position is not known until the log start was asked for; an empty partition is at its end from the start.
        let at_end = |(&partition, &end): (&i32, &i64)| {
            end == 0 || consumer.position(&self.topic, partition).is_some_and(|position| position >= end)
        };
        ends.iter().all(at_end)
    }
}
