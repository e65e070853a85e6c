//! The inspection of a directory that Kafka wrote: sound as it is, and found out whatever is done to it.

use std::fs;
use std::os::unix::fs::FileExt as _;

use pillion_wire::records::{BatchBuilder, Compression};
use proptest::prelude::*;

use super::*;
use crate::kafka_fixture::{KafkaFixture, LISTING};

/// What is wrong in a directory or file, and how badly at worst.
fn worst(path: &Path) -> Severity {
    let findings = verify(path).unwrap().findings;
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Note)
}

fn findings(path: &Path) -> Vec<Finding> {
    verify(path).unwrap().findings
}

/// Makes the file hold `bytes`, looks, and puts it right again.
fn with_bytes<T>(file: &Path, bytes: &[u8], look: impl FnOnce() -> T) -> T {
    let before = fs::read(file).unwrap();
    overwrite(file, bytes);
    let seen = look();
    overwrite(file, &before);
    seen
}

/// In place: a file that is emptied first and written anew is brought to the disk by some file systems, each time.
fn overwrite(file: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

fn files_named(directory: &Path, end: &str) -> Vec<PathBuf> {
    entries(directory).unwrap().into_iter().filter(|path| file_name(path).ends_with(end)).collect()
}

#[test]
fn a_directory_that_kafka_wrote_is_sound() {
    let kafka = KafkaFixture::unpack();
    let report = verify(&kafka.data()).unwrap();
    assert!(report.is_sound(), "{:#?}", report.findings);
    assert_eq!(report.partitions, 15);
    let listed = |partition: &str, what: &str| {
        let begins = format!(r#"{{"p":"{partition}",{what}"#);
        LISTING.lines().filter(|line| line.starts_with(&begins)).count() as u64
    };
    for path in entries(&kafka.data()).unwrap().iter().filter(|path| path.is_dir()) {
        let (name, report) = (file_name(path), verify(path).unwrap());
        assert!(report.is_sound(), "{:#?}", report.findings);
        // The listing leaves the internal topics out.
        if !name.starts_with("__") {
            let expected = (listed(&name, r#""file":"#), listed(&name, r#""o":"#));
            assert_eq!((report.batches, report.records), expected, "{name}");
        }
        for file in entries(path).unwrap() {
            let report = verify(&file);
            assert!(report.as_ref().is_ok_and(Report::is_sound) || file.ends_with("quorum-state"), "{report:?}");
        }
    }
}

#[test]
fn any_changed_byte_of_any_batch_is_found() {
    let kafka = KafkaFixture::unpack();
    for partition in entries(&kafka.data()).unwrap().iter().filter(|path| path.is_dir()) {
        let is_compacted = file_name(partition) == "compacted-0";
        for file in files_named(partition, ".log") {
            let segment = Segment::open(&file).unwrap();
            let starts: Vec<u64> = segment.pieces().map(|piece| batch(piece.unwrap()).position).collect();
            let bytes = fs::read(&file).unwrap();
            for at in 0..bytes.len() {
                let in_batch = at as u64 - *starts.iter().rfind(|start| **start <= at as u64).unwrap();
                // No checksum covers a base offset, and compaction leaves gaps. One covers all records: some will do.
                if is_compacted && in_batch < 8 || in_batch >= 61 && !at.is_multiple_of(13) {
                    continue;
                }
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                let severity = with_bytes(&file, &changed, || worst(partition));
                assert_eq!(severity, Severity::Damage, "{} byte {at}", file.display());
            }
        }
    }
}

fn batch(piece: Piece) -> Batch {
    match piece {
        Piece::Batch(batch) => batch,
        other => panic!("{other:?} is no batch"),
    }
}

#[test]
fn a_log_cut_anywhere_is_found_and_is_damage_where_it_was_synced() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("idempotent-0");
    let file = &files_named(&partition, ".log")[0];
    let bytes = fs::read(file).unwrap();
    for length in 0..bytes.len() {
        assert_eq!(with_bytes(file, &bytes[..length], || worst(&partition)), Severity::Damage, "{length} bytes");
    }
    // As a broker that was killed leaves it, with nothing synced: a start cuts what is torn off.
    for name in [".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"] {
        fs::remove_file(kafka.data().join(name)).unwrap();
    }
    for name in files_named(&partition, "index") {
        fs::remove_file(name).unwrap();
    }
    let segment = Segment::open(file).unwrap();
    let ends: Vec<u64> =
        segment.pieces().map(|piece| batch(piece.unwrap())).map(|batch| batch.position + batch.size).collect();
    for length in 1..bytes.len() {
        let severity = with_bytes(file, &bytes[..length], || worst(&partition));
        let end = ends.iter().rfind(|end| **end <= length as u64).map_or(0, |end| *end as usize);
        // The first bytes of a base offset are zeroes, and so is room for more.
        let whole = bytes[end..length].iter().all(|byte| *byte == 0);
        assert_eq!(severity, if whole { Severity::Note } else { Severity::Repairable }, "{length} bytes");
    }
}

#[test]
fn zeroes_behind_the_last_batch_are_no_damage() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("txn-0");
    for (end, zeroes) in [(".log", 1), (".log", 60), (".log", 300_000), (".index", 10_485_760), (".timeindex", 1_200)] {
        let file = &files_named(&partition, end)[0];
        let mut bytes = fs::read(file).unwrap();
        let used = bytes.len() as u64;
        bytes.resize(bytes.len() + zeroes, 0);
        let found = with_bytes(file, &bytes, || findings(&partition));
        let [note] = &found[..] else { panic!("{found:#?}") };
        assert_eq!((note.severity, note.position, &note.file), (Severity::Note, Some(used), file));
    }
}

#[test]
fn the_log_is_found_again_behind_damage() {
    let kafka = KafkaFixture::unpack();
    let file = kafka.data().join("rolled-0/00000000000000000008.log");
    let mut bytes = fs::read(&file).unwrap();
    bytes[240..400].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    let segment = Segment::open(&file).unwrap();
    let pieces: Vec<Piece> = segment.pieces().collect::<Result<_, _>>().unwrap();
    assert!(matches!(pieces[2], Piece::Unreadable { position: 240, bytes: 242, .. }), "{:?}", pieces[2]);
    let behind: Vec<i64> = pieces[3..].iter().cloned().map(|piece| batch(piece).base_offset).collect();
    assert_eq!(behind, [12, 13, 14, 15]);
    assert_eq!(worst(file.parent().unwrap()), Severity::Damage);
}

#[test]
fn indexes_that_lead_astray_are_found() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("rolled-0");
    for end in [".index", ".timeindex"] {
        for file in files_named(&partition, end) {
            let bytes = fs::read(&file).unwrap();
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 0x11;
                let found = with_bytes(&file, &changed, || findings(&partition));
                assert!(found.iter().any(|finding| finding.file == file), "{} byte {at}", file.display());
                assert!(found.iter().all(|finding| finding.severity < Severity::Damage), "{found:?}");
            }
            assert_eq!(with_bytes(&file, &bytes[..bytes.len() - 1], || worst(&partition)), Severity::Repairable);
        }
    }
}

#[test]
fn a_transaction_index_that_hides_an_aborted_transaction_is_found() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("txn-0");
    let file = &files_named(&partition, ".txnindex")[0];
    let bytes = fs::read(file).unwrap();
    assert_eq!(with_bytes(file, &[], || worst(&partition)), Severity::Repairable);
    // All but the last stable offset, which nothing else in the directory tells.
    for at in 0..26 {
        let mut changed = bytes.clone();
        changed[at] ^= 2;
        assert_eq!(with_bytes(file, &changed, || worst(&partition)), Severity::Repairable, "byte {at}");
    }
}

#[test]
fn the_small_files_of_a_partition_are_held_against_their_formats() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("txn-0");
    for (name, text) in [
        ("leader-epoch-checkpoint", "0\n2\n0 0\n"),
        ("partition.metadata", "version: 0\ntopic_id: x"),
        ("00000000000000000012.snapshot", "x"),
    ] {
        let file = partition.join(name);
        let found = with_bytes(&file, text.as_bytes(), || findings(&partition));
        assert!(matches!(&found[..], [finding] if finding.file == file && finding.is_wrong()), "{found:?}");
    }
    let other = fs::read(kafka.data().join("codecs-1/partition.metadata")).unwrap();
    assert_eq!(
        with_bytes(&kafka.data().join("codecs-2/partition.metadata"), &other, || worst(&kafka.data())),
        Severity::Note
    );
    assert_eq!(
        with_bytes(
            &kafka.data().join("codecs-2/partition.metadata"),
            b"version: 0\ntopic_id: UVGUqxutQEKkc_BHemDLwA",
            || { worst(&kafka.data()) }
        ),
        Severity::Damage
    );
    let quarantined = partition.join("00000000000000000000.log.quarantined");
    fs::write(&quarantined, "").unwrap();
    assert_eq!(worst(&partition), Severity::Damage);
}

#[test]
fn leader_epochs_may_fall_where_kafka_noted_down_that_they_did() {
    let kafka = KafkaFixture::unpack();
    let partition = kafka.data().join("rolled-0");
    let (log, epochs) = (partition.join("00000000000000000008.log"), partition.join("leader-epoch-checkpoint"));
    let mut bytes = fs::read(&log).unwrap();
    let segment = Segment::open(&log).unwrap();
    let batches: Vec<Batch> = segment.pieces().map(|piece| batch(piece.unwrap())).collect();
    // Led elsewhere in epoch 5 meanwhile: Kafka goes on in its own, and forgets the higher one.
    bytes[batches[0].position as usize + 15] = 5;
    fs::write(&log, bytes).unwrap();
    let noted_at = |offset: i64| fs::write(&epochs, format!("0\n1\n0 {offset}\n")).unwrap();
    noted_at(batches[1].base_offset);
    assert_eq!(worst(&partition), Severity::Note, "{:?}", findings(&partition));
    noted_at(0);
    assert_eq!(worst(&partition), Severity::Damage);
}

#[test]
fn a_directory_without_a_log_is_no_sound_one() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(verify(directory.path()), Err(InspectError::NoLog(_))));
    assert!(verify(&directory.path().join("missing")).unwrap_err().is_gone());
    fs::write(directory.path().join("a.txt"), "").unwrap();
    assert!(matches!(verify(&directory.path().join("a.txt")), Err(InspectError::NoLog(_))));
}

#[test]
fn findings_of_one_file_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("00000000000000000000.index");
    fs::write(&file, [1; 80_000]).unwrap();
    let found = findings(&file);
    assert_eq!(found.len(), 101);
    assert!(found[100].is_wrong() && found[100].what.contains("more findings"), "{:?}", found[100]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_an_inspection_panic(
        head in prop::collection::vec(any::<u8>(), 0..200),
        fields in prop::collection::vec((0_usize..61, any::<u8>()), 0..12),
    ) {
        let mut builder = BatchBuilder::new(Compression::None);
        builder.push(&Record { value: Some(head.clone().into()), ..Record::default() });
        let mut bytes = builder.build(None).unwrap().to_vec();
        fields.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        let checksum = crc32c::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend_from_slice(&head);
        let directory = tempfile::tempdir().unwrap();
        for name in ["0.log", "0.index", "0.timeindex", "0.txnindex", "0.snapshot", "7.log"] {
            let (offset, extension) = name.split_once('.').unwrap();
            fs::write(directory.path().join(format!("{offset:0>20}.{extension}")), &bytes).unwrap();
        }
        let report = verify(directory.path()).unwrap();
        prop_assert!(!report.is_sound());
        let options = DumpOptions { records: true, ..DumpOptions::default() };
        let wrong = dump::<InspectError>(directory.path(), &options, &mut |_, item| {
            prop_assert_ok(serde_json::to_string(&item).is_ok());
            Ok(())
        });
        prop_assert!(wrong.is_ok());
    }
}

fn prop_assert_ok(ok: bool) {
    assert!(ok, "every item can be written as JSON");
}
