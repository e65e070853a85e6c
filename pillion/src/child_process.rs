//! A child process that never outlives us.
//!
//! PostgreSQL and the demo's services run as children. Each gets a process group of its own, so that Ctrl-C in a
//! terminal reaches only pillion, which then stops its children in order. Invariant: when pillion itself dies without
//! stopping them (SIGKILL, power to the terminal lost), a guard notices and stops them.
//!
//! The guard is a `sh` that blocks on a pipe whose other end only pillion holds: the pipe closes with pillion, however
//! it dies. Linux has PR_SET_PDEATHSIG for this, but reaching it takes `unsafe`, and macOS has nothing like it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// Waits for pillion's end, then stops process `$1` with signal `$2`, with SIGKILL after 10 s, and removes `$3` if given.
/// A process that has ended but that nobody has waited for counts as gone: in a container the first process may not.
const GUARD_SCRIPT: &str = r#"
cat >/dev/null
kill -s "$2" "$1" 2>/dev/null
waited=0
while kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null && [ "$waited" -lt 100 ]; do
  sleep 0.1
  waited=$((waited + 1))
done
kill -s KILL "$1" 2>/dev/null
[ -z "$3" ] || rm -rf -- "$3"
"#;

/// A running child with its guard.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    name: String,
    child: Child,
    stop_signal: Signal,
    guard: Guard,
}

/// The `sh` that waits for our end; dropping `pipe` is what it waits for.
#[derive(Debug)]
struct Guard {
    process: Child,
    _pipe: Option<ChildStdin>,
}

impl ChildProcess {
    /// Starts `command` in its own process group, with nothing on standard input.
    ///
    /// `stop_signal` asks the child to end. `remove_if_orphaned` is a directory the guard deletes when pillion died
    /// without stopping the child.
    pub(crate) async fn spawn(
        name: &str,
        mut command: Command,
        stop_signal: Signal,
        remove_if_orphaned: Option<&Path>,
    ) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).process_group(0).spawn().with_context(|| {
                format!("cannot start {name} ({})", command.as_std().get_program().to_string_lossy())
            })?;
        let pid = child.id().context("a child has a process id until it is waited for")?;
        match Guard::watch(pid, stop_signal, remove_if_orphaned) {
            Ok(guard) => Ok(Self { name: name.to_owned(), child, stop_signal, guard }),
            Err(error) => {
                child.kill().await.with_context(|| format!("cannot stop {name} after its guard failed to start"))?;
                Err(error)
            }
        }
    }

    /// Name given at the start, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The child's standard output, when it was asked for as a pipe and not taken yet.
    pub(crate) fn take_stdout(&mut self) -> Option<tokio::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// How the child ended, or `None` while it runs.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask how {} is doing", self.name))
    }

    /// Waits until the child ends by itself, and tells how it did. May be cancelled and asked again.
    pub(crate) async fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().await.with_context(|| format!("cannot wait for {}", self.name))
    }

    /// Waits until the child ends by itself, and lets go of it.
    pub(crate) async fn finish(mut self) -> Result<ExitStatus> {
        let status = self.wait().await?;
        self.guard.dismiss().await;
        Ok(status)
    }

    /// Asks the child to end, waits `patience` at most, then kills it. Returns how it ended.
    pub(crate) async fn stop(mut self, patience: Duration) -> Result<ExitStatus> {
        // `id()` is None once the child has been waited for, so the signal cannot reach a stranger with its number.
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // The child may have ended in this moment; waiting for it below tells.
            let _ = kill_process(pid, self.stop_signal);
        }
        let ended = match timeout(patience, self.child.wait()).await {
            Ok(ended) => ended.with_context(|| format!("cannot wait for {}", self.name)),
            Err(_elapsed) => {
                tracing::warn!(child = self.name, patience_s = patience.as_secs(), "did not stop in time, killing it");
                self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))?;
                self.child.wait().await.with_context(|| format!("cannot wait for {}", self.name))
            }
        };
        self.guard.dismiss().await;
        ended
    }
}

impl Guard {
    fn watch(pid: u32, signal: Signal, remove: Option<&Path>) -> Result<Self> {
        let mut process = Command::new("sh")
            .args(["-c", GUARD_SCRIPT, "pillion-guard", &pid.to_string(), signal_name(signal)])
            .arg(remove.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start `sh`, which stops pillion's children if pillion is killed")?;
        let pipe = process.stdin.take();
        Ok(Self { process, _pipe: pipe })
    }

    /// Ends the guard without letting it act: its child has been stopped already.
    async fn dismiss(mut self) {
        if let Err(error) = self.process.kill().await {
            tracing::debug!(%error, "the guard had ended already");
        }
    }
}

fn signal_name(signal: Signal) -> &'static str {
    if signal == Signal::INT { "INT" } else { "TERM" }
}

/// How a process ended, for a message: `exit code 1` or `signal 9`.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// The last lines of a child's log, set in, for quoting in an error.
pub(crate) fn end_of_log(path: &Path) -> String {
    /// More than the lines shown ever need.
    const BYTES: u64 = 16 * 1024;
    const LINES: usize = 15;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            indent(&lines[lines.len().saturating_sub(LINES)..].join("\n"))
        }
        Err(error) => format!("  (cannot read {}: {error})", path.display()),
    }
}

/// Sets lines in by two blanks.
fn indent(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests;
