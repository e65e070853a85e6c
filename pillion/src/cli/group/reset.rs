//! `pillion group reset-offsets`: puts what a group has committed elsewhere. Says what it would do, unless told to do it.

mod plan;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use pillion_client::{Admin, Client, CommittedOffset, ErrorCode, GroupError, GroupMetadata, Offset};
use serde_json::{Value, json};

use super::lag::{GroupLag, lag_of};
use super::places::Place;
use crate::cli::duration;
use crate::cli::flags::ClusterFlags;
use crate::cli::text::{Table, or_dash};

use plan::{Log, Planned, Target, planned};

/// Put what a group has committed elsewhere; without --execute only say where
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("target").required(true).args(["to", "shift_by", "ago"])),
    group(ArgGroup::new("what").required(true).args(["places", "all_topics"])),
    after_help = "\
Examples:
  pillion group reset-offsets billing --topic orders --to start
  pillion group reset-offsets billing --topic orders:0,2 --to 1200 --execute
  pillion group reset-offsets billing --all-topics --to 2026-01-31T12:00:00Z --execute
  pillion group reset-offsets billing --topic orders --shift-by -10 --execute
  pillion group reset-offsets billing --topic orders --ago 2h --execute

A time stands for the first record written then or later. Offsets outside of a partition's log
become its start or end. A group with members is refused, as Kafka does: stop them first."
)]
pub(super) struct ResetOffsets {
    /// Name of the group; one that does not exist is made
    group: String,
    /// A topic, or some of its partitions; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:PARTITION,…]")]
    places: Vec<Place>,
    /// Every partition that the group has committed
    #[arg(long)]
    all_topics: bool,
    /// Where to: start, end, current, an offset, or a time (UTC unless it names a zone; @ and milliseconds work too)
    #[arg(long, value_name = "WHERE")]
    to: Option<Target>,
    /// So many offsets on, or back
    #[arg(long, value_name = "±N", allow_hyphen_values = true)]
    shift_by: Option<i64>,
    /// The first record written so long ago or later, such as 2h
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    ago: Option<Duration>,
    /// Do it
    #[arg(long)]
    execute: bool,
    /// Only say what would be done: the default
    #[arg(long, conflicts_with = "execute")]
    dry_run: bool,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl ResetOffsets {
    pub(super) async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let admin = client.admin();
        let lag = self.group(&admin).await?;
        if let Some(lag) = &lag
            && !["Empty", "Dead", ""].contains(&lag.group.state.as_str())
        {
            bail!(
                "group {} has members ({}): stop them first, `pillion group describe` shows them; nothing was changed",
                self.group,
                lag.group.state
            );
        }
        let planned = self.plan(&admin, lag.as_ref()).await?;
        if planned.is_empty() {
            bail!("there is nothing to reset: the group has committed nothing of these topics");
        }
        if self.execute {
            self.commit(&client, &planned).await?;
        }
        self.write(&planned)
    }

    /// What there is of the group; `None` when there is none yet.
    async fn group(&self, admin: &Admin) -> Result<Option<GroupLag>> {
        let is_there = admin.list_groups().await?.into_iter().any(|listed| listed.group_id == self.group);
        if is_there { lag_of(admin, &self.group).await.map(Some) } else { Ok(None) }
    }

    async fn plan(&self, admin: &Admin, lag: Option<&GroupLag>) -> Result<Vec<Planned>> {
        let committed: BTreeMap<(String, i32), i64> = lag
            .iter()
            .flat_map(|lag| &lag.partitions)
            .filter_map(|one| Some(((one.topic.clone(), one.partition), one.committed.as_ref()?.offset)))
            .collect();
        let mut topics: Vec<&str> = self.places.iter().map(|place| place.topic.as_str()).collect();
        if self.all_topics {
            topics.extend(committed.keys().map(|(topic, _)| topic.as_str()));
        }
        topics.sort_unstable();
        topics.dedup();
        let target = self.target();
        let mut all = Vec::new();
        for topic in topics {
            let logs = logs(admin, topic, &target).await?;
            for place in self.places.iter().filter(|place| place.topic == topic) {
                let missing = place.partitions.iter().find(|wanted| logs.iter().all(|log| log.partition != **wanted));
                if let Some(missing) = missing {
                    bail!("topic {topic} has no partition {missing}");
                }
            }
            for log in logs {
                let current = committed.get(&(topic.to_owned(), log.partition)).copied();
                let is_meant = match self.all_topics {
                    true => current.is_some(),
                    false => self.places.iter().any(|place| place.has(topic, log.partition)),
                };
                if is_meant {
                    all.extend(planned(topic, &log, current, &target));
                }
            }
        }
        Ok(all)
    }

    fn target(&self) -> Target {
        let ago = self.ago.map(|ago| {
            let then = SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
            let since = then.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Target::Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        });
        let shift = self.shift_by.map(Target::Shift);
        self.to.or(shift).or(ago).unwrap_or(Target::Current)
    }

    async fn commit(&self, client: &Client, planned: &[Planned]) -> Result<()> {
        let offset = |one: &Planned| CommittedOffset {
            topic: one.topic.clone(),
            partition: one.partition,
            offset: one.offset,
            leader_epoch: -1,
            metadata: None,
        };
        let outside = GroupMetadata::outside(&self.group);
        match client.commit_offsets(&outside, planned.iter().map(offset).collect()).await {
            Ok(()) => Ok(()),
            Err(GroupError::NotOfGeneration { code } | GroupError::NotCommitted { code })
                if matches!(code, ErrorCode::UnknownMemberId | ErrorCode::NonEmptyGroup) =>
            {
                bail!("group {} has members now: stop them first; nothing was changed", self.group)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn write(&self, planned: &[Planned]) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let one = |one: &Planned| {
                json!({
                    "topic": one.topic,
                    "partition": one.partition,
                    "committedOffset": one.current,
                    "newOffset": one.offset,
                    "note": one.note,
                })
            };
            let partitions: Vec<Value> = planned.iter().map(one).collect();
            let document = json!({ "group": self.group, "executed": self.execute, "partitions": partitions });
            writeln!(stdout, "{document}")?;
            return Ok(());
        }
        let mut table = Table::new(["TOPIC", ">PARTITION", ">COMMITTED", ">NEW", "NOTE"]);
        for one in planned {
            let note = one.note.unwrap_or_default().to_owned();
            let numbers = (one.partition.to_string(), or_dash(one.current), one.offset.to_string());
            table.push([one.topic.clone(), numbers.0, numbers.1, numbers.2, note]);
        }
        table.write(&mut stdout)?;
        if !self.execute {
            writeln!(stdout, "\nnothing was changed; --execute does it")?;
        }
        Ok(())
    }
}

/// The logs of a topic's partitions, and what the target comes to in each where the cluster must be asked.
async fn logs(admin: &Admin, topic: &str, target: &Target) -> Result<Vec<Log>> {
    let starts = admin.list_offsets(topic, Offset::Earliest).await?;
    let ends = admin.list_offsets(topic, Offset::Latest).await?;
    let found = match target {
        Target::Time(ms) => Some(admin.list_offsets(topic, Offset::Timestamp(*ms)).await?),
        _ => None,
    };
    let log = |(index, (start, end)): (usize, (&pillion_client::ListedOffset, &pillion_client::ListedOffset))| Log {
        partition: end.partition,
        start: start.offset.unwrap_or(0),
        end: end.offset.unwrap_or(0),
        at_time: found.as_ref().and_then(|found| found.get(index)?.offset),
    };
    Ok(starts.iter().zip(&ends).enumerate().map(log).collect())
}
