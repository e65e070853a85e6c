//! Commits: one member of a group stores the offset of one partition, one commit behind the other.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use pillion_wire::messages::OffsetCommitRequest;
use pillion_wire::messages::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::Target;
use super::group::member::{Assignor, GroupShape, Member};
use crate::connection::{Connection, error_name};
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::Meter;
use crate::socket;

/// The version of OffsetCommit that is spoken: the last with topic names.
const COMMIT_VERSION: i16 = 9;
/// The member lives longer than any run without a heartbeat.
const SESSION_TIMEOUT: Duration = Duration::from_mins(25);

/// Commit one partition's offset, one commit after the other
#[derive(Debug, Clone, Args)]
pub(crate) struct CommitsLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The topic; its partition 0 is committed
    #[arg(long, default_value = "bench-commits")]
    pub(crate) topic: String,
    /// Create the topic first
    #[arg(long)]
    pub(crate) create: bool,
    /// The group
    #[arg(long, default_value = "bench-commits")]
    pub(crate) group: String,
    /// Stop after so many commits
    #[arg(long, default_value_t = 5_000)]
    pub(crate) count: u64,
    /// Stop after so many seconds, if that is earlier
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Commits sent before, which are not measured
    #[arg(long, default_value_t = 500)]
    pub(crate) warmup: u64,
}

impl CommitsLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        let mut admin = Connection::open(&self.target.bootstrap)?;
        admin.greet()?;
        if self.create {
            admin.create_topic(&self.topic, 1, &[])?;
        }
        socket::sharpen_timers();
        let shape = GroupShape {
            session_timeout: SESSION_TIMEOUT,
            ..GroupShape::new(&self.group, &self.topic, 1, Assignor::Eager)
        };
        let mut member = Member::open(&self.target.bootstrap, shape)?;
        member.find_coordinator()?;
        member.enter()?;
        for offset in 0..self.warmup {
            self.commit(&mut member, offset)?;
        }
        let mut latencies = Latencies::default();
        let meter = Meter::start(self.target.process())?;
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        for offset in self.warmup..self.warmup + self.count {
            let since = Instant::now();
            if since >= end {
                break;
            }
            self.commit(&mut member, offset)?;
            latencies.record(since.elapsed());
        }
        let used = meter.read()?;
        member.leave()?;
        let commits = latencies.count() as u64;
        let mut figures = Figures::default();
        figures.add("commits", commits as f64);
        figures.add("commits_per_s", commits as f64 / used.time.as_secs_f64());
        figures.add_cost(used, commits);
        figures.add_latencies("commit", latencies);
        Ok(figures)
    }

    fn commit(&self, member: &mut Member, offset: u64) -> Result<()> {
        let partition = OffsetCommitRequestPartition {
            committed_offset: i64::try_from(offset)?,
            committed_metadata: Some(String::new()),
            ..OffsetCommitRequestPartition::default()
        };
        let topic = OffsetCommitRequestTopic {
            name: self.topic.clone(),
            partitions: vec![partition],
            ..OffsetCommitRequestTopic::default()
        };
        let request = OffsetCommitRequest {
            group_id: self.group.clone(),
            generation_id_or_member_epoch: member.generation(),
            member_id: member.id().to_owned(),
            topics: vec![topic],
            ..OffsetCommitRequest::default()
        };
        let response = member.connection().ask(&request, COMMIT_VERSION)?;
        let partition = response.topics.first().and_then(|topic| topic.partitions.first());
        let code = partition.context("OffsetCommit answered nothing")?.error_code;
        ensure!(code == 0, "the commit of offset {offset}: {}", error_name(code));
        Ok(())
    }
}
