//! What one thread's work costs: time, processor time, context switches.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::figures::number;
use crate::process::{thread_cpu_time, thread_disk_reads, thread_switches};

/// Runs from [`Clock::start`] on, for the calling thread.
#[derive(Debug)]
pub(super) struct Clock {
    begun: Instant,
    cpu: Duration,
    switches: (u64, u64),
    disk_reads: u64,
}

/// What was used for so many bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) bytes: u64,
    pub(super) time: Duration,
    pub(super) cpu: Duration,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) disk_read_bytes: u64,
}

impl Clock {
    pub(super) fn start() -> Result<Self> {
        let (switches, disk_reads) = (thread_switches()?, thread_disk_reads()?);
        Ok(Self { switches, disk_reads, cpu: thread_cpu_time(), begun: Instant::now() })
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn read(&self, bytes: u64) -> Result<Cost> {
        let (time, cpu) = (self.begun.elapsed(), thread_cpu_time().saturating_sub(self.cpu));
        let (voluntary, involuntary) = thread_switches()?;
        Ok(Cost {
            bytes,
            time,
            cpu,
            voluntary_switches: voluntary - self.switches.0,
            involuntary_switches: involuntary - self.switches.1,
            disk_read_bytes: thread_disk_reads()? - self.disk_reads,
        })
    }
}

/// Measures so many times, and answers the measurement whose processor time a GB is in the middle: one that was
/// disturbed is not.
pub(super) fn middle_of<T>(
    rounds: usize,
    cost: impl Fn(&T) -> &Cost,
    mut measure: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut all = (0..rounds.max(1)).map(|_| measure()).collect::<Result<Vec<T>>>()?;
    let cpu = |one: &T| cost(one).cpu.as_secs_f64() / cost(one).gigabytes();
    all.sort_by(|one, other| cpu(one).total_cmp(&cpu(other)));
    Ok(all.swap_remove(all.len() / 2))
}

impl Cost {
    pub(super) fn gigabytes(&self) -> f64 {
        self.bytes as f64 / 1e9
    }

    /// Which part of the bytes came from the disk.
    pub(super) fn disk_part(&self) -> String {
        format!("{:.0} %", 100.0 * self.disk_read_bytes as f64 / self.bytes as f64)
    }

    /// MB/s, CPU s/GB, voluntary and involuntary context switches a GB.
    pub(super) fn cells(&self) -> [String; 4] {
        let gigabytes = self.gigabytes();
        [
            number(gigabytes * 1e3 / self.time.as_secs_f64()),
            number(self.cpu.as_secs_f64() / gigabytes),
            number((self.voluntary_switches as f64 / gigabytes).round()),
            number((self.involuntary_switches as f64 / gigabytes).round()),
        ]
    }
}

/// The heads of [`Cost::cells`].
pub(super) const HEADS: [&str; 4] = ["MB/s", "CPU s/GB", "voluntary switches/GB", "involuntary switches/GB"];

#[cfg(test)]
mod tests;
