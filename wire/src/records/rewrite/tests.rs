use super::*;
use crate::records::{
    BatchBuilder, BatchProducer, Compression, DECOMPRESSED_BYTES_MAX, Record, RecordHeader, STAMPED_BYTES, read_batch,
};

const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// Ten records at offset 100, timestamps going up and down, from a transaction.
fn batch(compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    for number in 0..10 {
        builder.push(&Record {
            offset: 0,
            timestamp: 1_700_000_000_000 + (number * 7 % 10) * 1000,
            key: (number != 3).then(|| Bytes::from(format!("key-{number}"))),
            value: (number != 4).then(|| Bytes::from_static(b"value")),
            headers: vec![RecordHeader { key: "h".into(), value: None }],
        });
    }
    let producer = BatchProducer { id: 7, epoch: 2, base_sequence: 50, transactional: true };
    let batch = builder.build(Some(producer)).unwrap();
    let mut stamped = BatchHeader::parse(&batch).unwrap().stamp(100, 4).to_vec();
    stamped.extend_from_slice(&batch[STAMPED_BYTES..]);
    Bytes::from(stamped)
}

fn rewrite(batch: &Bytes, horizon: Option<i64>, keep: impl Fn(&RecordView<'_>) -> bool) -> Bytes {
    let header = BatchHeader::verify(batch).unwrap();
    let records = BatchRecords::decompress_within(&header, batch, DECOMPRESSED_BYTES_MAX).unwrap();
    let mut rewriter = BatchRewriter::new(&header, horizon);
    records
        .each(|record| {
            if keep(&record) {
                rewriter.push(&record);
            }
            true
        })
        .unwrap();
    rewriter.finish().unwrap()
}

#[test]
fn views_show_what_the_records_hold() {
    for compression in CODECS {
        let batch = batch(compression);
        let (header, expected) = read_batch(&batch).unwrap();
        let records = BatchRecords::decompress_within(&header, &batch, DECOMPRESSED_BYTES_MAX).unwrap();
        let mut seen = Vec::new();
        let mut each = |record: RecordView<'_>| {
            let bytes = |bytes: Option<&[u8]>| bytes.map(Bytes::copy_from_slice);
            seen.push((record.offset, record.timestamp, bytes(record.key), bytes(record.value)));
            true
        };
        records.each(&mut each).unwrap();
        let expected: Vec<_> = expected
            .iter()
            .map(|record| (record.offset, record.timestamp, record.key.clone(), record.value.clone()))
            .collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_batch_of_which_all_is_kept_is_the_same_batch() {
    let batch = batch(Compression::None);
    assert_eq!(rewrite(&batch, None, |_| true), batch);
}

#[test]
fn the_rest_of_a_batch_keeps_offsets_producer_and_codec() {
    for (compression, horizon) in CODECS.into_iter().flat_map(|codec| [(codec, None), (codec, Some(1_800_000_000_000))])
    {
        let batch = batch(compression);
        let rewritten = rewrite(&batch, horizon, |record| record.offset % 3 == 2);
        let (old, mut expected) = read_batch(&batch).unwrap();
        expected.retain(|record| record.offset % 3 == 2);
        let (new, records) = read_batch(&rewritten).unwrap();
        assert_eq!(records, expected);
        assert_eq!(new.delete_horizon_ms(), horizon);
        assert_eq!(new.base_timestamp, horizon.unwrap_or(expected[0].timestamp));
        assert_eq!(new.max_timestamp, expected.iter().map(|record| record.timestamp).max().unwrap());
        assert_eq!((new.base_offset, new.last_offset(), new.leader_epoch), (100, 109, 4));
        assert_eq!((new.producer_id, new.producer_epoch, new.last_sequence()), (7, 2, 59));
        assert_eq!(new.attributes & 0x3f, old.attributes & 0x3f);
        // What was rewritten is read and rewritten like any other batch.
        assert_eq!(rewrite(&rewritten, horizon, |_| true), rewritten);
    }
}

#[test]
fn timestamps_that_the_broker_set_stay_the_batchs_own() {
    let plain = batch(Compression::None);
    let header = BatchHeader { attributes: 0x08, max_timestamp: 42, ..BatchHeader::parse(&plain).unwrap() };
    let mut batch = plain.to_vec();
    header.write_to(&mut batch);
    let rewritten = rewrite(&Bytes::from(batch), Some(5000), |record| record.offset < 103);
    let (header, records) = read_batch(&rewritten).unwrap();
    assert_eq!((header.timestamp_type(), header.max_timestamp), (TimestampType::LogAppendTime, 42));
    assert!(records.iter().all(|record| record.timestamp == 42));
}

#[test]
fn an_emptied_batch_still_says_where_it_ended_and_who_wrote_it() {
    let batch = batch(Compression::Lz4);
    let old = BatchHeader::parse(&batch).unwrap();
    let (new, records) = read_batch(&old.emptied()).unwrap();
    assert!(records.is_empty());
    assert_eq!((new.base_offset, new.last_offset(), new.leader_epoch, new.size()), (100, 109, 4, HEADER_BYTES));
    assert_eq!((new.producer_id, new.producer_epoch, new.last_sequence()), (7, 2, 59));
    assert_eq!((new.base_timestamp, new.max_timestamp), (-1, old.max_timestamp));
    assert!(new.is_transactional() && new.compression().unwrap() == Compression::None);
}

#[test]
fn records_of_false_lengths_or_offsets_are_refused() {
    let batch = batch(Compression::None);
    let header = BatchHeader::parse(&batch).unwrap();
    let read = |batch: Vec<u8>, header: &BatchHeader| {
        BatchRecords::decompress_within(header, &Bytes::from(batch), 1000).and_then(|records| records.each(|_| true))
    };
    // No flipped bit makes it panic.
    for at in HEADER_BYTES..batch.len() {
        for bit in 0..8 {
            let mut flipped = batch.to_vec();
            flipped[at] ^= 1 << bit;
            let _ = read(flipped, &header);
        }
    }
    let mut longer = batch.to_vec();
    longer[HEADER_BYTES] += 2;
    assert!(read(longer, &header).is_err());
    let shorter = BatchHeader { last_offset_delta: 5, ..header };
    assert!(matches!(read(batch.to_vec(), &shorter), Err(RecordsError::RecordOffset { index: 6 })));
    let fewer = BatchHeader { record_count: 9, ..header };
    assert!(matches!(read(batch.to_vec(), &fewer), Err(RecordsError::RecordLength { index: 9 })));
    let more = BatchHeader { record_count: i32::MAX, ..header };
    assert!(read(batch.to_vec(), &more).is_err());
}

#[test]
fn a_bomb_is_not_opened() {
    let batch = batch(Compression::Zstd);
    let header = BatchHeader::parse(&batch).unwrap();
    assert!(matches!(BatchRecords::decompress_within(&header, &batch, 50), Err(RecordsError::TooLarge(50))));
}
