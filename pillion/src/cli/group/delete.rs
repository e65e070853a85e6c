//! `pillion group delete` and `delete-offsets`.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use pillion_client::{AdminError, ErrorCode};

use super::lag::lag_of;
use super::places::Place;
use crate::cli::flags::ClusterFlags;

/// Delete groups without members, and all they have committed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion group delete billing
  pillion group delete billing audit --if-exists")]
pub(super) struct Delete {
    /// Names of the groups
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,
    /// Pass over groups that do not exist
    #[arg(long)]
    if_exists: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Delete {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let outcomes = client.admin().delete_groups(self.groups).await?;
        let mut stdout = std::io::stdout().lock();
        let mut failures = Vec::new();
        for outcome in outcomes {
            match outcome.result {
                Ok(()) => writeln!(stdout, "deleted {}", outcome.group_id)?,
                Err(error) if self.if_exists && error.error_code() == Some(ErrorCode::GroupIdNotFound) => {}
                Err(error) => failures.push(advised(&error)),
            }
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
    }
}

/// Delete what a group has committed of topics that it does not read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion group delete-offsets billing --topic orders
  pillion group delete-offsets billing --topic orders:3")]
pub(super) struct DeleteOffsets {
    /// Name of the group
    group: String,
    /// A topic, or some of its partitions; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:PARTITION,…]", required = true)]
    places: Vec<Place>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl DeleteOffsets {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let lag = lag_of(&admin, &self.group).await?;
        let committed = lag.partitions.iter().filter(|one| one.committed.is_some());
        let chosen = committed.filter(|one| self.places.iter().any(|place| place.has(&one.topic, one.partition)));
        let partitions: Vec<_> =
            chosen.map(|one| pillion_client::TopicPartition::new(one.topic.clone(), one.partition)).collect();
        if partitions.is_empty() {
            bail!("group {} has committed nothing of these topics", self.group);
        }
        admin.delete_group_offsets(&self.group, &partitions).await.map_err(|error| anyhow::anyhow!(advised(&error)))?;
        let mut stdout = std::io::stdout().lock();
        partitions.iter().try_for_each(|one| writeln!(stdout, "deleted what {} has committed of {one}", self.group))?;
        Ok(())
    }
}

/// The refusal, and what to do about it.
fn advised(error: &AdminError) -> String {
    let advice = match error.error_code() {
        Some(ErrorCode::NonEmptyGroup) => "; stop its members first: `pillion group describe` shows them",
        Some(ErrorCode::GroupIdNotFound) => "; `pillion group list` shows those there are",
        Some(ErrorCode::GroupSubscribedToTopic) => "; its members read this topic: stop them first",
        _ => "",
    };
    format!("{error}{advice}")
}
