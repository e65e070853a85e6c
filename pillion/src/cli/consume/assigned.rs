//! Reading partitions by hand: from a place to a place, nothing committed.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pillion_client::{Admin, Assignment, Client, Consumer, ConsumerConfig, ListedOffset, Offset};
use tokio_util::sync::CancellationToken;

use super::printing::Printer;
use super::range::{Start, Stop};

/// How long one poll waits for records; Ctrl-C is noticed at once all the same.
const POLL_WAIT: Duration = Duration::from_millis(500);

/// What to read.
pub(super) struct Range<'a> {
    pub(super) topics: &'a [String],
    /// All of them where there are none.
    pub(super) partitions: &'a [i32],
    pub(super) from: Start,
    /// `None` goes on.
    pub(super) to: Option<Stop>,
    pub(super) config: ConsumerConfig,
}

/// A partition to be read: where its log starts, ended when the command began, and where reading ends.
struct Part {
    topic: String,
    partition: i32,
    log_start: i64,
    end: i64,
    stop: Option<i64>,
}

/// Reads and prints until the end of the range, enough records, or `stop`.
pub(super) async fn read(
    client: &Client,
    range: Range<'_>,
    printer: &mut Printer,
    stop: &CancellationToken,
) -> Result<()> {
    let parts = parts(&client.admin(), &range).await?;
    let assignment = |part: &Part| Assignment {
        topic: part.topic.clone(),
        partition: part.partition,
        start: range.from.offset(part.log_start, part.end),
    };
    let mut consumer = client.consumer(range.config.clone());
    consumer.assign(parts.iter().map(assignment).collect()).await?;
    let stops: HashMap<(&str, i32), i64> =
        parts.iter().filter_map(|part| Some(((part.topic.as_str(), part.partition), part.stop?))).collect();
    while printer.left > 0 && !(range.to.is_some() && is_at_end(&consumer, &parts)) {
        let records = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            records = consumer.poll(POLL_WAIT) => records?,
        };
        let mut stdout = BufWriter::new(std::io::stdout().lock());
        for record in &records {
            let end = stops.get(&(&*record.topic, record.partition));
            if end.is_none_or(|end| record.offset < *end) {
                printer.print(&mut stdout, record)?;
            }
        }
        stdout.flush()?;
    }
    Ok(())
}

async fn parts(admin: &Admin, range: &Range<'_>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for topic in range.topics {
        let ends = admin.list_offsets(topic, Offset::Latest).await?;
        let starts = admin.list_offsets(topic, Offset::Earliest).await?;
        let at_time = match range.to {
            Some(Stop::Time(ms)) => admin.list_offsets(topic, Offset::Timestamp(ms)).await?,
            _ => Vec::new(),
        };
        let offset = |listed: &[ListedOffset], partition| {
            listed.iter().find(|one| one.partition == partition).and_then(|one| one.offset)
        };
        for listed in &ends {
            let partition = listed.partition;
            if !range.partitions.is_empty() && !range.partitions.contains(&partition) {
                continue;
            }
            let end = listed.offset.with_context(|| format!("partition {partition} of {topic} has no end"))?;
            let log_start = offset(&starts, partition).unwrap_or(0);
            let stop = range.to.map(|to| match to {
                Stop::End => end,
                // What does not exist yet is not waited for.
                Stop::At(offset) => offset.min(end),
                Stop::Time(_) => offset(&at_time, partition).unwrap_or(end),
            });
            parts.push(Part { topic: topic.clone(), partition, log_start, end, stop });
        }
        if let Some(missing) = range.partitions.iter().find(|wanted| ends.iter().all(|end| end.partition != **wanted)) {
            bail!("topic {topic} has no partition {missing}");
        }
    }
    Ok(parts)
}

fn is_at_end(consumer: &Consumer, parts: &[Part]) -> bool {
    parts.iter().all(|part| {
        let stop = part.stop.unwrap_or(i64::MAX);
        // A position is not known until the start was asked for; where there is nothing to read it need not be.
        stop <= part.log_start
            || consumer.position(&part.topic, part.partition).is_some_and(|position| position >= stop)
    })
}
