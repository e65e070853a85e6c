//! The first member of a new group: from its connection to its share.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;

use super::member::{Assignor, GroupShape, Member};
use super::new_name;
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::load::Target;
use crate::process::Meter;

/// Partitions that the only member gets.
const PARTITIONS: i32 = 6;

/// Time the first member of a new group, again and again: connect, find the coordinator, join, sync
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupStartLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// What the groups' names begin with
    #[arg(long, default_value = "bench-start")]
    pub(crate) group_prefix: String,
    /// Groups
    #[arg(long, default_value_t = 20)]
    pub(crate) count: usize,
    /// Groups before, which are not measured
    #[arg(long, default_value_t = 1)]
    pub(crate) warmup: usize,
}

impl GroupStartLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        let mut starts = Latencies::default();
        for number in 0..self.warmup {
            self.once(number)?.leave()?;
        }
        let meter = Meter::start(self.target.process())?;
        for number in self.warmup..self.warmup + self.count {
            let since = Instant::now();
            let member = self.once(number)?;
            starts.record(since.elapsed());
            member.leave()?;
        }
        let used = meter.read()?;
        let mut figures = Figures::default();
        figures.add("groups", self.count as f64);
        figures.add_cost(used, self.count as u64);
        figures.add_times("start", starts);
        Ok(figures)
    }

    fn once(&self, number: usize) -> Result<Member> {
        let name = new_name(&self.group_prefix, number)?;
        let group = GroupShape::new(&name, &self.group_prefix, PARTITIONS, Assignor::Eager);
        let mut member = Member::open(&self.target.bootstrap, group)?;
        member.find_coordinator()?;
        member.enter()?;
        ensure!(member.share().len() == PARTITIONS as usize, "the only member has {:?}", member.share());
        Ok(member)
    }
}
