//! Two connectors on one slot, one of them a standby; whichever ends is started again, as a supervisor would.

use anyhow::Result;
use pillion_tests::program::{self, Program};
use rustix::process::Signal;

/// Partitions of the events' topic.
pub(crate) const PARTITIONS: i32 = 2;

/// Both of them.
pub(crate) struct Connectors {
    postgres: String,
    bootstrap: String,
    programs: [Program; 2],
    /// What those said that ended by themselves, which they have no reason to.
    pub(crate) ended: Vec<String>,
}

impl Connectors {
    pub(crate) fn start(postgres: String, bootstrap: String) -> Result<Self> {
        let programs = [start(&postgres, &bootstrap)?, start(&postgres, &bootstrap)?];
        Ok(Self { postgres, bootstrap, programs, ended: Vec::new() })
    }

    /// SIGKILL, and a new start.
    pub(crate) async fn kill(&mut self, which: usize) -> Result<()> {
        self.programs[which].kill().await?;
        self.programs[which] = start(&self.postgres, &self.bootstrap)?;
        Ok(())
    }

    /// SIGTERM, and a new start.
    pub(crate) async fn stop(&mut self, which: usize) -> Result<()> {
        if let Err(error) = self.programs[which].terminate().await {
            self.ended.push(format!("at SIGTERM: {error:#}"));
            self.programs[which].kill().await?;
        }
        self.programs[which] = start(&self.postgres, &self.bootstrap)?;
        Ok(())
    }

    pub(crate) fn signal(&self, which: usize, signal: Signal) {
        // It may have ended by itself; the supervisor will notice.
        let _ = self.programs[which].signal(signal);
    }

    /// Starts again what has ended by itself.
    pub(crate) async fn supervise(&mut self) -> Result<()> {
        for which in 0..self.programs.len() {
            if !self.programs[which].has_ended()? {
                continue;
            }
            let status = self.programs[which].ended().await?;
            self.ended.push(format!("{status}: {}", self.log_of(which)));
            self.programs[which] = start(&self.postgres, &self.bootstrap)?;
        }
        Ok(())
    }

    /// The end of what both said.
    pub(crate) fn log(&self) -> String {
        format!("connector 0:\n{}\nconnector 1:\n{}", self.log_of(0), self.log_of(1))
    }

    fn log_of(&self, which: usize) -> String {
        let log = self.programs[which].log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

fn start(postgres: &str, bootstrap: &str) -> Result<Program> {
    let mut command = program::command("pillion")?;
    command.args(["cdc", "--postgres", postgres, "--bootstrap", bootstrap]);
    command.arg("--set").arg(format!("topic.creation.default.partitions={PARTITIONS}"));
    Program::start_silent("pillion cdc", command)
}
