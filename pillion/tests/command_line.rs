//! The binary as scripts and people meet it: what it prints first, how it ends, what it leaves behind.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Longer than anything here takes on a loaded machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

fn pillion(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pillion"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Whoever runs the tests may have settings of their own.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PILLION_") || name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    pillion(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A running pillion, killed if a test fails before stopping it.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    first_line: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = pillion(arguments).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        stdout.read_line(&mut first_line).unwrap();
        Self { child, stdout, first_line: first_line.trim_end().to_owned() }
    }

    fn broker(data: &Path) -> Self {
        Self::start(&["broker", "--data-dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0"])
    }

    fn address(&self) -> SocketAddr {
        self.first_line.parse().unwrap_or_else(|_| panic!("the first line is an address, not {:?}", self.first_line))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends a signal; returns the exit code, and what else was on standard output.
    fn stop(mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (status.code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_broker_prints_its_bound_address_first_and_ends_cleanly_on_either_signal() {
    let directory = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let broker = Running::broker(directory.path());
        assert_ne!(broker.address().port(), 0);
        TcpStream::connect(broker.address()).unwrap();
        assert_eq!(broker.stop(signal), (Some(0), String::new()), "nothing else is on standard output");
    }
}

#[test]
fn two_brokers_cannot_have_one_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let first = Running::broker(directory.path());
    first.address();
    let second = run(&["broker", "--data-dir", directory.path().to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(second.stdout.is_empty(), "an address is printed only by a broker that answers");
    assert!(text(&second.stderr).contains("the broker cannot start"), "{}", text(&second.stderr));
}

#[test]
fn records_produced_are_consumed_with_key_and_headers() {
    let directory = tempfile::tempdir().unwrap();
    let broker = Running::broker(directory.path());
    let bootstrap = broker.address().to_string();
    let created = run(&["topic", "create", "orders", "--partitions", "2", "-b", &bootstrap]);
    assert_eq!(text(&created.stdout), "created orders\n", "{}", text(&created.stderr));

    let mut producer = pillion(&["produce", "orders", "-K", ":", "-H", "source=test", "-b", &bootstrap]);
    let mut producer = producer.stdin(Stdio::piped()).spawn().unwrap();
    producer.stdin.take().unwrap().write_all(b"7:first\n7:se:cond\n7:third").unwrap();
    let produced = producer.wait_with_output().unwrap();
    assert!(produced.status.success(), "{}", text(&produced.stderr));

    let consumed = run(&["consume", "orders", "--exit-at-end", "-f", "%o %k %s %h\\n", "-b", &bootstrap]);
    let expected = "0 7 first source=test\n1 7 se:cond source=test\n2 7 third source=test\n";
    assert_eq!(text(&consumed.stdout), expected, "{}", text(&consumed.stderr));
    let last = run(&["consume", "orders", "--from", "-1", "--exit-at-end", "-b", &bootstrap]);
    assert_eq!(text(&last.stdout), "third\n");
    let counted = run(&["consume", "orders", "-n", "2", "-b", &bootstrap]);
    assert_eq!(text(&counted.stdout), "first\nse:cond\n");

    let deleted = run(&["topic", "delete", "orders", "missing", "-b", &bootstrap]);
    assert_eq!((text(&deleted.stdout).as_str(), deleted.status.code()), ("deleted orders\n", Some(1)));
    assert_eq!(text(&run(&["topic", "list", "-b", &bootstrap]).stdout), "TOPIC  PARTITIONS\n");
}

#[test]
fn a_topic_is_altered_and_its_records_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let broker = Running::broker(directory.path());
    let bootstrap = broker.address().to_string();
    run(&["topic", "create", "orders", "--config", "flush.ms=9", "-b", &bootstrap]);
    let changes = ["--set", "retention.ms=5000", "--unset", "flush.ms", "--append", "cleanup.policy=compact"];
    let altered = run(&[&["topic", "alter", "orders", "--partitions", "3", "-b", &bootstrap], &changes[..]].concat());
    assert_eq!(text(&altered.stdout), "altered orders\n", "{}", text(&altered.stderr));
    let described = text(&run(&["topic", "describe", "orders", "--json", "-b", &bootstrap]).stdout);
    let described: serde_json::Value = serde_json::from_str(&described).unwrap();
    let configs = serde_json::json!({ "cleanup.policy": "delete,compact", "retention.ms": "5000" });
    assert_eq!((&described[0]["configs"], described[0]["partitions"].as_array().unwrap().len()), (&configs, 3));

    let refused = run(&["topic", "alter", "orders", "--set", "retention.ms=soon", "-b", &bootstrap]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("INVALID_CONFIG"), "{}", text(&refused.stderr));
    let deleted = run(&["topic", "delete-records", "orders", "--before", "end", "-b", &bootstrap]);
    let expected = "orders-0 begins at 0\norders-1 begins at 0\norders-2 begins at 0\n";
    assert_eq!(text(&deleted.stdout), expected, "{}", text(&deleted.stderr));
    let beyond = run(&["topic", "delete-records", "orders", "--partition", "1", "--before", "7", "-b", &bootstrap]);
    assert!(text(&beyond.stderr).contains("OFFSET_OUT_OF_RANGE"), "{}", text(&beyond.stderr));
}

#[test]
fn a_producer_whose_line_has_no_key_separator_fails() {
    let directory = tempfile::tempdir().unwrap();
    let broker = Running::broker(directory.path());
    let bootstrap = broker.address().to_string();
    let mut producer = pillion(&["produce", "orders", "-K", ":", "-b", &bootstrap]);
    let mut producer = producer.stdin(Stdio::piped()).spawn().unwrap();
    producer.stdin.take().unwrap().write_all(b"no separator\n").unwrap();
    let produced = producer.wait_with_output().unwrap();
    assert_eq!(produced.status.code(), Some(1));
    assert!(text(&produced.stderr).contains("no key separator"), "{}", text(&produced.stderr));
}

#[test]
fn a_wrong_configuration_shows_every_problem_and_starts_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let arguments = ["broker", "--data-dir", data.to_str().unwrap(), "--set", "num.partitons=3", "--set", "node.id=-1"];
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("did you mean num.partitions?") && error.contains("node.id=-1 is not valid"), "{error}");
    assert!(!data.exists());
}

#[test]
fn file_environment_and_flags_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pillion.toml");
    std::fs::write(&file, "num.partitions = 2\nnode.id = 2\n").unwrap();
    let arguments = ["config", "--json", "--config", file.to_str().unwrap(), "--set", "num.partitions=4"];
    let output = pillion(&arguments).env("PILLION_NODE_ID", "3").output().unwrap();
    let settings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let find = |key: &str| settings.as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap().clone();
    assert_eq!(
        (&find("num.partitions")["value"], &find("num.partitions")["origin"]),
        (&"4".into(), &"--set num.partitions".into())
    );
    assert_eq!((&find("node.id")["value"], &find("node.id")["origin"]), (&"3".into(), &"PILLION_NODE_ID".into()));
}

#[test]
fn the_outbox_sql_needs_no_database() {
    let output = run(&["outbox", "init", "--table", "orders.outbox"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sql = text(&output.stdout);
    assert!(
        sql.contains(r#"CREATE TABLE "orders"."outbox""#) && sql.contains("pg_create_logical_replication_slot"),
        "{sql}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_dev_leaves_neither_a_server_nor_its_directory() {
    let mut dev = Running::start(&["dev", "--listen", "127.0.0.1:0"]);
    dev.address();
    let mut line = String::new();
    while !line.starts_with("PostgreSQL") {
        line.clear();
        assert_ne!(dev.stdout.read_line(&mut line).unwrap(), 0, "the database's address is printed");
    }
    let port = line.rsplit_once("@127.0.0.1:").unwrap().1.split('/').next().unwrap().to_owned();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    TcpStream::connect(address).unwrap();
    let base = cluster_of(Pid::from_child(&dev.child));

    let pid = Pid::from_child(&dev.child);
    dev.signal(Signal::KILL);
    dev.child.wait().unwrap();
    wait_until("the end of PostgreSQL", || TcpStream::connect(address).is_err());
    wait_until("the removal of its directory", || !Path::new(&base).exists());
    assert!(test_kill_process(pid).is_err());
}

/// From /proc: the temporary directory in which the PostgreSQL of this pillion runs: its child's working directory, less `data`.
#[cfg(target_os = "linux")]
fn cluster_of(pillion: Pid) -> String {
    let pillion = pillion.as_raw_nonzero().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let is_child = status.lines().any(|line| line.strip_prefix("PPid:").is_some_and(|ppid| ppid.trim() == pillion));
        if is_child && status.starts_with("Name:\tpostgres") {
            let working_directory = std::fs::read_link(entry.path().join("cwd")).unwrap();
            return working_directory.parent().unwrap().to_str().unwrap().to_owned();
        }
    }
    panic!("pillion has no child called postgres");
}
