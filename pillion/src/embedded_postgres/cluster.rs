//! The directory of an embedded PostgreSQL: laid out once by `initdb`, opened again later.
//!
//! ```text
//! BASE/pillion.lock      held by the pillion that runs it
//! BASE/password          the superuser's password, readable by us alone
//! BASE/data/             PostgreSQL's data directory, the account's own
//! BASE/socket/           its unix socket, the account's own
//! BASE/postgres.log      what the server says
//! ```
//! Invariant: while the lock is held no other pillion starts or stops a server on this directory, so a server found
//! running then is an orphan of a pillion that died.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::Rng;
use rand::distr::Alphanumeric;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::account::Account;
use super::binaries::Binaries;
use crate::child_process::{ChildProcess, describe_exit, end_of_log};

/// Name of the superuser, and of the database that exists from the start.
pub(super) const SUPERUSER: &str = "postgres";

/// How long an orphaned server may take to stop.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(30);

/// An initialised cluster, ours while the lock is held.
#[derive(Debug)]
pub(super) struct Cluster {
    base: PathBuf,
    /// The superuser's password: letters and digits.
    pub(super) password: String,
    _lock: File,
}

impl Cluster {
    /// Opens the cluster in `base`, and makes it first when there is none. `temporary` is removed should we be killed
    /// meanwhile.
    ///
    /// # Errors
    /// When another pillion uses it, the account cannot reach it, its data is of another major version, or `initdb` fails.
    pub(super) async fn open(
        base: &Path,
        binaries: &Binaries,
        account: Option<&Account>,
        temporary: Option<&Path>,
    ) -> Result<Self> {
        fs::create_dir_all(base).with_context(|| format!("cannot make {}", base.display()))?;
        let base = base.canonicalize().with_context(|| format!("cannot resolve {}", base.display()))?;
        if let Some(account) = account {
            account.check_reaches(&base.join("data"))?;
        }
        let lock = lock(&base)?;
        let password_file = base.join("password");
        let password = match fs::read_to_string(&password_file) {
            Ok(password) => password.trim().to_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => new_password(&password_file)?,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", password_file.display())),
        };
        let cluster = Self { base, password, _lock: lock };
        match cluster.major_version()? {
            None => cluster.initialise(binaries, account, temporary).await?,
            Some(major) if major == binaries.major => cluster.stop_orphan().await?,
            Some(major) => bail!(
                "{} was made by PostgreSQL {major}, but the programs in {} are {}: \
                 choose others with --postgres-binaries, or another data directory",
                cluster.data().display(),
                binaries.directory.display(),
                binaries.version,
            ),
        }
        Ok(cluster)
    }

    /// The directory with all of it.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// PostgreSQL's data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.base.join("data")
    }

    /// Directory of the unix socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.base.join("socket")
    }

    /// What the server writes to standard error.
    pub(super) fn log(&self) -> PathBuf {
        self.base.join("postgres.log")
    }

    /// First line of `PG_VERSION`, which `initdb` writes early; `None` when there is no cluster.
    fn major_version(&self) -> Result<Option<u32>> {
        let path = self.data().join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => {
                let major = text.trim().parse().with_context(|| format!("{} is not a version", path.display()))?;
                Ok(Some(major))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    async fn initialise(&self, binaries: &Binaries, account: Option<&Account>, temporary: Option<&Path>) -> Result<()> {
        for directory in [self.data(), self.socket()] {
            fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))
                .with_context(|| format!("cannot close {} to others", directory.display()))?;
            if let Some(account) = account {
                account.own(&directory)?;
            }
        }
        // initdb reads the password as the account, so it gets a file of its own for the moment.
        let for_initdb = self.socket().join("password-for-initdb");
        write_secret(&for_initdb, &self.password)?;
        if let Some(account) = account {
            account.own(&for_initdb)?;
        }
        let mut initdb = Command::new(binaries.program("initdb"));
        initdb
            .arg("--pgdata")
            .arg(self.data())
            .args(["--username", SUPERUSER, "--encoding", "UTF8", "--locale", "C"])
            .args(["--auth", "scram-sha-256", "--no-sync", "--pwfile"])
            .arg(&for_initdb);
        let log = File::create(self.log()).with_context(|| format!("cannot write {}", self.log().display()))?;
        initdb.stdout(Stdio::null()).stderr(log);
        self.as_account(&mut initdb, account);
        let running = ChildProcess::spawn("initdb", initdb, Signal::TERM, temporary).await;
        let status = match running {
            Ok(running) => running.finish().await,
            Err(error) => Err(error),
        };
        fs::remove_file(&for_initdb).with_context(|| format!("cannot remove {}", for_initdb.display()))?;
        let status = status?;
        if !status.success() {
            // A half-made cluster would pass for a whole one next time.
            let _ = fs::remove_dir_all(self.data());
            bail!("initdb failed ({}):\n{}", describe_exit(status), end_of_log(&self.log()));
        }
        Ok(())
    }

    /// Makes `command` run as `account`, in a directory that the account can enter.
    pub(super) fn as_account(&self, command: &mut Command, account: Option<&Account>) {
        command.current_dir(self.data());
        if let Some(account) = account {
            command.uid(account.uid).gid(account.gid);
        }
    }

    /// Stops the server that a killed pillion left on this directory, if there is one.
    async fn stop_orphan(&self) -> Result<()> {
        let pid_file = self.data().join("postmaster.pid");
        let Ok(text) = fs::read_to_string(&pid_file) else { return Ok(()) };
        let Some(pid) = orphan_of(&text, &self.data()) else { return Ok(()) };
        if test_kill_process(pid).is_err() || !is_postgres(pid) {
            return Ok(());
        }
        tracing::warn!(pid = pid.as_raw_nonzero().get(), "stopping the PostgreSQL that an earlier pillion left behind");
        kill_process(pid, Signal::INT).context("cannot stop the PostgreSQL that an earlier pillion left behind")?;
        let deadline = Instant::now() + ORPHAN_PATIENCE;
        while pid_file.exists() {
            if Instant::now() > deadline {
                bail!(
                    "an earlier pillion left PostgreSQL running as process {}, and it does not stop; stop it by hand",
                    pid.as_raw_nonzero()
                );
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Takes the lock of a base directory, or says who has it.
fn lock(base: &Path) -> Result<File> {
    let path = base.join("pillion.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "{} is in use by another pillion: stop that one, or choose another directory with --data-dir",
            base.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

fn new_password(path: &Path) -> Result<String> {
    let password: String = rand::rng().sample_iter(Alphanumeric).take(24).map(char::from).collect();
    write_secret(path, &password)?;
    Ok(password)
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, secret: &str) -> Result<()> {
    let file = File::options().create(true).truncate(true).write(true).mode(0o600).open(path);
    file.and_then(|mut file| writeln!(file, "{secret}")).with_context(|| format!("cannot write {}", path.display()))
}

/// The process that `postmaster.pid` names, when it names this data directory (its first two lines).
fn orphan_of(pid_file: &str, data: &Path) -> Option<Pid> {
    let mut lines = pid_file.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    let directory = Path::new(lines.next()?.trim());
    (directory == data).then(|| Pid::from_raw(pid)).flatten()
}

/// Whether the process is called `postgres`: a number in a stale file may belong to another program by now.
fn is_postgres(pid: Pid) -> bool {
    let command = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    // Without /proc (macOS) the file's own word has to do.
    command.map_or(true, |name| name.trim() == "postgres")
}

#[cfg(test)]
mod tests;
