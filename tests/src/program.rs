//! The workspace's programs as child processes, killed when dropped.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::waiting::PATIENCE;

/// Lines of a program's error output that are kept to be shown.
const LINES_KEPT: usize = 200;

/// A running program.
pub struct Program {
    name: String,
    child: Child,
    first_line: String,
    log: Arc<Mutex<Vec<String>>>,
    /// Those who read what it says, to the end.
    listeners: Vec<JoinHandle<()>>,
}

/// Where a built program is: beside the caller, or beside the tests' own folder. `cargo test --workspace` builds what has tests; programs
/// of other packages are built by `make test` before.
///
/// # Errors
/// When it has not been built.
pub fn path(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().context("a program is in a folder")?;
    let is_inner = folder.ends_with("deps") || folder.ends_with("examples");
    let folder = if is_inner { folder.parent().context("that folder is in a folder")? } else { folder };
    let program = folder.join(name);
    ensure!(program.is_file(), "{} is not built: run `cargo build --workspace --bins` first", program.display());
    Ok(program)
}

/// A command for one of the workspace's programs, without the caller's own settings.
///
/// # Errors
/// As [`path`].
pub fn command(name: &str) -> Result<Command> {
    let mut command = Command::new(path(name)?);
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("OTEL_") || name.starts_with("PILLION_") {
            command.env_remove(&variable);
        }
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// A command for one of the example's services, likewise: all of them are one program.
///
/// # Errors
/// As [`path`].
pub fn service(name: &str) -> Result<Command> {
    let mut command = command("shop")?;
    command.arg(name);
    Ok(command)
}

impl Program {
    /// Starts a program and waits for its first line of output.
    ///
    /// # Errors
    /// When it ends before, with what it said.
    pub async fn start(name: &str, mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let errors = keep(child.stderr.take().context("standard error is piped")?, Arc::clone(&log));
        let mut stdout = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let mut first_line = String::new();
        let read = timeout(PATIENCE, stdout.read_line(&mut first_line)).await;
        let first_line = first_line.trim().to_owned();
        let mut program = Self { name: name.to_owned(), child, first_line, log, listeners: vec![errors] };
        ensure!(matches!(read, Ok(Ok(length)) if length > 0), "{name} did not start:\n{}", program.log());
        program.listeners.push(keep(stdout.into_inner(), Arc::clone(&program.log)));
        Ok(program)
    }

    /// Starts a program that says nothing on its output.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_silent(name: &str, mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let errors = keep(child.stderr.take().context("standard error is piped")?, Arc::clone(&log));
        Ok(Self { name: name.to_owned(), child, first_line: String::new(), log, listeners: vec![errors] })
    }

    /// Its first line: the address it is bound to.
    #[must_use]
    pub fn first_line(&self) -> &str {
        &self.first_line
    }

    /// The end of what it logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    /// Sends it a signal: SIGSTOP and SIGCONT, to hold it and let it go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(id.with_context(|| format!("{} has ended already", self.name))?, signal)?;
        Ok(())
    }

    /// Ends it as a power cut would: SIGKILL.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until it ends by itself; its log is whole then.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status = status.with_context(|| format!("{} does not end:\n{}", self.name, self.log()))??;
        for listener in self.listeners.drain(..) {
            listener.await?;
        }
        Ok(status)
    }

    /// Asks it to end, by SIGTERM, and waits.
    ///
    /// # Errors
    /// When it does not end, or not with exit code 0.
    pub async fn terminate(&mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status = status.with_context(|| format!("{} does not end", self.name))??;
        ensure!(status.success(), "{} ended with {status}:\n{}", self.name, self.log());
        Ok(())
    }
}

/// Reads lines to the end, so that the program never blocks, and keeps the last ones.
fn keep(stream: impl AsyncRead + Unpin + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(mut log) = log.lock() else { return };
            if log.len() == LINES_KEPT {
                log.remove(0);
            }
            log.push(line);
        }
    })
}
