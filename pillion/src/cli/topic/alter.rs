//! `pillion topic alter`: other settings, more partitions.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use pillion_client::{ConfigChange, ConfigOperation, ConfigResource};

use super::{ClusterFlags, assignment};

/// Change settings of topics, or give them more partitions
#[derive(Debug, Args)]
pub(super) struct Alter {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// A setting to make; may be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// A setting to take back, so that the broker's own holds; may be repeated
    #[arg(short, long, value_name = "KEY")]
    unset: Vec<String>,
    /// Values to add to a list such as cleanup.policy; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    append: Vec<(String, String)>,
    /// Values to take out of a list; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    subtract: Vec<(String, String)>,
    /// Partitions to have in the end, more than there are: keys go to other partitions afterwards
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Alter {
    pub(super) async fn execute(self) -> Result<()> {
        let changes = self.changes();
        if changes.is_empty() && self.partitions.is_none() {
            bail!("nothing to alter; give --set, --unset, --append, --subtract or --partitions");
        }
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let mut stdout = std::io::stdout().lock();
        let mut failures = Vec::new();
        for topic in &self.topics {
            let altered = async {
                if !changes.is_empty() {
                    let resource = ConfigResource::Topic(topic.clone());
                    admin.alter_configs_incremental(resource, changes.clone()).await?;
                }
                match self.partitions {
                    Some(count) => admin.create_partitions(topic, count, self.cluster.timeout()).await,
                    None => Ok(()),
                }
            };
            match altered.await {
                Ok(()) => writeln!(stdout, "altered {topic}")?,
                Err(error) => failures.push(error.to_string()),
            }
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
    }

    fn changes(&self) -> Vec<ConfigChange> {
        let change = |name: &String, operation| ConfigChange { name: name.clone(), operation };
        let set = self.set.iter().map(|(name, value)| change(name, ConfigOperation::Set(value.clone())));
        let unset = self.unset.iter().map(|name| change(name, ConfigOperation::Delete));
        let append = self.append.iter().map(|(name, value)| change(name, ConfigOperation::Append(value.clone())));
        let subtract = self.subtract.iter().map(|(name, value)| change(name, ConfigOperation::Subtract(value.clone())));
        set.chain(unset).chain(append).chain(subtract).collect()
    }
}
