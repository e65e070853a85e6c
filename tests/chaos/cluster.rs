//! The broker of a story: ours, or Apache Kafka where `KAFKA_HOME` or `KAFKA_CLASSPATH` say where it is.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use pillion_tests::program::{self, Program};
use pillion_tests::proxy::Proxy;
use pillion_tests::waiting::wait_for;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::process::Command;

/// Any cluster id will do.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qk";

/// Which broker.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// `pillion broker`.
    Pillion,
    /// An unpacked download.
    KafkaHome(PathBuf),
    /// Kafka's jars.
    KafkaClasspath(String),
}

impl Kind {
    /// Those whose turn it is, one story after the other. `ONLY=kafka` leaves ours out.
    pub(crate) fn from_environment() -> Result<Vec<Self>> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let kafka = set("KAFKA_HOME")
            .map(|home| Self::KafkaHome(home.into()))
            .or_else(|| set("KAFKA_CLASSPATH").map(Self::KafkaClasspath));
        let only = set("ONLY").unwrap_or_default();
        let kinds: Vec<_> = [Some(Self::Pillion), kafka].into_iter().flatten().collect();
        let wanted: Vec<_> = kinds.into_iter().filter(|kind| kind.name().contains(&only)).collect();
        ensure!(!wanted.is_empty(), "no broker is left: ONLY={only}");
        Ok(wanted)
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pillion => "pillion",
            Self::KafkaHome(_) | Self::KafkaClasspath(_) => "kafka",
        }
    }
}

/// A broker: readers reach it as it is, connectors through a proxy.
pub(crate) struct Cluster {
    kind: Kind,
    folder: TempDir,
    address: SocketAddr,
    behind: SocketAddr,
    controller: SocketAddr,
    pub(crate) proxy: Proxy,
    program: Program,
}

impl Cluster {
    pub(crate) async fn start(kind: &Kind) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let [address, behind, controller] = free_addresses()?;
        let proxy = Proxy::kafka(behind).await?;
        if !matches!(kind, Kind::Pillion) {
            std::fs::write(
                folder.path().join("server.properties"),
                properties(&folder, [address, behind, controller], &proxy),
            )?;
            std::fs::write(folder.path().join("log4j2.properties"), LOGGING)?;
            let mut format = kafka(kind, folder.path(), "kafka-storage.sh", "kafka.tools.StorageTool")?;
            format.args(["format", "-t", CLUSTER_ID, "-c"]).arg(folder.path().join("server.properties"));
            let output = format.output().await?;
            ensure!(output.status.success(), "Kafka's storage tool: {}", String::from_utf8_lossy(&output.stderr));
        }
        let program = launch(kind, folder.path(), [address, behind], &proxy)?;
        let cluster = Self { kind: kind.clone(), folder, address, behind, controller, proxy, program };
        cluster.wait().await?;
        Ok(cluster)
    }

    /// Where readers reach it.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.program.kill().await
    }

    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.program = launch(&self.kind, self.folder.path(), [self.address, self.behind], &self.proxy)?;
        self.wait().await
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        self.program.signal(signal)
    }

    /// The end of what it said.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    async fn wait(&self) -> Result<()> {
        let answers = wait_for("the broker to answer", || async {
            Ok(tokio::net::TcpStream::connect(self.behind).await.ok().map(drop))
        });
        answers.await.with_context(|| format!("{:?}:\n{}", self.controller, self.log()))
    }
}

fn launch(kind: &Kind, folder: &Path, [address, behind]: [SocketAddr; 2], proxy: &Proxy) -> Result<Program> {
    let mut command = match kind {
        Kind::Pillion => program::command("pillion")?,
        _ => kafka(kind, folder, "kafka-server-start.sh", "kafka.Kafka")?,
    };
    if let Kind::Pillion = kind {
        command.arg("broker").arg("--data-dir").arg(folder.join("data")).args(["--listen", &address.to_string()]);
        command.arg("--listener").arg(format!("PROXIED://{behind}={}", proxy.address()));
        // What else is on the machine's disk is no part of a story.
        command.args(["--set", "log.min.free.bytes=0"]);
    } else {
        command.arg(folder.join("server.properties"));
    }
    Program::start_silent("the broker", command)
}

/// One of Kafka's programs. The script ends in `exec`: its process becomes the broker.
fn kafka(kind: &Kind, folder: &Path, script: &str, class: &str) -> Result<Command> {
    let mut command = match kind {
        Kind::Pillion => anyhow::bail!("not Kafka"),
        Kind::KafkaHome(home) => Command::new(home.join("bin").join(script)),
        Kind::KafkaClasspath(classpath) => {
            let mut command = Command::new("java");
            let logging = folder.join("log4j2.properties");
            command.args(["-Xmx512m", "-XX:+UseSerialGC"]);
            command.arg(format!("-Dlog4j2.configurationFile={}", logging.display()));
            command.args(["-cp", classpath, class]);
            command
        }
    };
    command.env("LOG_DIR", folder).env("KAFKA_HEAP_OPTS", "-Xmx512m").stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

fn properties(folder: &TempDir, [address, behind, controller]: [SocketAddr; 3], proxy: &Proxy) -> String {
    let (data, proxied) = (folder.path().join("data"), proxy.address());
    format!(
        "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
listeners=PLAINTEXT://{address},PROXIED://{behind},CONTROLLER://{controller}
advertised.listeners=PLAINTEXT://{address},PROXIED://{proxied}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={}
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=3
transaction.state.log.min.isr=1
",
        data.display()
    )
}

const LOGGING: &str = "appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
";

fn free_addresses() -> Result<[SocketAddr; 3]> {
    let listen = || TcpListener::bind("127.0.0.1:0");
    let listeners = [listen()?, listen()?, listen()?];
    Ok([listeners[0].local_addr()?, listeners[1].local_addr()?, listeners[2].local_addr()?])
}
