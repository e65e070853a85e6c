//! Starts and stops the server of a cluster.
//!
//! `postgres` itself is our child (no `pg_ctl` between), so its end is seen at once. It is stopped by SIGINT, its "fast
//! shutdown": sessions are ended, a checkpoint is written. Invariant: `start` returns only once a login has worked.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::NoTls;

use super::account::Account;
use super::binaries::{Binaries, BinarySource};
use super::cluster::{Cluster, SUPERUSER};
use crate::child_process::{ChildProcess, describe_exit, end_of_log};

/// Bound of a start: crash recovery on a slow disk included.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Bound of one login while the server comes up.
const LOG_IN_PATIENCE: Duration = Duration::from_secs(2);

/// Bound of a fast shutdown before the server is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Starts tried when the port chosen is taken before the server binds it.
const PORT_ATTEMPTS: usize = 5;

/// Longest path of a unix socket that every system takes (macOS: 104 bytes with the terminator).
const SOCKET_PATH_MAX: usize = 103;

/// What to start.
#[derive(Debug, Default)]
pub(crate) struct EmbeddedPostgresOptions {
    /// Which programs to use.
    pub(crate) binaries: BinarySource,
    /// Where the cluster is kept; without one it is temporary and removed at the end.
    pub(crate) directory: Option<PathBuf>,
    /// TCP port on 127.0.0.1; 0 takes a free one.
    pub(crate) port: u16,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct EmbeddedPostgres {
    process: ChildProcess,
    cluster: Cluster,
    version: String,
    port: u16,
    /// Removed when dropped, after the server has ended.
    temporary: Option<TempDir>,
}

impl EmbeddedPostgres {
    /// Finds the programs, makes the cluster if need be, starts the server and waits until it lets us in.
    ///
    /// # Errors
    /// Says which step failed; a server that does not come up is quoted with the end of its log.
    pub(crate) async fn start(options: EmbeddedPostgresOptions) -> Result<Self> {
        let account = Account::for_postgres()?;
        let binaries = Binaries::obtain(&options.binaries, account.as_ref()).await?;
        tracing::info!(version = binaries.version, directory = %binaries.directory.display(), "using PostgreSQL");
        let (base, temporary) = match options.directory {
            Some(directory) => (directory, None),
            None => {
                let temporary = temporary_directory()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        let cluster = Cluster::open(&base, &binaries, account.as_ref(), temporary.as_ref().map(TempDir::path)).await?;
        let launch = Launch { cluster: &cluster, binaries: &binaries, account: account.as_ref(), removed: &temporary };

        let mut attempt = 1;
        let (process, port) = loop {
            let port = if options.port == 0 { free_port()? } else { options.port };
            match launch.on_port(port).await {
                Ok(process) => break (process, port),
                Err(LaunchError::PortTaken) if options.port == 0 && attempt < PORT_ATTEMPTS => attempt += 1,
                Err(LaunchError::PortTaken) => {
                    bail!(
                        "PostgreSQL cannot have port {port} on 127.0.0.1, another program has it: choose another port"
                    )
                }
                Err(LaunchError::Other(error)) => return Err(error),
            }
        };
        Ok(Self { process, cluster, version: binaries.version, port, temporary })
    }

    /// Connection string of the superuser for one database of this server, by TCP.
    pub(crate) fn url(&self, database: &str) -> String {
        url(&self.cluster, self.port, database)
    }

    /// Version that the server's program told.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The cluster's directory. When it is temporary it is removed with all that was put there, also by the guard.
    pub(crate) fn directory(&self) -> &Path {
        self.cluster.base()
    }

    /// Where the server writes its log.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.cluster.log()
    }

    /// Waits until the server ends by itself.
    ///
    /// # Errors
    /// Always: its end, quoted with the end of its log.
    pub(crate) async fn ended(&mut self) -> Result<()> {
        let status = self.process.wait().await?;
        bail!("PostgreSQL ended by itself ({}):\n{}", describe_exit(status), end_of_log(&self.cluster.log()))
    }

    /// Stops the server and waits for its end; a temporary cluster is removed.
    pub(crate) async fn stop(self) -> Result<()> {
        let log = self.cluster.log();
        let status = self.process.stop(STOP_PATIENCE).await?;
        if !status.success() {
            tracing::warn!("PostgreSQL ended with {}:\n{}", describe_exit(status), end_of_log(&log));
        }
        if let Some(temporary) = self.temporary {
            let path = temporary.path().to_owned();
            temporary.close().with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }
}

/// Why a server did not come up.
enum LaunchError {
    /// Another program has the TCP port.
    PortTaken,
    Other(anyhow::Error),
}

/// What one start of the server needs, but for the port.
struct Launch<'a> {
    cluster: &'a Cluster,
    binaries: &'a Binaries,
    account: Option<&'a Account>,
    /// Removed by the guard should we be killed.
    removed: &'a Option<TempDir>,
}

impl Launch<'_> {
    async fn on_port(&self, port: u16) -> Result<ChildProcess, LaunchError> {
        let command = self.command(port).map_err(LaunchError::Other)?;
        let removed = self.removed.as_ref().map(TempDir::path);
        let mut process =
            ChildProcess::spawn("PostgreSQL", command, Signal::INT, removed).await.map_err(LaunchError::Other)?;
        let Err(error) = self.wait_until_ready(&mut process, port).await else { return Ok(process) };
        process.stop(STOP_PATIENCE).await.map_err(LaunchError::Other)?;
        // The server's own words; messages are in English, for the cluster's locale is C.
        let port_taken = end_of_log(&self.cluster.log()).contains("Address already in use");
        Err(if port_taken { LaunchError::PortTaken } else { LaunchError::Other(error) })
    }

    fn command(&self, port: u16) -> Result<Command> {
        let log_path = self.cluster.log();
        let log = File::create(&log_path).with_context(|| format!("cannot write {}", log_path.display()))?;
        let log_too = log.try_clone().with_context(|| format!("cannot write {}", log_path.display()))?;
        let socket_path = self.cluster.socket().join(format!(".s.PGSQL.{port}.lock"));
        let socket_directory = if socket_path.as_os_str().len() > SOCKET_PATH_MAX {
            tracing::warn!(path = %socket_path.display(), "no unix socket, its path would be too long");
            PathBuf::new()
        } else {
            self.cluster.socket()
        };
        let mut command = Command::new(self.binaries.program("postgres"));
        command.arg("-D").arg(self.cluster.data());
        let settings = [
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("port", port.to_string()),
            ("unix_socket_directories", quote_list_item(&socket_directory)),
            ("wal_level", "logical".to_owned()),
            ("max_wal_senders", "10".to_owned()),
            ("max_replication_slots", "10".to_owned()),
            // A developer's machine runs more than this.
            ("shared_buffers", "32MB".to_owned()),
            ("logging_collector", "off".to_owned()),
            ("log_destination", "stderr".to_owned()),
            ("lc_messages", "C".to_owned()),
        ];
        for (name, value) in settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // Its standard output must not be ours: scripts read our first line, and wait for the end of the stream.
        command.stdout(Stdio::from(log)).stderr(Stdio::from(log_too));
        self.cluster.as_account(&mut command, self.account);
        Ok(command)
    }

    async fn wait_until_ready(&self, process: &mut ChildProcess, port: u16) -> Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        let url = url(self.cluster, port, "postgres");
        loop {
            if let Some(status) = process.try_wait()? {
                let log = end_of_log(&self.cluster.log());
                bail!("PostgreSQL did not start ({}); the end of its log:\n{log}", describe_exit(status));
            }
            // Refused connections and "the database system is starting up" both mean: not yet.
            // Whoever else has the port may accept and say nothing, hence the bound on each attempt.
            let error = match timeout(LOG_IN_PATIENCE, log_in(&url)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => anyhow::Error::new(error),
                Err(_elapsed) => anyhow!("a login got no answer"),
            };
            if Instant::now() > deadline {
                let log = end_of_log(&self.cluster.log());
                bail!("PostgreSQL let nobody in for {START_PATIENCE:?} ({error:#}); the end of its log:\n{log}");
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Connects and leaves.
async fn log_in(url: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    drop(client);
    connection.await
}

fn url(cluster: &Cluster, port: u16, database: &str) -> String {
    format!("postgres://{SUPERUSER}:{}@127.0.0.1:{port}/{database}", cluster.password)
}

/// A temporary directory that other accounts may pass through.
fn temporary_directory() -> Result<TempDir> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let directory =
        tempfile::Builder::new().prefix("pillion-").tempdir().context("cannot make a temporary directory")?;
    set_permissions(directory.path(), Permissions::from_mode(0o711)).context("cannot open the temporary directory")?;
    Ok(directory)
}

/// A TCP port that was free a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no TCP port is free on 127.0.0.1")?;
    Ok(listener.local_addr().context("a bound socket has an address")?.port())
}

/// Quotes one path for a setting that is a comma-separated list.
fn quote_list_item(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { String::new() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests;
