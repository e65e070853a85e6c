//! Apache Kafka as somebody has it installed: one node, KRaft, the settings of its own `config/server.properties`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Durability;

/// Any cluster id will do.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qk";
/// The virtual machine's flags in Kafka's own start script.
const JVM_FLAGS: [&str; 7] = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
];
/// The heap that Kafka's start script gives a broker.
const HEAP: [&str; 2] = ["-Xmx1G", "-Xms1G"];

/// Where Kafka is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kafka {
    /// An unpacked download, with `bin/` and `libs/`.
    Home(PathBuf),
    /// Its jars as a class path of Java.
    Classpath(String),
}

impl Kafka {
    /// What `KAFKA_HOME` or `KAFKA_CLASSPATH` say; `None` when neither is set.
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(home) = set("KAFKA_HOME") {
            let home = std::path::absolute(home)?;
            let script = home.join("bin/kafka-server-start.sh");
            ensure!(script.is_file(), "KAFKA_HOME: {} is not there", script.display());
            return Ok(Some(Self::Home(home)));
        }
        Ok(set("KAFKA_CLASSPATH").map(Self::Classpath))
    }

    /// Formats `folder/data`, unless that has been done, and answers the command that starts the broker; `ports` are the
    /// broker's and its controller's.
    pub(super) fn command(
        &self,
        folder: &Path,
        ports: [u16; 2],
        durability: Durability,
        more: &[(&str, &str)],
    ) -> Result<Command> {
        let properties = folder.join("server.properties");
        fs::write(&properties, settings(&folder.join("data"), ports, durability, more))?;
        fs::write(folder.join("log4j2.properties"), LOGGING)?;
        if !folder.join("data/meta.properties").is_file() {
            self.format(folder, &properties)?;
        }
        let mut command = match self {
            Self::Home(home) => Command::new(home.join("bin/kafka-server-start.sh")),
            Self::Classpath(_) => self.java(folder, &HEAP, "kafka.Kafka"),
        };
        command.arg(&properties).env("LOG_DIR", folder).current_dir(folder);
        Ok(command)
    }

    fn format(&self, folder: &Path, properties: &Path) -> Result<()> {
        let mut command = match self {
            Self::Home(home) => Command::new(home.join("bin/kafka-storage.sh")),
            Self::Classpath(_) => self.java(folder, &[], "kafka.tools.StorageTool"),
        };
        command.args(["format", "-t", CLUSTER_ID, "-c"]).arg(properties).env("LOG_DIR", folder);
        let output = command.stdin(Stdio::null()).output().context("cannot run Kafka's storage tool")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "Kafka's storage tool failed:\n{said}");
        Ok(())
    }

    fn java(&self, folder: &Path, heap: &[&str], class: &str) -> Command {
        let Self::Classpath(classpath) = self else { unreachable!("scripts find their own Java") };
        let java = std::env::var("JAVA_HOME").map_or_else(|_| "java".into(), |home| Path::new(&home).join("bin/java"));
        let mut command = Command::new(java);
        let logging = folder.join("log4j2.properties");
        command.args(heap).args(JVM_FLAGS).arg(format!("-Dlog4j2.configurationFile={}", logging.display()));
        command.args(["-cp", classpath, class]);
        command
    }
}

/// `log.flush.interval.messages=1` makes Kafka sync each batch before it answers.
fn settings(data: &Path, [port, controller_port]: [u16; 2], durability: Durability, more: &[(&str, &str)]) -> String {
    let sync = match durability {
        Durability::Written => "",
        Durability::Synced => "log.flush.interval.messages=1\n",
    };
    let more: String = more.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let (data, broker, controller) =
        (data.display(), format!("127.0.0.1:{port}"), format!("127.0.0.1:{controller_port}"));
    format!(
        "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
listeners=PLAINTEXT://{broker},CONTROLLER://{controller}
advertised.listeners=PLAINTEXT://{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
{sync}{more}"
    )
}

const LOGGING: &str = "appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
";

#[cfg(test)]
mod tests;
