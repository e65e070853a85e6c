//! A third member comes to a group of two: how long until all three have their new shares?
//!
//! The two learn of it by their heartbeats, so the time is that of one interval at most, and of one more where a second
//! generation hands over what the first made free. Members come at different moments between two heartbeats, the first
//! one right after a heartbeat, which is the worst.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use super::crew::Crew;
use super::member::{Assignor, GroupShape, Member};
use super::new_name;
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::load::Target;

/// Partitions shared out.
const PARTITIONS: i32 = 6;

/// Time a third member's coming until all three have their new shares
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupRebalanceLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// What the groups' names begin with
    #[arg(long, default_value = "bench-rebalance")]
    pub(crate) group_prefix: String,
    /// Milliseconds between a member's heartbeats
    #[arg(long, default_value_t = 3_000)]
    pub(crate) heartbeat_ms: u64,
    /// Keep partitions during the rebalance (cooperative)
    #[arg(long)]
    pub(crate) cooperative: bool,
    /// Groups to which a third member comes
    #[arg(long, default_value_t = 3)]
    pub(crate) count: usize,
}

impl GroupRebalanceLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        ensure!(self.count > 0 && self.heartbeat_ms > 0, "one group and one millisecond at least");
        let heartbeat = Duration::from_millis(self.heartbeat_ms);
        let mut times = Latencies::default();
        for number in 0..self.count {
            times.record(self.once(number, heartbeat.mul_f64(number as f64 / self.count as f64))?);
        }
        let summary = times.clone().summary();
        let mut figures = Figures::default();
        figures.add("groups", self.count as f64);
        figures.add("heartbeat_ms", self.heartbeat_ms as f64);
        figures.add_times("settled", times);
        let in_heartbeats = |microseconds: f64| microseconds / 1e3 / self.heartbeat_ms as f64;
        figures.add("settled_p50_heartbeats", in_heartbeats(summary.p50_us));
        figures.add("settled_max_heartbeats", in_heartbeats(summary.max_us));
        Ok(figures)
    }

    /// One group; its third member begins to join so long after the two have settled.
    fn once(&self, number: usize, phase: Duration) -> Result<Duration> {
        let assignor = if self.cooperative { Assignor::Cooperative } else { Assignor::Eager };
        let group = GroupShape::new(&new_name(&self.group_prefix, number)?, &self.group_prefix, PARTITIONS, assignor);
        let open = || Member::open(&self.target.bootstrap, group.clone());
        let mut crew = Crew::new(group.clone(), Duration::from_millis(self.heartbeat_ms));
        for _ in 0..2 {
            let mut member = open()?;
            member.find_coordinator()?;
            crew.add(member)?;
        }
        let before = crew.wait_until_settled()?;
        let mut third = open()?;
        third.find_coordinator()?;
        thread::sleep((before.at + phase).saturating_duration_since(Instant::now()));
        let since = Instant::now();
        crew.add(third)?;
        let settled = crew.wait_until_settled()?;
        ensure!(settled.generation > before.generation, "generation {} again", settled.generation);
        crew.leave()?;
        Ok(settled.at - since)
    }
}
