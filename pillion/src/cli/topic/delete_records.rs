//! `pillion topic delete-records`: gives up the oldest records of a topic.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;

use super::ClusterFlags;

/// Delete the records of a topic below an offset
#[derive(Debug, Args)]
pub(super) struct DeleteRecords {
    /// Name of the topic
    topic: String,
    /// Partition; without it, all of them
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// The first offset to keep; `end` deletes every record consumers can see
    #[arg(long, value_name = "OFFSET", value_parser = before)]
    before: i64,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl DeleteRecords {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let partitions = match self.partition {
            Some(partition) => vec![partition],
            None => {
                let described = admin.describe_topics(std::slice::from_ref(&self.topic)).await?;
                described.iter().flat_map(|topic| &topic.partitions).map(|one| one.partition).collect()
            }
        };
        let offsets = partitions.into_iter().map(|partition| (partition, self.before)).collect();
        let outcomes = admin.delete_records(&self.topic, offsets, self.cluster.timeout()).await?;
        let mut stdout = std::io::stdout().lock();
        let mut failures = Vec::new();
        for outcome in outcomes {
            match outcome.result {
                Ok(start) => writeln!(stdout, "{}-{} begins at {start}", self.topic, outcome.partition)?,
                Err(error) => failures.push(error.to_string()),
            }
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
    }
}

fn before(text: &str) -> Result<i64, String> {
    match text {
        // DeleteRecords' number for the high watermark.
        "end" => Ok(-1),
        _ => text.parse().ok().filter(|offset| *offset >= 0).ok_or_else(|| "expected an offset or `end`".to_owned()),
    }
}
