//! The formats against bytes that Kafka wrote, cut and changed bytes, and names.

use proptest::prelude::*;
use uuid::Uuid;

use super::names::{Kind, SegmentFile, Suffix};
use super::offset_index::OffsetIndexEntry;
use super::producer_snapshot::ProducerSnapshotEntry;
use super::swap_list::SwapList;
use super::time_index::TimeIndexEntry;
use super::transaction_index::AbortedTransaction;
use super::*;
use crate::kafka_fixture::KafkaFixture;

/// The whole file as entries of `N` bytes.
fn entries<const N: usize>(file: &[u8]) -> Vec<[u8; N]> {
    let (entries, rest) = file.as_chunks::<N>();
    assert!(rest.is_empty());
    entries.to_vec()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn index_entries_of_kafka_are_read_and_written_alike() {
    let kafka = KafkaFixture::unpack();
    let index = entries(&kafka.read("rolled-0/00000000000000000008.index"));
    let decoded: Vec<OffsetIndexEntry> = index.iter().copied().map(OffsetIndexEntry::decode).collect();
    let entry = |relative_offset, position| OffsetIndexEntry { relative_offset, position };
    assert_eq!(decoded, [entry(2, 240), entry(4, 482), entry(6, 724)]);
    assert_eq!(decoded.iter().map(|entry| entry.encode()).collect::<Vec<_>>(), index);

    let index = entries(&kafka.read("rolled-0/00000000000000000000.timeindex"));
    let decoded: Vec<TimeIndexEntry> = index.iter().copied().map(TimeIndexEntry::decode).collect();
    let entry = |timestamp, relative_offset| TimeIndexEntry { timestamp, relative_offset };
    let expected = [(1_700_000_000_020, 2), (1_700_000_000_040, 4), (1_700_000_000_060, 6), (1_700_000_000_070, 7)];
    assert_eq!(decoded, expected.map(|(timestamp, offset)| entry(timestamp, offset)));
    assert_eq!(decoded.iter().map(|entry| entry.encode()).collect::<Vec<_>>(), index);
}

#[test]
fn aborted_transactions_of_kafka_are_read_and_written_alike() {
    let index = entries(&KafkaFixture::unpack().read("txn-0/00000000000000000000.txnindex"));
    let aborted = AbortedTransaction { producer_id: 1, first_offset: 5, last_offset: 7, last_stable_offset: 8 };
    assert_eq!(index, [aborted.encode()]);
    assert_eq!(AbortedTransaction::decode(index[0]), Ok(aborted));
    let mut newer = index[0];
    newer[1] = 1;
    assert_eq!(AbortedTransaction::decode(newer), Err(FormatError::Version { expected: 0, found: 1 }));
}

#[test]
fn producer_snapshots_of_kafka_are_read_and_written_alike() {
    let kafka = KafkaFixture::unpack();
    let idle = ProducerSnapshotEntry {
        producer_id: 1,
        producer_epoch: 0,
        last_sequence: 6,
        last_offset: 9,
        offset_delta: 1,
        timestamp: 1_795_985_970_008,
        coordinator_epoch: 0,
        current_transaction_first_offset: -1,
    };
    let open = ProducerSnapshotEntry {
        producer_id: 3,
        last_sequence: 2,
        last_offset: 3,
        timestamp: 1_700_000_001_001,
        current_transaction_first_offset: 2,
        ..idle
    };
    for (path, expected) in [
        ("txn-0/00000000000000000012.snapshot", vec![idle]),
        ("txn-open-0/00000000000000000004.snapshot", vec![open]),
        ("codecs-0/00000000000000000013.snapshot", vec![]),
    ] {
        let file = kafka.read(path);
        assert_eq!(producer_snapshot::decode(&file), Ok(expected.clone()), "{path}");
        assert_eq!(producer_snapshot::encode(&expected), file, "{path}");
    }
}

#[test]
fn a_producer_snapshot_with_any_bit_changed_or_cut_anywhere_is_refused() {
    let file = KafkaFixture::unpack().read("txn-0/00000000000000000012.snapshot");
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(producer_snapshot::decode(&damaged).is_err(), "bit {bit}");
    }
    for length in 0..file.len() {
        assert!(producer_snapshot::decode(&file[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_producer_snapshot_that_claims_entries_it_has_not_is_refused_with_nothing_reserved() {
    for count in [1, i32::MAX, -1, i32::MIN] {
        let mut file = producer_snapshot::encode(&[]);
        file[6..].copy_from_slice(&count.to_be_bytes());
        let checksum = crc32c::crc32c(&file[6..]);
        file[2..6].copy_from_slice(&checksum.to_be_bytes());
        assert!(matches!(producer_snapshot::decode(&file), Err(FormatError::Length { found: 10, .. })), "{count}");
    }
}

#[test]
fn text_checkpoints_of_kafka_are_read_and_written_alike() {
    let kafka = KafkaFixture::unpack();
    for name in ["recovery-point", "log-start", "replication", "cleaner"] {
        let path = if name == "cleaner" { "cleaner-offset-checkpoint" } else { &format!("{name}-offset-checkpoint") };
        let file = text(kafka.read(path));
        let offsets = offset_checkpoint::decode(&file).unwrap();
        let given = offsets.iter().map(|(topic, partition, offset)| (topic.as_str(), *partition, *offset));
        assert_eq!(offset_checkpoint::encode(given), file, "{name}");
        let known = match name {
            "log-start" => None,
            "cleaner" => Some(("compacted".to_owned(), 0, 13)),
            _ => Some(("txn-open".to_owned(), 0, 4)),
        };
        assert!(known.as_ref().is_none_or(|known| offsets.contains(known)), "{name}: {offsets:?}");
        assert_eq!(offsets.is_empty(), known.is_none());
    }
    let file = text(kafka.read("__cluster_metadata-0/leader-epoch-checkpoint"));
    assert_eq!(leader_epoch_checkpoint::decode(&file), Ok(vec![(1, 0)]));
    assert_eq!(leader_epoch_checkpoint::encode(&[(1, 0)]), file);
}

#[test]
fn a_wrong_line_of_a_checkpoint_is_named() {
    let line = |line, expected| Err(FormatError::Line { line, expected });
    let expected = "a topic, a partition and an offset";
    for (file, result) in [
        ("", Ok(vec![])),
        ("0\n0\n", Ok(vec![])),
        ("0\n1\norders 0 7", Ok(vec![("orders".to_owned(), 0, 7)])),
        ("1\n0\n", Err(FormatError::Version { expected: 0, found: 1 })),
        ("x\n0\n", line(1, "a version")),
        ("0\n", line(2, "the number of entries")),
        ("0\n-1\n", line(2, "the number of entries")),
        ("0\n1\norders 0\n", line(3, expected)),
        ("0\n1\norders 0 7 8\n", line(3, expected)),
        ("0\n2\norders 0 7\norders 0 x\n", line(4, expected)),
        ("0\n1\norders 0 99999999999999999999\n", line(3, expected)),
        ("0\n1\n\n", line(3, expected)),
        ("0\n4294967295\norders 0 7\n", Err(FormatError::Count { expected: 4_294_967_295, found: 1 })),
        ("0\n1\norders 0 7\norders 1 7\n", Err(FormatError::Count { expected: 1, found: 2 })),
    ] {
        assert_eq!(offset_checkpoint::decode(file), result, "{file:?}");
    }
}

#[test]
fn the_topic_id_of_kafka_is_read_and_written_alike() {
    let kafka = KafkaFixture::unpack();
    for topic in ["txn-0", "appendtime-0", "__consumer_offsets-0", "__cluster_metadata-0"] {
        let file = text(kafka.read(&format!("{topic}/partition.metadata")));
        let id = partition_metadata::decode(&file).unwrap();
        assert_eq!(partition_metadata::encode(id), file);
    }
    let file = text(kafka.read("txn-0/partition.metadata"));
    let id = "515194ab-1bad-4042-a473-f0477a60cbc0".parse::<Uuid>().unwrap();
    assert_eq!(partition_metadata::decode(&file), Ok(id));
    assert_eq!(partition_metadata::decode(&format!("{file}\n")), Ok(id), "a last line may end");
}

#[test]
fn a_wrong_partition_metadata_is_refused() {
    for (file, line) in [
        ("", 1),
        ("version: x\ntopic_id: UVGUqxutQEKkc_BHemDLwA", 1),
        ("version: 0", 2),
        ("version: 0\ntopic_id: ", 2),
        ("version: 0\ntopic_id: UVGUqxutQEKkc_BHemDLw", 2),
        ("version: 0\ntopic_id: UVGUqxutQEKkc/BHemDLwA", 2),
        ("version: 0\ntopic_id: UVGUqxutQEKkc_BHemDLwB", 2),
        ("version: 0\ntopic_id: UVGUqxutQEKkc_BHemDLä", 2),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2),
        ("version: 0\ntopic_id: UVGUqxutQEKkc_BHemDLwA\nmore", 3),
    ] {
        let result = partition_metadata::decode(file);
        assert!(matches!(result, Err(FormatError::Line { line: at, .. }) if at == line), "{file:?}: {result:?}");
    }
    let newer = partition_metadata::decode("version: 1\ntopic_id: UVGUqxutQEKkc_BHemDLwA");
    assert_eq!(newer, Err(FormatError::Version { expected: 0, found: 1 }));
}

#[test]
fn names_are_kafkas_and_taken_apart_again() {
    assert_eq!(names::log_file(42), "00000000000000000042.log");
    assert_eq!(names::offset_index_file(0), "00000000000000000000.index");
    assert_eq!(names::time_index_file(7), "00000000000000000007.timeindex");
    assert_eq!(names::transaction_index_file(7), "00000000000000000007.txnindex");
    assert_eq!(names::snapshot_file(i64::MAX), "09223372036854775807.snapshot");
    for kind in [Kind::Log, Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Snapshot] {
        for suffix in [Suffix::None, Suffix::Deleted, Suffix::Cleaned, Suffix::Swap, Suffix::Quarantined] {
            let file = SegmentFile { base_offset: 42, kind, suffix };
            assert_eq!(names::parse(&file.name()), Some(file));
        }
    }
}

#[test]
fn other_names_are_no_segments_files() {
    for name in [
        "",
        "leader-epoch-checkpoint",
        "42.log",
        "00000000000000000042",
        "00000000000000000042log",
        "00000000000000000042.lo",
        "00000000000000000042.logs",
        "00000000000000000042.log.",
        "00000000000000000042.log.swap.swap",
        "00000000000000000042.log.other",
        "+0000000000000000042.log",
        "99999999999999999999.log",
        "0000000000000000000ä.log",
        "00000000000000000000-0000000000.checkpoint",
    ] {
        assert_eq!(names::parse(name), None, "{name:?}");
    }
}

#[test]
fn a_list_of_segments_being_replaced_comes_back_and_is_refused_when_it_is_not_whole() {
    let list = SwapList { replaced: vec![42, 107, 900], aborted: 3 };
    let text = swap_list::encode(&list);
    assert_eq!(text, "0\n3\n42 3\n107 0\n900 0\n");
    assert_eq!(swap_list::decode(&text), Ok(list));
    for wrong in ["", "0\n0\n", "0\n2\n42 3\n", "0\n2\n42 3\n42 0\n", "0\n1\n42\n", "\0\0\0\0"] {
        assert!(swap_list::decode(wrong).is_err(), "{wrong:?}");
    }
    assert!(names::is_swap_list(&names::swap_list_file(42)));
    assert!(!names::is_swap_list("42.swapping") && !names::is_swap_list("00000000000000000042.swap"));
}

fn snapshot_entry() -> impl Strategy<Value = ProducerSnapshotEntry> {
    let numbers = (any::<i64>(), any::<i16>(), any::<i32>(), any::<i64>());
    (numbers, any::<i32>(), any::<i64>(), any::<i32>(), any::<i64>()).prop_map(
        |((producer_id, producer_epoch, last_sequence, last_offset), offset_delta, timestamp, epoch, first)| {
            ProducerSnapshotEntry {
                producer_id,
                producer_epoch,
                last_sequence,
                last_offset,
                offset_delta,
                timestamp,
                coordinator_epoch: epoch,
                current_transaction_first_offset: first,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_decodes(
        entries in prop::collection::vec(snapshot_entry(), 0..5),
        epochs in prop::collection::vec(any::<(i32, i64)>(), 0..5),
        offsets in prop::collection::vec(("[a-zA-Z0-9._-]{1,9}", any::<i32>(), any::<i64>()), 0..5),
        id in 1_u128..,
    ) {
        prop_assert_eq!(producer_snapshot::decode(&producer_snapshot::encode(&entries)), Ok(entries));
        prop_assert_eq!(leader_epoch_checkpoint::decode(&leader_epoch_checkpoint::encode(&epochs)), Ok(epochs));
        let file = offset_checkpoint::encode(offsets.iter().map(|(topic, partition, at)| (topic.as_str(), *partition, *at)));
        prop_assert_eq!(offset_checkpoint::decode(&file), Ok(offsets));
        let id = Uuid::from_u128(id);
        prop_assert_eq!(partition_metadata::decode(&partition_metadata::encode(id)), Ok(id));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), lines in "(0|[ -~\n]){0,40}") {
        let _ = producer_snapshot::decode(&bytes);
        let _ = leader_epoch_checkpoint::decode(&lines);
        let _ = offset_checkpoint::decode(&lines);
        let _ = partition_metadata::decode(&lines);
        let _ = swap_list::decode(&lines);
        let _ = names::parse(&lines);
    }
}
