//! `pillion group list`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use pillion_client::GroupListing;
use serde_json::{Value, json};

use crate::cli::flags::ClusterFlags;
use crate::cli::text::Table;

/// List consumer groups with their states
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion group list
  pillion group list --state stable --state empty --json")]
pub(super) struct List {
    /// Only groups in this state, such as stable or empty; may be repeated
    #[arg(long = "state", value_name = "STATE")]
    states: Vec<String>,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl List {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let mut groups = client.admin().list_groups().await?;
        let is_wanted = |state: &str| self.states.iter().any(|wanted| wanted.eq_ignore_ascii_case(state));
        groups.retain(|group| self.states.is_empty() || is_wanted(&group.state));
        let mut stdout = std::io::stdout().lock();
        if self.json {
            writeln!(stdout, "{}", Value::from_iter(groups.iter().map(document)))?;
            return Ok(());
        }
        let mut table = Table::new(["GROUP", "STATE", "TYPE", "PROTOCOL", ">COORDINATOR"]);
        for GroupListing { group_id, protocol_type, state, kind, coordinator } in groups {
            table.push([group_id, state, kind, protocol_type, coordinator.to_string()]);
        }
        Ok(table.write(&mut stdout)?)
    }
}

fn document(group: &GroupListing) -> Value {
    json!({
        "group": group.group_id,
        "state": group.state,
        "type": group.kind,
        "protocolType": group.protocol_type,
        "coordinator": group.coordinator,
    })
}
