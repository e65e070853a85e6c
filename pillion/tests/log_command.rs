//! `pillion log` on a data directory that Kafka wrote: what it prints agrees with what Kafka's own tool and a client read.

#![allow(clippy::unwrap_used)]

#[path = "../../broker/tests/fixtures/kafka.rs"]
mod kafka_fixture;

use std::path::Path;
use std::process::{Command, Output};

use kafka_fixture::{KafkaFixture, LISTING};
use serde_json::{Value, json};

fn log(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pillion")).arg("log").args(arguments).arg(path).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A line of a dump as the listing has it; `None` for what the listing leaves out.
fn as_listed(line: &Value, data: &Path) -> Option<Value> {
    let path = Path::new(line["file"].as_str().unwrap()).strip_prefix(data).unwrap();
    let (partition, file) = path.to_str().unwrap().split_once('/')?;
    if partition.starts_with("__") {
        return None;
    }
    match line["type"].as_str().unwrap() {
        "batch" => {
            assert_eq!(line["checksumValid"], true);
            let mut batch = json!({
                "p": partition, "file": file, "pos": line["position"], "size": line["size"],
                "base": line["baseOffset"], "last": line["lastOffset"], "count": line["count"],
                "codec": line["compression"], "crc": line["checksum"], "leaderEpoch": line["leaderEpoch"],
                "pid": line["producerId"], "epoch": line["producerEpoch"], "seq": line["baseSequence"],
                "txn": line["transactional"], "control": line["control"],
                "tstype": line["timestampType"], "maxts": line["maxTimestamp"],
            });
            // The listing has one only where there is one.
            if !line["deleteHorizonMs"].is_null() {
                batch["deleteHorizon"] = line["deleteHorizonMs"].clone();
            }
            Some(batch)
        }
        "record" => {
            let headers = line["headers"].as_array().unwrap();
            let headers: Vec<Value> = headers.iter().map(|header| json!([header["key"], header["value"]])).collect();
            Some(json!({
                "p": partition, "o": line["offset"], "ts": line["timestamp"],
                "k": line["key"], "v": line["value"], "h": headers,
            }))
        }
        "marker" => Some(json!({
            "p": partition, "o": line["offset"], "ts": line["timestamp"],
            "control": line["marker"], "coordinatorEpoch": line["coordinatorEpoch"],
        })),
        _ => None,
    }
}

#[test]
fn a_dump_agrees_with_what_kafka_and_a_client_read_batch_by_batch_and_record_by_record() {
    let kafka = KafkaFixture::unpack();
    let dumped = log(&["dump", "--records", "--json"], &kafka.data());
    assert!(dumped.status.success(), "{}", text(&dumped.stderr));
    let dumped: Vec<Value> = lines(&dumped).iter().filter_map(|line| as_listed(line, &kafka.data())).collect();
    let mut listed: Vec<Value> =
        LISTING.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    // Whether a transaction was committed is no part of a record.
    listed.iter_mut().for_each(|line| drop(line.as_object_mut().unwrap().remove("committed")));
    assert_eq!(dumped.len(), listed.len());
    for (dumped, listed) in dumped.iter().zip(&listed) {
        assert_eq!(dumped, listed);
    }
}

#[test]
fn a_dump_of_one_file_goes_by_its_name_and_by_the_offsets_asked_for() {
    let kafka = KafkaFixture::unpack();
    let file = |path: &str| kafka.data().join(path);
    for (path, expected) in [
        ("rolled-0/00000000000000000008.index", "offset 12 at 482"),
        ("rolled-0/00000000000000000000.timeindex", "2023-11-14T22:13:20.060Z  offset 6"),
        ("txn-0/00000000000000000000.txnindex", "producer 1 aborted offsets 5 to 7, last stable offset 8"),
        (
            "txn-open-0/00000000000000000004.snapshot",
            "producer 3 epoch 0, last batch offsets 2 to 3 up to sequence 2, 2023-11-14T22:13:21.001Z, \
             coordinator epoch 0, transaction open from offset 2",
        ),
        ("txn-0/leader-epoch-checkpoint", "leader epoch 0 from offset 0"),
        ("txn-0/partition.metadata", "topic id UVGUqxutQEKkc_BHemDLwA"),
        ("recovery-point-offset-checkpoint", "txn-open-0: offset 4"),
        ("meta.properties", "node.id=1"),
        ("codecs-1/00000000000000000000.log", "at 335: offsets 10 to 12, 3 records, 236 bytes gzip, "),
    ] {
        let output = log(&["dump"], &file(path));
        let is_there = text(&output.stdout).lines().any(|line| line.trim_start().starts_with(expected));
        assert!(is_there && output.status.success(), "{path}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    let some = log(&["dump", "--records", "--json", "--offsets", "11..13"], &file("rolled-0"));
    let offsets = |kind: &str, field: &str| -> Vec<Value> {
        lines(&some).iter().filter(|line| line["type"] == kind).map(|line| line[field].clone()).collect()
    };
    assert_eq!(offsets("record", "offset"), [11, 12]);
    assert_eq!(offsets("batch", "baseOffset"), [11, 12]);
    assert_eq!(offsets("offsetIndexEntry", "offset"), [12]);
}

#[test]
fn verify_says_sound_with_0_and_what_is_wrong_with_1() {
    let kafka = KafkaFixture::unpack();
    let sound = log(&["verify"], &kafka.data());
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound.stdout));
    assert!(text(&sound.stdout).contains(": sound; 15 partitions, "), "{}", text(&sound.stdout));
    assert!(!text(&sound.stdout).contains("note: "));
    assert!(text(&log(&["verify", "--notes"], &kafka.data()).stdout).starts_with("note: "));

    let file = kafka.data().join("codecs-4/00000000000000000000.log");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let damaged = log(&["verify", "--json"], &kafka.data());
    assert_eq!(damaged.status.code(), Some(1));
    let lines = lines(&damaged);
    let finding = lines.iter().find(|line| line["severity"] == "damage").unwrap();
    assert_eq!((&finding["type"], &finding["position"]), (&"finding".into(), &0.into()));
    assert_eq!(finding["file"], file.to_str().unwrap());
    assert_eq!(lines.last().unwrap()["sound"], false);

    let words = log(&["verify"], file.parent().unwrap());
    assert!(text(&words.stdout).contains("DAMAGE: ") && text(&words.stdout).contains("  to do: set "), "{words:?}");
    let dumped = log(&["dump", "--records"], &file);
    assert_eq!(dumped.status.code(), Some(1));
    assert!(text(&dumped.stdout).contains(" WRONG\n"), "{}", text(&dumped.stdout));

    let missing = log(&["verify"], Path::new("no such directory"));
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("cannot check no such directory"), "{}", text(&missing.stderr));
    assert_eq!(log(&["dump", "--offsets", "x"], &file).status.code(), Some(2));
}
