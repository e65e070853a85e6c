//! What the operating system knows of this process: /proc on Linux, nothing elsewhere.

use std::fs;

/// One look at this process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Process {
    /// Processor time used, user and system, in seconds.
    pub(crate) cpu_seconds: f64,
    /// Memory in use that is the process's own or shared, in bytes.
    pub(crate) resident_bytes: u64,
    /// Address space in bytes.
    pub(crate) virtual_bytes: u64,
    /// Threads.
    pub(crate) threads: u64,
    /// When it began, in seconds since the Unix epoch.
    pub(crate) started_seconds: f64,
    /// Open file descriptors.
    pub(crate) open_files: u64,
    /// The most there may be; `None` where there is no limit.
    pub(crate) open_files_max: Option<u64>,
}

/// Looks; `None` where there is no /proc.
pub(crate) fn look() -> Option<Process> {
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?)?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot_seconds: f64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(Process {
        cpu_seconds: stat.cpu_ticks as f64 / ticks,
        resident_bytes: stat.resident_pages * rustix::param::page_size() as u64,
        virtual_bytes: stat.virtual_bytes,
        threads: stat.threads,
        started_seconds: boot_seconds + stat.started_ticks as f64 / ticks,
        // One of them is the directory that is being read.
        open_files: (fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1),
        open_files_max: rustix::process::getrlimit(rustix::process::Resource::Nofile).current,
    })
}

/// What is wanted of `/proc/self/stat` (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    started_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, which may hold anything.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first of these is field 3 of the manual.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            started_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests;
