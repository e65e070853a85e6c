//! Many members join one group at once: until all have their shares in one generation, and what they take then.
//!
//! Their connections are opened before, so that what members take is told apart from what connections take.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::crew::Crew;
use super::member::{Assignor, GroupShape, Member};
use super::new_name;
use crate::connection::raise_descriptors;
use crate::figures::Figures;
use crate::load::Target;
use crate::process::{Meter, Process};

/// How long memory is given to settle.
const SETTLE: Duration = Duration::from_secs(1);
/// Idle processor time is told for so many seconds.
const IDLE_SECONDS: f64 = 10.0;

/// Let many members join one group at once, then heartbeat, then be silent
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupSizeLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// What the group's name begins with
    #[arg(long, default_value = "bench-size")]
    pub(crate) group_prefix: String,
    /// Members, each on a connection of its own
    #[arg(long, default_value_t = 1_000)]
    pub(crate) members: usize,
    /// Milliseconds between a member's heartbeats
    #[arg(long, default_value_t = 3_000)]
    pub(crate) heartbeat_ms: u64,
    /// Seconds of heartbeats, and then of silence, that are measured; less than the session's 45
    #[arg(long, default_value_t = IDLE_SECONDS)]
    pub(crate) idle: f64,
}

impl GroupSizeLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        ensure!(self.members > 0 && self.heartbeat_ms > 0, "one member and one millisecond at least");
        ensure!(self.idle > 0.0 && self.idle < 40.0, "between 0 and 40 seconds of silence");
        raise_descriptors();
        let heartbeat = Duration::from_millis(self.heartbeat_ms);
        let server = self.target.process();
        let name = new_name(&self.group_prefix, 0)?;
        // A partition for each.
        let group = GroupShape::new(&name, &self.group_prefix, i32::try_from(self.members)?, Assignor::Eager);
        let mut members = Vec::with_capacity(self.members);
        for number in 0..self.members {
            let member = Member::open(&self.target.bootstrap, group.clone());
            members.push(member.with_context(|| format!("connection {number}"))?);
        }
        // One broker: what one finds all have found.
        members[0].find_coordinator()?;
        thread::sleep(SETTLE);
        let connected = server.map(Process::resident_bytes).transpose()?;
        server.inspect(|server| server.reset_peak());

        let mut crew = Crew::new(group, heartbeat);
        let meter = Meter::start(server)?;
        let since = Instant::now();
        for member in members {
            crew.add(member)?;
        }
        let settled = crew.wait_until_settled()?;
        let used = meter.read()?;
        let time = settled.at - since;
        let mut figures = Figures::default();
        figures.add("members", self.members as f64);
        figures.add("settle_s", time.as_secs_f64());
        figures.add("settle_heartbeats", time.as_secs_f64() / heartbeat.as_secs_f64());
        figures.add("generations", f64::from(settled.generation));
        figures.add("entries_each", crew.entries() as f64 / self.members as f64);
        if let Some(cpu) = used.server_cpu {
            figures.add("settle_cpu_s", cpu.as_secs_f64());
        }
        figures.add("settle_generator_cpu_s", used.own_cpu.as_secs_f64());
        if let (Some(server), Some(connected)) = (server, connected) {
            figures.add("peak_resident_mb", server.peak_resident_bytes()? as f64 / 1e6);
            self.idle(&crew, server, connected, &mut figures)?;
        }
        crew.leave()?;
        Ok(figures)
    }

    /// What members take that only heartbeat, and then members that do nothing.
    fn idle(&self, crew: &Crew, server: Process, connected: u64, figures: &mut Figures) -> Result<()> {
        let idle = Duration::from_secs_f64(self.idle);
        thread::sleep(SETTLE);
        let (meter, before) = (Meter::start(Some(server))?, crew.heartbeats());
        thread::sleep(idle);
        let (used, heartbeats) = (meter.read()?, crew.heartbeats() - before);
        let cpu = used.server_cpu.unwrap_or_default();
        let resident = server.resident_bytes()?;
        figures.add("kb_each", (resident as f64 - connected as f64) / 1e3 / self.members as f64);
        figures.add("resident_mb", resident as f64 / 1e6);
        figures.add("heartbeats_per_s", heartbeats as f64 / used.time.as_secs_f64());
        figures.add("heartbeat_cpu_us", cpu.as_secs_f64() * 1e6 / heartbeats.max(1) as f64);
        crew.rest();
        thread::sleep(SETTLE);
        let meter = Meter::start(Some(server))?;
        thread::sleep(idle);
        let used = meter.read()?;
        let cpu = used.server_cpu.unwrap_or_default().as_secs_f64() * 1e3;
        figures.add("silent_cpu_ms_in_10_s", cpu * IDLE_SECONDS / used.time.as_secs_f64());
        Ok(())
    }
}
