use bytes::{Bytes, BytesMut};
use pillion_wire::messages::fetch::AbortedTransaction;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchProducer, Compression, Record, RecordsError};

use super::{Fetched, Position};

const ATTRIBUTES: std::ops::Range<usize> = 21..23;
const CONTROL: i16 = 0x20;

/// A batch as it lies in a log.
fn batch(base_offset: i64, count: i64, transaction: Option<i64>) -> BytesMut {
    let mut builder = BatchBuilder::new(Compression::None);
    for index in 0..count {
        let value = Some(Bytes::from((base_offset + index).to_string()));
        builder.push(&Record { value, ..Record::default() });
    }
    stamp(builder, base_offset, transaction)
}

fn stamp(builder: BatchBuilder, base_offset: i64, transaction: Option<i64>) -> BytesMut {
    let producer = transaction.map(|id| BatchProducer { id, epoch: 0, base_sequence: 0, transactional: true });
    let mut bytes = BytesMut::from(&builder.build(producer).unwrap()[..]);
    let header = BatchHeader::parse(&bytes).unwrap();
    bytes[..16].copy_from_slice(&header.stamp(base_offset, 3));
    bytes
}

/// The marker that ends a transaction: 0 aborts, 1 commits.
fn marker(offset: i64, producer: i64, kind: u8) -> BytesMut {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&Record { key: Some(vec![0, 0, 0, kind].into()), ..Record::default() });
    let mut bytes = stamp(builder, offset, Some(producer));
    let attributes = i16::from_be_bytes(*bytes[ATTRIBUTES].first_chunk().unwrap()) | CONTROL;
    bytes[ATTRIBUTES].copy_from_slice(&attributes.to_be_bytes());
    let checksum = crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// CRC-32C bit by bit, so that a batch can be changed without the builder.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |checksum, byte| {
        (0..8).fold(checksum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

fn read(batches: &[BytesMut], aborted: Option<Vec<(i64, i64)>>, from: i64) -> (Vec<i64>, Position) {
    let aborted = aborted.map(|aborted| {
        let transaction = |(producer_id, first_offset)| AbortedTransaction { producer_id, first_offset };
        aborted.into_iter().map(transaction).collect()
    });
    let mut fetched = Fetched::new(batches.concat().into(), aborted);
    let mut position = Position { offset: from, last_epoch: -1 };
    let mut offsets = Vec::new();
    while let Some(found) = fetched.next(&mut position).unwrap() {
        assert_eq!(found.record.value, Some(Bytes::from(found.record.offset.to_string())));
        offsets.push(found.record.offset);
    }
    (offsets, position)
}

#[test]
fn records_below_the_position_are_passed_over() {
    let (offsets, position) = read(&[batch(10, 5, None), batch(15, 2, None)], None, 13);
    assert_eq!(offsets, [13, 14, 15, 16]);
    assert_eq!(position, Position { offset: 17, last_epoch: 3 });
}

#[test]
fn batch_cut_short_at_the_end_is_left_for_the_next_fetch() {
    let whole = batch(0, 3, None);
    let next = batch(3, 3, None);
    for length in 0..next.len() {
        let (offsets, position) = read(&[whole.clone(), BytesMut::from(&next[..length])], None, 0);
        assert_eq!((offsets.len(), position.offset), (3, 3), "cut at {length}");
    }
}

#[test]
fn markers_are_no_records_and_the_position_moves_past_them() {
    let (offsets, position) = read(&[batch(0, 2, Some(7)), marker(2, 7, 1)], Some(Vec::new()), 0);
    assert_eq!((offsets, position.offset), (vec![0, 1], 3));
}

#[test]
fn records_of_aborted_transactions_are_passed_over_until_their_marker() {
    let log = [
        batch(0, 2, Some(7)),
        batch(2, 1, Some(8)),
        batch(3, 1, None),
        marker(4, 7, 0),
        batch(5, 1, Some(7)),
        marker(6, 7, 1),
        marker(7, 8, 1),
    ];
    let (offsets, position) = read(&log, Some(vec![(7, 0)]), 0);
    assert_eq!((offsets, position.offset), (vec![2, 3, 5], 8));
    assert_eq!(read(&log, None, 0).0, [0, 1, 2, 3, 5]);
}

#[test]
fn damaged_batch_is_told_and_the_position_stays_before_it() {
    let mut damaged = batch(2, 2, None);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let mut fetched = Fetched::new([batch(0, 2, None), damaged].concat().into(), None);
    let mut position = Position { offset: 0, last_epoch: -1 };
    for _ in 0..2 {
        assert!(fetched.next(&mut position).unwrap().is_some());
    }
    assert!(matches!(fetched.next(&mut position), Err(RecordsError::ChecksumMismatch { .. })));
    assert_eq!(position.offset, 2);
}

#[test]
fn bytes_that_are_no_batch_are_told() {
    let mut fetched = Fetched::new(vec![0xff; 100].into(), None);
    assert!(!fetched.is_exhausted());
    assert!(fetched.next(&mut Position { offset: 0, last_epoch: -1 }).is_err());
}
