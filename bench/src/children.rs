//! What must not outlive us: child processes in groups of their own, and folders of data.
//!
//! Children have their own process groups, so that Ctrl-C reaches only us. Invariant: whatever is made here is
//! registered first, and ended or removed when its owner is dropped, or by [`end_all_on_signals`] when we are asked to
//! end. Only SIGKILL leaves something behind.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as StandardChild, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long a child may take to end when asked to.
const STOP_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long killed processes may take to be gone.
const KILL_WAIT_MAX: Duration = Duration::from_secs(10);

static LEFTOVERS: Mutex<Leftovers> = Mutex::new(Leftovers { children: Vec::new(), folders: Vec::new() });

struct Leftovers {
    children: Vec<Pid>,
    folders: Vec<Folder>,
}

fn leftovers() -> MutexGuard<'static, Leftovers> {
    LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every child and removes every folder on SIGINT, SIGTERM or SIGHUP, then this process.
///
/// # Errors
/// When signals cannot be listened to.
pub(crate) fn end_all_on_signals() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    drop(guard);
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        });
        eprintln!("\nstopping");
        end_all();
        /// What shells answer for a process that SIGINT ended.
        const INTERRUPTED: i32 = 130;
        std::process::exit(INTERRUPTED);
    });
    Ok(())
}

fn end_all() {
    let leftovers = leftovers();
    for child in &leftovers.children {
        // It may have ended by itself.
        let _ = kill_process_group(*child, Signal::KILL);
    }
    let deadline = Instant::now() + KILL_WAIT_MAX;
    while leftovers.children.iter().any(|child| is_alive(*child)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    for folder in leftovers.folders.iter().rev() {
        folder.remove();
    }
}

/// Whether the process still runs: one that has ended but that nobody has waited for does not.
fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// A running child process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    pid: Pid,
    process: Option<StandardChild>,
    log: PathBuf,
}

impl Child {
    /// Starts `command` in a process group of its own; what it says goes to the file `log`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        // Held, so that a signal does not come between the start and the registration.
        let mut leftovers = leftovers();
        let process = command
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", command.get_program().to_string_lossy()))?;
        let pid = Pid::from_child(&process);
        leftovers.children.push(pid);
        Ok(Self { name: name.to_owned(), pid, process: Some(process), log: log.to_owned() })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Fails with the end of its log if it has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn check_running(&mut self) -> Result<()> {
        let ended = self.process.as_mut().map(StandardChild::try_wait).transpose()?.flatten();
        match ended {
            None => Ok(()),
            Some(status) => Err(anyhow::anyhow!("{} ended ({status}):\n{}", self.name, self.end_of_log())),
        }
    }

    /// The last lines it said.
    pub(crate) fn end_of_log(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Asks it to end and waits; kills it when it takes too long.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub(crate) fn stop(mut self) -> Result<ExitStatus> {
        // It may have ended in this moment; waiting for it tells.
        let _ = kill_process(self.pid, Signal::TERM);
        let deadline = Instant::now() + STOP_WAIT_MAX;
        while is_alive(self.pid) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.end()
    }

    /// Ends it as a power cut would, and waits.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub(crate) fn kill(mut self) -> Result<ExitStatus> {
        self.end()
    }

    fn end(&mut self) -> Result<ExitStatus> {
        let mut process = self.process.take().context("a child is ended once")?;
        // The group may have others in it than the child; it exists as long as the child has not been waited for.
        let _ = kill_process_group(self.pid, Signal::KILL);
        // Held, so that a signal's thread never kills a stranger who got this number next.
        let mut leftovers = leftovers();
        let status = process.wait().with_context(|| format!("cannot wait for {}", self.name));
        leftovers.children.retain(|child| *child != self.pid);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.process.is_some()
            && let Err(error) = self.end()
        {
            eprintln!("pillion-bench: {error:#}");
        }
    }
}

/// A folder that is removed with everything in it when dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Folder {
    Data(PathBuf),
    /// The kernel's: holds no files of ours and goes once its processes have gone.
    ControlGroup(PathBuf),
}

impl Folder {
    fn remove(&self) {
        match self {
            Self::Data(path) => {
                if let Err(error) = fs::remove_dir_all(path) {
                    eprintln!("pillion-bench: cannot remove {}: {error}", path.display());
                }
            }
            Self::ControlGroup(path) => {
                let deadline = Instant::now() + KILL_WAIT_MAX;
                while let Err(error) = fs::remove_dir(path) {
                    if Instant::now() > deadline {
                        eprintln!("pillion-bench: cannot remove {}: {error}", path.display());
                        return;
                    }
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}

/// A folder of our own; removed when dropped.
#[derive(Debug)]
pub(crate) struct OwnFolder(Folder);

impl OwnFolder {
    /// Makes a new folder below `parent`, and `parent` where it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn data(parent: &Path, name: &str) -> Result<Self> {
        let path = std::path::absolute(parent)?.join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        Self::register(Folder::Data(path))
    }

    /// Makes a new control group.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn control_group(path: PathBuf) -> Result<Self> {
        Self::register(Folder::ControlGroup(path))
    }

    fn register(folder: Folder) -> Result<Self> {
        let mut leftovers = leftovers();
        let (Folder::Data(path) | Folder::ControlGroup(path)) = &folder;
        fs::create_dir(path).with_context(|| format!("cannot make {}", path.display()))?;
        leftovers.folders.push(folder.clone());
        Ok(Self(folder))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        let (Folder::Data(path) | Folder::ControlGroup(path)) = &self.0;
        path
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let mut leftovers = leftovers();
        self.0.remove();
        leftovers.folders.retain(|folder| *folder != self.0);
    }
}

#[cfg(test)]
mod tests;
