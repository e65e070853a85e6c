//! `pillion group describe`: members, and how far the group has read of each partition.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use pillion_client::GroupMember;
use serde_json::{Value, json};

use super::lag::{GroupLag, PartitionLag, lag_of};
use crate::cli::flags::ClusterFlags;
use crate::cli::text::{Table, escaped, or_dash};

/// Show a group's members, and what it has read of each partition
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion group describe billing
  pillion group describe billing audit --json

LAG counts offsets from the committed one to the high watermark; markers of transactions and
records that were compacted away have offsets too.")]
pub(super) struct Describe {
    /// Names of the groups
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Describe {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let mut described = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            described.push(lag_of(&admin, group).await?);
        }
        let mut stdout = std::io::stdout().lock();
        if self.json {
            writeln!(stdout, "{}", Value::from_iter(described.iter().map(document)))?;
            return Ok(());
        }
        for (number, group) in described.iter().enumerate() {
            if number > 0 {
                writeln!(stdout)?;
            }
            write_group(&mut stdout, group)?;
        }
        Ok(())
    }
}

fn write_group(out: &mut impl Write, lag: &GroupLag) -> Result<()> {
    let group = &lag.group;
    let protocol = if group.protocol.is_empty() { String::new() } else { format!("  {}", escaped(&group.protocol)) };
    let members = match lag.are_members_hidden {
        true => "members not shown: the group uses the newer protocol (KIP-848)".to_owned(),
        false => format!("{} members", group.members.len()),
    };
    writeln!(
        out,
        "group {}  {}{protocol}  {members}  coordinator {}  lag {}",
        escaped(&group.group_id),
        group.state,
        group.coordinator,
        lag.total()
    )?;
    if !lag.partitions.is_empty() {
        let mut table = Table::new(["TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG", "MEMBER", "HOST"]);
        for one in &lag.partitions {
            let member = lag.member_of(one);
            table.push([
                one.topic.clone(),
                one.partition.to_string(),
                or_dash(one.committed.as_ref().map(|committed| committed.offset)),
                or_dash(one.end),
                or_dash(one.lag()),
                or_dash(member.map(name)),
                or_dash(member.map(|member| &member.client_host)),
            ]);
        }
        table.write(out)?;
    }
    let idle: Vec<String> =
        group.members.iter().filter(|member| member.assigned.is_empty()).map(|member| escaped(name(member))).collect();
    if !idle.is_empty() {
        writeln!(out, "without a partition: {}", idle.join(", "))?;
    }
    Ok(())
}

/// What a member is told by: its fixed identity, else the id its coordinator gave it.
fn name(member: &GroupMember) -> &str {
    member.instance_id.as_deref().unwrap_or(&member.member_id)
}

fn document(lag: &GroupLag) -> Value {
    let group = &lag.group;
    let member = |member: &GroupMember| {
        let assigned = member.assigned.iter().map(|held| json!({ "topic": held.topic, "partition": held.partition }));
        json!({
            "id": member.member_id,
            "instanceId": member.instance_id,
            "clientId": member.client_id,
            "host": member.client_host,
            "assigned": assigned.collect::<Vec<_>>(),
        })
    };
    let partition = |one: &PartitionLag| {
        json!({
            "topic": one.topic,
            "partition": one.partition,
            "committedOffset": one.committed.as_ref().map(|committed| committed.offset),
            "committedMetadata": one.committed.as_ref().and_then(|committed| committed.metadata.as_deref()),
            "logStartOffset": one.start,
            "endOffset": one.end,
            "lag": one.lag(),
            "member": lag.member_of(one).map(|member| &member.member_id),
        })
    };
    json!({
        "group": group.group_id,
        "state": group.state,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "coordinator": group.coordinator,
        "lag": lag.total(),
        "members": if lag.are_members_hidden { Value::Null } else { group.members.iter().map(member).collect() },
        "partitions": lag.partitions.iter().map(partition).collect::<Vec<_>>(),
    })
}
