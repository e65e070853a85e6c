//! Every partition of the directory Kafka wrote, replayed: our state is what Kafka's snapshots hold.

use std::collections::BTreeMap;
use std::path::Path;

use pillion_wire::records::read_marker;

use super::*;
use crate::kafka_fixture::KafkaFixture;
use crate::log::format::{producer_snapshot, transaction_index};

/// Content of a partition's files by base offset.
fn files(partition: &Path, extension: &str) -> BTreeMap<i64, Vec<u8>> {
    let entries = std::fs::read_dir(partition).expect("lists").map(|entry| entry.expect("is there").path());
    let wanted = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    let read = |path: std::path::PathBuf| {
        let base = path.file_stem().and_then(|name| name.to_str()).expect("has a name").parse().expect("an offset");
        (base, std::fs::read(path).expect("reads"))
    };
    wanted.map(read).collect()
}

/// Replays a partition; tells each offset a segment or the log ends at.
fn replay(partition: &Path, mut at: impl FnMut(i64, &ProducerStates)) -> (ProducerStates, Vec<u8>) {
    let (mut states, mut aborted) = (ProducerStates::default(), Vec::new());
    for segment in files(partition, "log").values() {
        let (mut rest, mut end) = (&segment[..], 0);
        while let Ok(header) = BatchHeader::verify(rest) {
            end = header.next_offset();
            match read_marker(rest).expect("is whole") {
                Some(marker) => {
                    let completed = states.note_marker(&header, &marker);
                    if let Some(completed) = completed.filter(|completed| completed.aborted) {
                        let entry = transaction_index::AbortedTransaction {
                            producer_id: completed.producer_id,
                            first_offset: completed.first_offset,
                            last_offset: completed.last_offset,
                            last_stable_offset: states.last_stable_offset_after(&completed, end),
                        };
                        aborted.extend_from_slice(&entry.encode());
                    }
                }
                None => states.note(&header),
            }
            rest = &rest[header.size()..];
        }
        at(end, &states);
    }
    (states, aborted)
}

#[test]
fn replaying_kafkas_logs_gives_kafkas_snapshots_and_transaction_indexes() {
    let fixture = KafkaFixture::unpack();
    let (mut compared, mut producers) = (0, 0);
    for entry in std::fs::read_dir(fixture.data()).expect("lists") {
        let partition = entry.expect("is there").path();
        if !partition.is_dir() {
            continue;
        }
        let snapshots = files(&partition, "snapshot");
        let (_, aborted) = replay(&partition, |end, states| {
            if let Some(snapshot) = snapshots.get(&end) {
                assert_eq!(
                    producer_snapshot::encode(&states.snapshot()),
                    *snapshot,
                    "{} at {end}",
                    partition.display()
                );
                (compared, producers) = (compared + 1, producers + states.len());
            }
        });
        let index: Vec<u8> = files(&partition, "txnindex").into_values().flatten().collect();
        assert_eq!(aborted, index, "{}", partition.display());
    }
    assert!(compared >= 15 && producers == 5, "{compared} snapshots, {producers} producers");
}

#[test]
fn the_transaction_that_kafka_left_open_is_open() {
    let fixture = KafkaFixture::unpack();
    let (mut states, _) = replay(&fixture.data().join("txn-open-0"), |_, _| {});
    states.high_watermark_moved(4);
    assert_eq!(states.first_unstable_offset(), Some(2));
    let restored = ProducerStates::restore(states.snapshot());
    assert_eq!(restored.first_unstable_offset(), Some(2));
    assert_eq!(restored.open_transactions().next().map(|open| (open.producer_id, open.first_offset)), Some((3, 2)));
}
