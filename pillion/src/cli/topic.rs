//! `pillion topic`: create, list, describe, alter and delete topics of pillion's broker or of any Kafka cluster.

mod alter;
mod delete_records;

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use pillion_client::{Admin, AdminError, ConfigResource, ConfigSource, ErrorCode, NewTopic, Offset, TopicOutcome};
use serde_json::json;

use super::flags::ClusterFlags;
use super::process::{self, Kind};
use super::text::{row, write_columns};

/// Create, list, describe, alter and delete topics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion topic create orders --partitions 3 --config cleanup.policy=compact
  pillion topic list
  pillion topic describe outbox.event.order
  pillion topic alter orders --set retention.ms=86400000 --unset segment.bytes --partitions 6
  pillion topic delete-records orders --partition 0 --before 1200
  pillion topic delete orders -b kafka-1:9092")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(Create),
    List(List),
    Describe(Describe),
    Alter(alter::Alter),
    DeleteRecords(delete_records::DeleteRecords),
    Delete(Delete),
}

/// Create topics
#[derive(Debug, Args)]
struct Create {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Partitions of each [default: the broker's num.partitions]
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Replicas of each partition [default: the broker's]
    #[arg(short, long, value_parser = clap::value_parser!(i16).range(1..))]
    replication_factor: Option<i16>,
    /// A setting of the topic; may be repeated
    #[arg(short, long = "config", value_name = "KEY=VALUE", value_parser = assignment)]
    configs: Vec<(String, String)>,
    /// Leave topics that exist already as they are
    #[arg(long)]
    if_not_exists: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// List topics
#[derive(Debug, Args)]
struct List {
    /// Show the broker's own topics too, such as __consumer_offsets
    #[arg(long)]
    internal: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Show partitions, offsets and settings of topics
#[derive(Debug, Args)]
struct Describe {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Delete topics with all their records
#[derive(Debug, Args)]
struct Delete {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Pass over topics that do not exist
    #[arg(long)]
    if_exists: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Tool, async {
            match self.command {
                Command::Create(create) => create.execute().await,
                Command::List(list) => list.execute().await,
                Command::Describe(describe) => describe.execute().await,
                Command::Alter(alter) => alter.execute().await,
                Command::DeleteRecords(delete) => delete.execute().await,
                Command::Delete(delete) => delete.execute().await,
            }
        })
    }
}

impl Create {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let topics = self.topics.iter().map(|name| NewTopic {
            name: name.clone(),
            partitions: self.partitions.unwrap_or(-1),
            replication_factor: self.replication_factor.unwrap_or(-1),
            configs: self.configs.clone(),
        });
        let outcomes = client.admin().create_topics(topics.collect(), self.cluster.timeout()).await?;
        let passed_over = self.if_not_exists.then_some(ErrorCode::TopicAlreadyExists);
        report("created", &outcomes, passed_over)
    }
}

impl Delete {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let outcomes = client.admin().delete_topics(self.topics, self.cluster.timeout()).await?;
        let passed_over = self.if_exists.then_some(ErrorCode::UnknownTopicOrPartition);
        report("deleted", &outcomes, passed_over)
    }
}

/// Prints what was done, and fails with what was not.
fn report(done: &str, outcomes: &[TopicOutcome], passed_over: Option<ErrorCode>) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let mut failures: Vec<&AdminError> = Vec::new();
    for outcome in outcomes {
        match &outcome.result {
            Ok(()) => writeln!(stdout, "{done} {}", outcome.name)?,
            Err(error) if passed_over.is_some() && error.error_code() == passed_over => {}
            Err(error) => failures.push(error),
        }
    }
    let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
}

impl List {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let mut topics = client.admin().list_topics().await?;
        topics.retain(|topic| self.internal || !topic.is_internal);
        topics.sort_by(|left, right| left.name.cmp(&right.name));
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let list = topics.iter().map(|topic| {
                json!({ "name": topic.name, "partitions": topic.partitions, "internal": topic.is_internal, "id": topic.topic_id.to_string() })
            });
            writeln!(stdout, "{}", serde_json::Value::from_iter(list))?;
        } else {
            let mut rows = vec![row(["TOPIC", "PARTITIONS"])];
            rows.extend(topics.iter().map(|topic| vec![topic.name.clone(), topic.partitions.to_string()]));
            write_columns(&mut stdout, &rows)?;
        }
        Ok(())
    }
}

impl Describe {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let descriptions = admin.describe_topics(&self.topics).await?;
        let mut stdout = std::io::stdout().lock();
        let mut documents = Vec::new();
        for topic in &descriptions {
            let starts = admin.list_offsets(&topic.name, Offset::Earliest).await?;
            let ends = admin.list_offsets(&topic.name, Offset::Latest).await?;
            let offset = |listed: &[pillion_client::ListedOffset], partition| {
                listed.iter().find(|one| one.partition == partition).and_then(|one| one.offset)
            };
            let partitions: Vec<Partition> = topic
                .partitions
                .iter()
                .map(|one| Partition {
                    number: one.partition,
                    leader: one.leader,
                    replicas: one.replicas.clone(),
                    in_sync: one.in_sync_replicas.clone(),
                    start: offset(&starts, one.partition),
                    end: offset(&ends, one.partition),
                })
                .collect();
            let settings = topic_settings(&admin, &topic.name).await?;
            if self.json {
                documents.push(json!({
                    "name": topic.name,
                    "id": topic.topic_id.to_string(),
                    "partitions": partitions.iter().map(Partition::document).collect::<Vec<_>>(),
                    "configs": serde_json::Map::from_iter(settings.into_iter().map(|(key, value)| (key, value.into()))),
                }));
            } else {
                write_description(&mut stdout, &topic.name, &topic.topic_id.to_string(), &partitions, &settings)?;
            }
        }
        if self.json {
            writeln!(stdout, "{}", serde_json::Value::from(documents))?;
        }
        Ok(())
    }
}

/// One partition with its offsets.
struct Partition {
    number: i32,
    leader: Option<i32>,
    replicas: Vec<i32>,
    in_sync: Vec<i32>,
    start: Option<i64>,
    end: Option<i64>,
}

impl Partition {
    fn document(&self) -> serde_json::Value {
        json!({
            "partition": self.number,
            "leader": self.leader,
            "replicas": self.replicas,
            "inSyncReplicas": self.in_sync,
            "logStartOffset": self.start,
            "endOffset": self.end,
        })
    }

    fn row(&self) -> Vec<String> {
        let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let list = |ids: &[i32]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        vec![
            self.number.to_string(),
            number(self.leader.map(|leader| leader.to_string())),
            list(&self.replicas),
            list(&self.in_sync),
            number(self.start.map(|offset| offset.to_string())),
            number(self.end.map(|offset| offset.to_string())),
        ]
    }
}

fn write_description(
    out: &mut impl Write,
    name: &str,
    id: &str,
    partitions: &[Partition],
    settings: &[(String, String)],
) -> Result<()> {
    writeln!(out, "topic {name}  id {id}")?;
    for (key, value) in settings {
        writeln!(out, "  {key}={value}")?;
    }
    let mut rows = vec![row(["PARTITION", "LEADER", "REPLICAS", "IN SYNC", "START", "END"])];
    rows.extend(partitions.iter().map(Partition::row));
    write_columns(out, &rows)?;
    Ok(())
}

/// Settings made for this topic; those the broker gives every topic are left out.
async fn topic_settings(admin: &Admin, topic: &str) -> Result<Vec<(String, String)>> {
    let described = admin.describe_configs(vec![ConfigResource::Topic(topic.to_owned())]).await?;
    let mut settings = Vec::new();
    for resource in described {
        let own = resource.result?.into_iter().filter(|entry| entry.source == ConfigSource::Topic);
        settings.extend(own.map(|entry| (entry.name, entry.value.unwrap_or_else(|| "(secret)".to_owned()))));
    }
    Ok(settings)
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
