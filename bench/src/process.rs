//! What a process has used, from `/proc`: processor time, memory, threads.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A process to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pid: u32,
}

impl Process {
    /// The process with this id.
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid }
    }

    /// This process.
    pub(crate) fn own() -> Self {
        Self::new(std::process::id())
    }

    /// User and system time so far.
    ///
    /// Threads' own clocks count nanoseconds but forget threads that have ended; the process's count those too, in
    /// ticks of 10 ms. The larger of both is right in either case.
    pub(crate) fn cpu_time(self) -> Result<Duration> {
        let stat = self.read("stat")?;
        let ticks = cpu_ticks(&stat).with_context(|| format!("/proc/{}/stat cannot be read", self.pid))?;
        let of_process = Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
        let mut of_threads = Duration::ZERO;
        for thread in fs::read_dir(self.path("task"))? {
            // A thread may end while the directory is read.
            let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            let nanoseconds = text.split_whitespace().next().and_then(|field| field.parse().ok());
            of_threads += Duration::from_nanos(nanoseconds.unwrap_or(0));
        }
        Ok(of_process.max(of_threads))
    }

    /// Resident memory in bytes.
    pub(crate) fn resident_bytes(self) -> Result<u64> {
        // The kernel sums `status` up from counters that lag behind; the roll-up walks the mappings.
        match self.read("smaps_rollup") {
            Ok(text) => kilobytes(&text, "Rss:"),
            Err(_) => kilobytes(&self.read("status")?, "VmRSS:"),
        }
    }

    /// The largest resident memory in bytes since the start or the last [`Process::reset_peak`].
    pub(crate) fn peak_resident_bytes(self) -> Result<u64> {
        kilobytes(&self.read("status")?, "VmHWM:")
    }

    /// Forgets the peak of resident memory, where the kernel allows it.
    pub(crate) fn reset_peak(self) {
        // Otherwise the peak is that since the process's start, which is no smaller.
        let _ = fs::write(self.path("clear_refs"), "5");
    }

    /// Threads now.
    pub(crate) fn threads(self) -> Result<u64> {
        field(&self.read("status")?, "Threads:")
    }

    fn path(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }

    fn read(self, name: &str) -> Result<String> {
        let path = self.path(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }
}

/// Voluntary and involuntary context switches of the calling thread.
pub(crate) fn thread_switches() -> Result<(u64, u64)> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    Ok((field(&status, "voluntary_ctxt_switches:")?, field(&status, "nonvoluntary_ctxt_switches:")?))
}

/// Bytes that the calling thread has had read from disks.
pub(crate) fn thread_disk_reads() -> Result<u64> {
    field(&fs::read_to_string("/proc/thread-self/io")?, "read_bytes:")
}

/// Processor time of the calling thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// User and system ticks from `/proc/PID/stat`, whose second field, the name, may hold blanks and parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn kilobytes(text: &str, name: &str) -> Result<u64> {
    Ok(field(text, name)? * 1024)
}

fn field(text: &str, name: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    value.with_context(|| format!("the kernel does not say {name}"))
}

/// Time and the broker's and our own processor time, from [`Meter::start`] on.
#[derive(Debug)]
pub(crate) struct Meter {
    server: Option<Process>,
    begun: Instant,
    server_cpu: Duration,
    own_cpu: Duration,
}

/// What was used while a meter ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// Time that passed.
    pub(crate) time: Duration,
    /// The broker's processor time, when its process is known.
    pub(crate) server_cpu: Option<Duration>,
    /// The load generator's own.
    pub(crate) own_cpu: Duration,
}

impl Meter {
    /// Starts; `server` is the broker's process.
    pub(crate) fn start(server: Option<Process>) -> Result<Self> {
        let server_cpu = server.map(Process::cpu_time).transpose()?.unwrap_or_default();
        Ok(Self { server, server_cpu, own_cpu: Process::own().cpu_time()?, begun: Instant::now() })
    }

    /// What was used since.
    pub(crate) fn read(&self) -> Result<Used> {
        let time = self.begun.elapsed();
        let server_cpu = self.server.map(Process::cpu_time).transpose()?;
        let own_cpu = Process::own().cpu_time()?.saturating_sub(self.own_cpu);
        Ok(Used { time, server_cpu: server_cpu.map(|cpu| cpu.saturating_sub(self.server_cpu)), own_cpu })
    }
}

#[cfg(test)]
mod tests;
