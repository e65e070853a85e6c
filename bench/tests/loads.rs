//! The loads as a user runs them, small, against our broker in this process and against the null broker.

#![allow(clippy::unwrap_used, reason = "tests end where something does not work")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use pillion_broker::{Broker, BrokerConfig, RunningBroker};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const BENCH: &str = env!("CARGO_BIN_EXE_pillion-bench");

struct TestBroker {
    address: String,
    runtime: Runtime,
    running: Option<RunningBroker>,
    _folder: TempDir,
}

impl TestBroker {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = BrokerConfig::new(folder.path(), "127.0.0.1:0");
        config.set("log.min.free.bytes", "0").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let running = runtime.block_on(Broker::start(config)).unwrap();
        Self { address: running.address().to_string(), runtime, running: Some(running), _folder: folder }
    }

    fn run(&self, arguments: &str) -> Value {
        figures(&bench(&format!("{arguments} --bootstrap {}", self.address)))
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.shutdown()).unwrap();
        }
    }
}

fn bench(arguments: &str) -> Output {
    Command::new(BENCH).arg("--json").args(arguments.split_whitespace()).output().unwrap()
}

fn figures(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_positive(figures: &Value, name: &str) -> bool {
    figures[name].as_f64().is_some_and(|value| value > 0.0)
}

#[test]
fn what_is_produced_can_be_fetched_and_is_counted() {
    let broker = TestBroker::start();
    let pid = std::process::id();
    let produced = broker.run(&format!(
        "produce --create --topic t --partitions 3 --connections 2 --records 6000 --warmup 600 --batch-records 20 \
         --record-size 200 --server-pid {pid}"
    ));
    assert_eq!(produced["records"], 6_000.0);
    for name in ["records_per_s", "ack_p50_us", "ack_p99_us", "cpu_s_per_gb", "peak_resident_mb"] {
        assert!(is_positive(&produced, name), "{name}: {produced}");
    }
    for how in ["", "--copy", "--connections 2", "--max-bytes 5000"] {
        // More than the topic holds: it is read again from its beginning.
        let fetched = broker.run(&format!("fetch --topic t --records 20000 {how}"));
        assert!(fetched["records"].as_f64().unwrap() >= 20_000.0, "{how}: {fetched}");
        assert!(is_positive(&fetched, "mb_per_s"), "{how}: {fetched}");
    }
}

#[test]
fn acknowledgements_of_every_kind_and_a_rate_are_kept_to() {
    let broker = TestBroker::start();
    for acks in [-1, 1, 0] {
        let produced = broker.run(&format!("produce --create --topic acks{acks} --acks {acks} --records 3000"));
        assert_eq!(produced["records"], 3_000.0, "acks {acks}");
    }
    let paced = broker.run("produce --topic acks1 --records 500 --batch-records 10 --rate 1000");
    // The last of 50 requests is due after 0.49 s.
    assert!(paced["seconds"].as_f64().unwrap() > 0.48, "{paced}");
}

#[test]
fn a_records_way_connections_and_partitions_are_measured() {
    let broker = TestBroker::start();
    let pid = std::process::id();
    let way = broker.run("roundtrip --create --topic way --count 50 --warmup 5");
    assert!(is_positive(&way, "way_p50_us") && is_positive(&way, "ack_p50_us"), "{way}");
    let paced = broker.run("roundtrip --topic way --count 20 --warmup 0 --rate 200");
    assert_eq!(paced["records"], 20.0);
    let connections = broker.run(&format!("connections --count 20 --server-pid {pid}"));
    assert!(connections["kb_each"].is_number(), "{connections}");
    let partitions = broker.run(&format!("partitions --count 100 --server-pid {pid}"));
    assert!(is_positive(&partitions, "usable_s") && is_positive(&partitions, "resident_mb"), "{partitions}");
}

#[test]
fn commits_and_transactions_of_both_protocols_are_measured() {
    let broker = TestBroker::start();
    let pid = std::process::id();
    let commits = broker.run(&format!("commits --create --count 20 --warmup 3 --server-pid {pid}"));
    assert_eq!(commits["commits"], 20.0);
    for name in ["commits_per_s", "commit_p50_us", "commit_p99_us"] {
        assert!(is_positive(&commits, name), "{name}: {commits}");
    }
    for (topic, how) in [("new", ""), ("old", "--older-protocol")] {
        let done = broker.run(&format!(
            "transactions --create --topic {topic} --partitions 2 --producers 3 --records 2 --count 12 --warmup 3 \
             --server-pid {pid} {how}"
        ));
        assert_eq!(done["transactions"], 12.0, "{done}");
        assert!(is_positive(&done, "transactions_per_s") && is_positive(&done, "transaction_p50_us"), "{done}");
        // A commit is answered once its markers are written, so that nothing is ever to be asked again.
        assert_eq!(done["asked_again_each"], 0.0, "{done}");
    }
}

#[test]
fn groups_are_measured_from_their_first_member_to_the_last_of_many() {
    let broker = TestBroker::start();
    let pid = std::process::id();
    let start = broker.run("group-start --count 3");
    assert!(is_positive(&start, "start_p50_ms") && is_positive(&start, "start_max_ms"), "{start}");
    for how in ["", "--cooperative"] {
        let third = broker.run(&format!("group-rebalance --heartbeat-ms 50 --count 2 {how}"));
        assert!(is_positive(&third, "settled_max_ms") && is_positive(&third, "settled_max_heartbeats"), "{third}");
    }
    let size = broker.run(&format!("group-size --members 30 --heartbeat-ms 50 --idle 0.5 --server-pid {pid}"));
    for name in ["settle_s", "generations", "heartbeats_per_s", "peak_resident_mb"] {
        assert!(is_positive(&size, name), "{name}: {size}");
    }
    assert!(size["entries_each"].as_f64().is_some_and(|entries| entries >= 1.0), "{size}");
}

#[test]
fn a_backlog_is_read_back_as_it_was_acknowledged() {
    let broker = TestBroker::start();
    // The last round over the partitions is not cut short: 3 × 20 records of 200 B are more than the size left.
    let output = bench(&format!(
        "backlog --size 1M --partitions 3 --batch-records 20 --record-size 200 --bootstrap {}",
        broker.address
    ));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("checksums of all 3 partitions agree"), "{said}");
    let counted = |phase: &str| {
        let line = said.lines().find(|line| line.starts_with(&format!("| {phase}"))).unwrap();
        line.split('|').nth(2).unwrap().trim().to_owned()
    };
    assert_eq!(counted("fill"), counted("read back"));
}

#[test]
fn what_is_wrong_is_said_and_fails() {
    let broker = TestBroker::start();
    let of = |arguments: &str| bench(&format!("{arguments} --bootstrap {}", broker.address));
    for (arguments, said) in [
        ("fetch --topic missing", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("partitions --count 150", "multiple of 100"),
        ("produce --create --records 10 --record-size 2000000 --batch-records 1", "MESSAGE_TOO_LARGE"),
    ] {
        let output = of(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(said), "{arguments}: {error}");
    }
}

struct NullBroker(Child);

impl Drop for NullBroker {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_null_broker_answers_produce_and_counts_offsets() {
    let child = Command::new(BENCH).args(["null", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut null = NullBroker(child);
    let mut address = String::new();
    BufReader::new(null.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let arguments = format!(
        "produce --create --partitions 2 --records 2000 --batch-records 5 --bootstrap {address} --server-pid {}",
        null.0.id()
    );
    let produced = figures(&bench(&arguments));
    assert_eq!(produced["records"], 2_000.0);
    assert!(is_positive(&produced, "cpu_us_each"), "{produced}");
}
