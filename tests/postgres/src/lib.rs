//! A throw-away Postgres of a test's own, with logical replication on. Stopped and removed when dropped.
//!
//! Postgres refuses to run as root, so for root it runs as the user `postgres`, or `nobody` where there is none; its
//! folder lies under the system's folder for temporary files, which every user may search.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio_postgres::{Client, NoTls};

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    binaries: PathBuf,
    user: Option<String>,
    folder: tempfile::TempDir,
    port: u16,
    settings: Vec<String>,
    process: Child,
}

impl Server {
    /// Makes a cluster and starts it.
    pub async fn start() -> Result<Server> {
        Self::start_with(&[]).await
    }

    /// The same with more settings, as `shared_buffers=128MB`, which it keeps over a restart.
    pub async fn start_with(settings: &[&str]) -> Result<Server> {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let binaries = find_binaries()?;
        let user = service_user()?;
        let folder = tempfile::Builder::new().prefix("pillion-test-postgres-").tempdir()?;
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        if let Some(user) = &user {
            run(Command::new("chown").arg(user).arg(&data))?;
        }
        let mut initdb = as_user(user.as_deref(), &binaries.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"]);
        run(initdb.arg(&data))?;
        let (port, process) = launch(&binaries, user.as_deref(), &data, None, &settings).await?;
        Ok(Server { binaries, user, folder, port, settings, process })
    }

    /// Where it answers, for the superuser.
    pub fn url(&self) -> String {
        format!("postgresql://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// A connection.
    pub async fn connect(&self) -> Result<Client> {
        connect(self.port).await
    }

    /// The folder of its programs, which holds the clients too.
    pub fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// Its data directory, to do to it what happens to databases while it is down.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The id of its first process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// SIGKILL: nothing is flushed, nobody is told.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// SIGSTOP to all of its processes: connections stay, nobody answers. Linux only.
    pub fn pause(&self) -> Result<()> {
        self.signal_all("-STOP")
    }

    /// The end of [`Server::pause`].
    pub fn go_on(&self) -> Result<()> {
        self.signal_all("-CONT")
    }

    fn signal_all(&self, signal: &str) -> Result<()> {
        let id = self.process.id();
        // The first process goes first: no child is made behind our back, and it is the last to miss one.
        run(Command::new("kill").args([signal, &id.to_string()]))?;
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        for child in children.split_whitespace() {
            // It may have ended meanwhile.
            let _ = Command::new("kill").args([signal, child]).stderr(Stdio::null()).status();
        }
        Ok(())
    }

    /// A fast shutdown: sessions are ended, a checkpoint is written. One that takes too long is killed.
    pub async fn stop(&mut self) -> Result<()> {
        let id = self.process.id().to_string();
        run(Command::new("kill").args(["-INT", &id]))?;
        let deadline = Instant::now() + START_TIMEOUT;
        while self.process.try_wait()?.is_none() {
            if Instant::now() > deadline {
                return self.kill();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Starts it again on the same port.
    pub async fn restart(&mut self) -> Result<()> {
        let data = self.folder.path().join("data");
        // A killed server's children may hold its shared memory for a moment more.
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            match launch(&self.binaries, self.user.as_deref(), &data, Some(self.port), &self.settings).await {
                Ok((_, process)) => {
                    self.process = process;
                    return Ok(());
                }
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGQUIT, an immediate shutdown: the children go too. Without its `kill`, the folder stays.
        let id = self.process.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &id]).stderr(Stdio::null()).status();
        let _ = self.process.wait();
    }
}

async fn launch(
    binaries: &Path,
    user: Option<&str>,
    data: &Path,
    port: Option<u16>,
    settings: &[String],
) -> Result<(u16, Child)> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        // Another process may take a free port before the server does; then another is tried.
        let chosen = match port {
            Some(port) => port,
            None => TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
        };
        let log = std::fs::File::options().create(true).append(true).open(data.with_file_name("server.log"))?;
        let mut command = as_user(user, &binaries.join("postgres"));
        command.arg("-D").arg(data);
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={chosen}"),
            "unix_socket_directories=",
            "wal_level=logical",
            "max_wal_senders=10",
            "max_replication_slots=10",
            "shared_buffers=16MB",
        ] {
            command.args(["-c", setting]);
        }
        for setting in settings {
            command.args(["-c", setting]);
        }
        let mut process = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        while process.try_wait()?.is_none() {
            if connect(chosen).await.is_ok() {
                return Ok((chosen, process));
            }
            if Instant::now() > deadline {
                process.kill()?;
                process.wait()?;
                bail!("Postgres did not answer in time");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let log = std::fs::read_to_string(data.with_file_name("server.log")).unwrap_or_default();
        ensure!(port.is_none() && log.contains("could not bind"), "Postgres did not start: {log}");
    }
}

async fn connect(port: u16) -> Result<Client> {
    let url = format!("postgresql://postgres@127.0.0.1:{port}/postgres");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The folder `PILLION_POSTGRES_BINARIES` names, to test another version; else the newest of Debian's layout, or whatever is on
/// the path.
fn find_binaries() -> Result<PathBuf> {
    let named = std::env::var_os("PILLION_POSTGRES_BINARIES").map(PathBuf::from);
    if let Some(binaries) = named.filter(|folder| folder.join("initdb").exists()) {
        return Ok(binaries);
    }
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, binaries)| binaries.join("initdb").exists())
        .collect();
    versions.sort();
    if let Some((_, binaries)) = versions.pop() {
        return Ok(binaries);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .context("no Postgres server is installed: install the package postgresql, or put its bin folder on the PATH")
}

/// Whom the server runs as if we are root.
fn service_user() -> Result<Option<String>> {
    let id = |arguments: &[&str]| Command::new("id").args(arguments).output();
    if id(&["-u"])?.stdout != b"0\n" {
        return Ok(None);
    }
    for user in ["postgres", "nobody"] {
        if id(&["-u", user])?.status.success() {
            return Ok(Some(user.to_owned()));
        }
    }
    bail!("root cannot run Postgres, and there is no user postgres or nobody")
}

/// The process itself becomes the program, so that its id is the program's.
fn as_user(user: Option<&str>, program: &Path) -> Command {
    let mut command = match user {
        Some(user) => {
            let mut command = Command::new("setpriv");
            // A test that is killed takes its server along.
            command
                .args(["--reuid", user, "--regid", user, "--clear-groups", "--pdeathsig", "QUIT", "--"])
                .arg(program);
            command
        }
        None => Command::new(program),
    };
    command.current_dir("/");
    command
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
