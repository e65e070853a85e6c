use super::super::{BatchBuilder, Compression, HEADER_BYTES};
use super::*;

/// The commit marker at offset 4 of partition txn-0, as Apache Kafka 4.4.0 wrote it.
const KAFKAS_COMMIT: [u8; 78] = [
    0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0x42, 0, 0, 0, 0, 2, 0xc7, 0xb5, 0xe7, 0x75, 0, 0x30, 0, 0, 0, 0, 0, 0, 1, 0xa2,
    0x29, 0x1b, 0x12, 0xa5, 0, 0, 1, 0xa2, 0x29, 0x1b, 0x12, 0xa5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff,
    0xff, 0, 0, 0, 1, 0x20, 0, 0, 0, 8, 0, 0, 0, 1, 0x0c, 0, 0, 0, 0, 0, 0, 0,
];
/// The abort marker at offset 7 of the same partition.
const KAFKAS_ABORT: [u8; 78] = [
    0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x42, 0, 0, 0, 0, 2, 0xab, 0xa1, 0xc9, 0xf3, 0, 0x30, 0, 0, 0, 0, 0, 0, 1, 0xa2,
    0x29, 0x1b, 0x13, 0x3b, 0, 0, 1, 0xa2, 0x29, 0x1b, 0x13, 0x3b, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff,
    0xff, 0, 0, 0, 1, 0x20, 0, 0, 0, 8, 0, 0, 0, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0,
];

/// A control batch whose one record has this key and value.
fn control(key: &[u8], value: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    let [key, value] = [key, value].map(|bytes| Some(Bytes::copy_from_slice(bytes)));
    builder.push(&Record { key, value, ..Record::default() });
    let batch = builder.build(None).expect("builds");
    let header = BatchHeader { attributes: ATTRIBUTES, ..BatchHeader::parse(&batch).expect("parses") };
    header.seal(&batch[HEADER_BYTES..]).1
}

#[test]
fn markers_are_kafkas_byte_for_byte() {
    for (kafkas, commit) in [(KAFKAS_COMMIT, true), (KAFKAS_ABORT, false)] {
        let header = BatchHeader::verify(&kafkas).expect("is whole");
        let marker = EndTransactionMarker { commit, coordinator_epoch: 0 };
        assert_eq!(read_marker(&kafkas).expect("reads"), Some(marker));
        let ours = control_batch(1, 0, header.max_timestamp, marker);
        let stamped = BatchHeader::verify(&ours).expect("is whole").stamp(header.base_offset, header.leader_epoch);
        assert_eq!([&stamped[..], &ours[stamped.len()..]].concat(), kafkas);
    }
}

#[test]
fn a_marker_gives_back_what_it_was_made_of() {
    for marker in [
        EndTransactionMarker { commit: true, coordinator_epoch: i32::MAX },
        EndTransactionMarker { commit: false, coordinator_epoch: 7 },
    ] {
        let batch = control_batch(i64::MAX, i16::MAX, -1, marker);
        assert_eq!(read_marker(&batch).expect("reads"), Some(marker));
        let header = BatchHeader::verify(&batch).expect("is whole");
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (i64::MAX, i16::MAX, -1));
        assert!(header.is_control() && header.is_transactional());
    }
}

#[test]
fn what_is_no_marker_is_told_apart() {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&Record { key: Some(Bytes::from_static(&[0, 0, 0, 1])), ..Record::default() });
    assert_eq!(read_marker(&builder.build(None).expect("builds")).expect("reads"), None, "a data batch");
    assert_eq!(read_marker(&control(&[0, 0, 0, 2], &[0; 6])).expect("reads"), None, "a leader change");
    let header = BatchHeader::parse(&KAFKAS_COMMIT).expect("parses");
    let (_, cleaned) = BatchHeader { record_count: 0, ..header }.seal(&[]);
    assert_eq!(read_marker(&cleaned).expect("reads"), None, "compaction has taken the marker");
}

#[test]
fn newer_versions_of_a_marker_are_read() {
    let newer = control(&[0, 1, 0, 1, 9, 9], &[0, 1, 0, 0, 0, 5, 9, 9, 9]);
    let marker = EndTransactionMarker { commit: true, coordinator_epoch: 5 };
    assert_eq!(read_marker(&newer).expect("reads"), Some(marker));
}

#[test]
fn malformed_markers_are_refused() {
    for (key, value) in [(&[0, 0, 0][..], &[0; 6][..]), (&[0, 0, 0, 1], &[0; 5]), (&[], &[])] {
        assert!(matches!(read_marker(&control(key, value)), Err(RecordsError::MalformedRecord { index: 0, .. })));
    }
    for length in 0..KAFKAS_COMMIT.len() {
        assert!(read_marker(&KAFKAS_COMMIT[..length]).is_err(), "cut at {length}");
    }
}
