use pillion_wire::records::{
    BatchBuilder, BatchProducer, Compression, DECOMPRESSED_BYTES_MAX, HEADER_BYTES, Record, read_batch,
};

use super::*;

const KEEP: BatchDecision = BatchDecision { discard_records: false, keep_when_empty: false, marker_expires: false };
const SETTINGS: FilterSettings =
    FilterSettings { delete_horizon_ms: 9_000_000, decompressed_bytes_max: DECOMPRESSED_BYTES_MAX };

/// A batch of one record per value, `None` a tombstone.
fn batch(values: &[Option<&'static str>]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::Zstd);
    for (number, value) in values.iter().enumerate() {
        builder.push(&Record {
            timestamp: 1000 + number as i64,
            key: Some(Bytes::from(format!("key-{number}"))),
            value: value.map(Bytes::from),
            ..Record::default()
        });
    }
    builder.build(Some(BatchProducer { id: 3, epoch: 1, base_sequence: 8, transactional: false })).unwrap()
}

fn filter(batch: &Bytes, decision: BatchDecision, retain: impl FnMut(&RecordView<'_>) -> bool) -> Filtered {
    filter_batch(batch, &BatchHeader::verify(batch).unwrap(), decision, SETTINGS, retain).unwrap()
}

fn rewritten(filtered: Filtered) -> Bytes {
    let Filtered::Rewritten(batch) = filtered else { panic!("{filtered:?}") };
    BatchHeader::verify(&batch).unwrap();
    batch
}

#[test]
fn a_batch_of_which_everything_stays_is_not_touched() {
    assert_eq!(filter(&batch(&[Some("a"), Some("b")]), KEEP, |_| true), Filtered::Unchanged);
}

#[test]
fn the_first_cleaning_that_keeps_a_tombstone_sets_the_delete_horizon_and_no_later_one() {
    let first = rewritten(filter(&batch(&[Some("a"), None]), KEEP, |_| true));
    let (header, records) = read_batch(&first).unwrap();
    assert_eq!(header.delete_horizon_ms(), Some(9_000_000));
    assert_eq!(records.iter().map(|record| record.timestamp).collect::<Vec<_>>(), [1000, 1001]);
    assert_eq!(filter(&first, KEEP, |_| true), Filtered::Unchanged);
    let later = FilterSettings { delete_horizon_ms: 10_000_000, ..SETTINGS };
    let second = filter_batch(&first, &header, KEEP, later, |record| record.value.is_none()).unwrap();
    assert_eq!(read_batch(&rewritten(second)).unwrap().0.delete_horizon_ms(), Some(9_000_000));
}

#[test]
fn a_removed_tombstone_sets_no_delete_horizon() {
    let kept = rewritten(filter(&batch(&[Some("a"), None]), KEEP, |record| record.value.is_some()));
    let (header, records) = read_batch(&kept).unwrap();
    assert_eq!((header.delete_horizon_ms(), records.len()), (None, 1));
}

#[test]
fn an_emptied_batch_stays_only_where_its_header_is_needed() {
    let batch = batch(&[Some("a")]);
    assert_eq!(filter(&batch, KEEP, |_| false), Filtered::Dropped);
    let needed = BatchDecision { keep_when_empty: true, ..KEEP };
    let empty = rewritten(filter(&batch, needed, |_| false));
    assert_eq!(empty.len(), HEADER_BYTES);
    assert_eq!(filter(&empty, needed, |_| true), Filtered::Unchanged);
    assert_eq!(filter(&empty, KEEP, |_| true), Filtered::Dropped);
}

#[test]
fn discarded_records_are_not_even_read() {
    let mut damaged = batch(&[Some("a")]).to_vec();
    damaged.truncate(HEADER_BYTES);
    let header = BatchHeader::parse(&damaged).unwrap();
    let discard = BatchDecision { discard_records: true, ..KEEP };
    let filtered = filter_batch(&Bytes::from(damaged), &header, discard, SETTINGS, |_| true).unwrap();
    assert_eq!(filtered, Filtered::Dropped);
}

#[test]
fn a_marker_with_nothing_left_to_say_gets_its_delete_horizon() {
    let marker = batch(&[Some("stands for a control record")]);
    let expires = BatchDecision { marker_expires: true, ..KEEP };
    let first = rewritten(filter(&marker, expires, |_| true));
    assert_eq!(BatchHeader::parse(&first).unwrap().delete_horizon_ms(), Some(9_000_000));
    assert_eq!(filter(&first, expires, |_| true), Filtered::Unchanged);
}

#[test]
fn records_that_decompress_beyond_the_bound_are_an_error() {
    let batch = batch(&[Some("a")]);
    let small = FilterSettings { decompressed_bytes_max: 5, ..SETTINGS };
    let header = BatchHeader::parse(&batch).unwrap();
    assert!(matches!(filter_batch(&batch, &header, KEEP, small, |_| true), Err(RecordsError::TooLarge(5))));
}
