use pillion_wire::records::{BatchBuilder, BatchProducer, Record, read_batch};

use super::*;

const NOW: i64 = 1_700_000_000_000;
const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
/// A topic with nothing set.
const PLAIN: Admission = Admission {
    batch_bytes_max: 1_048_588,
    decompressed_bytes_max: usize::MAX,
    keys_required: false,
    timestamp_type: TimestampType::CreateTime,
    timestamp_before_ms_max: i64::MAX,
    timestamp_after_ms_max: 3_600_000,
    compression: None,
    compression_level: None,
    now_ms: NOW,
    produce_version: 12,
};

fn record(key: Option<&'static str>, timestamp: i64) -> Record {
    let value = Some(Bytes::from("some value, again and again ".repeat(4)));
    Record { key: key.map(Bytes::from), value, timestamp, ..Record::default() }
}

fn batch(records: &[Record], compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    records.iter().for_each(|record| builder.push(record));
    let producer = BatchProducer { id: 7, epoch: 2, base_sequence: 40, transactional: true };
    builder.build(Some(producer)).expect("builds")
}

fn good(compression: Compression) -> (Vec<Record>, Bytes) {
    let records: Vec<_> = (0..20).map(|number| Record { offset: number, ..record(Some("k"), NOW - number) }).collect();
    let batch = batch(&records, compression);
    (records, batch)
}

fn rejection(records: &Bytes, admission: &Admission) -> (ErrorCode, Vec<i32>) {
    let rejection = admit(records, admission).expect_err("it is refused");
    (rejection.code, rejection.records)
}

/// A batch whose header is changed and whole again.
fn altered(batch: &Bytes, change: impl FnOnce(&mut BatchHeader)) -> Bytes {
    let mut header = BatchHeader::parse(batch).expect("parses");
    change(&mut header);
    header.seal(&batch[HEADER_BYTES..]).1
}

#[test]
fn a_batch_that_needs_no_change_is_appended_as_it_came() {
    for codec in CODECS {
        let (_, batch) = good(codec);
        for admission in [
            PLAIN,
            Admission { compression: Some(codec), ..PLAIN },
            Admission { keys_required: true, timestamp_before_ms_max: 1_000, ..PLAIN },
        ] {
            let (header, kept) = admit(&batch, &admission).expect("is let in");
            assert_eq!((header, kept.as_ptr()), (BatchHeader::verify(&batch).expect("whole"), batch.as_ptr()));
        }
    }
}

#[test]
fn a_batch_of_another_codec_is_recompressed_and_nothing_else_changes() {
    for (sent, kept) in CODECS.iter().flat_map(|sent| CODECS.map(|kept| (*sent, kept))) {
        let (records, batch) = good(sent);
        let (header, changed) = admit(&batch, &Admission { compression: Some(kept), ..PLAIN }).expect("is let in");
        let (read_header, read) = read_batch(&changed).expect("is whole");
        assert_eq!((read_header, read), (header, records), "{sent:?} to {kept:?}");
        assert_eq!(header.compression().expect("is known"), kept);
        let before = BatchHeader::verify(&batch).expect("is whole");
        let rest = |header: BatchHeader| BatchHeader { batch_length: 0, checksum: 0, ..header };
        assert_eq!(rest(header), rest(before.with_compression(kept)), "{sent:?} to {kept:?}");
    }
}

#[test]
fn the_appends_time_replaces_the_producers_whatever_that_was() {
    let admission = Admission { timestamp_type: TimestampType::LogAppendTime, ..PLAIN };
    for timestamp in [-1, 0, NOW - 10, NOW + 100_000_000, i64::MAX] {
        for compression in [None, Some(Compression::Gzip), Some(Compression::None)] {
            let sent = batch(&[record(None, timestamp), record(None, timestamp)], Compression::None);
            let (header, kept) = admit(&sent, &Admission { compression, ..admission }).expect("is let in");
            let (_, read) = read_batch(&kept).expect("is whole");
            assert!(read.iter().all(|record| record.timestamp == NOW), "{timestamp}");
            assert_eq!((header.base_timestamp, header.max_timestamp), (timestamp, NOW));
        }
    }
    let (_, sent) = good(Compression::None);
    let client_side = altered(&sent, |header| *header = header.with_append_time(NOW));
    for admission in [admission, PLAIN] {
        assert_eq!(rejection(&client_side, &admission).0, ErrorCode::InvalidTimestamp);
    }
}

#[test]
fn records_out_of_the_time_range_are_named() {
    let admission = Admission { timestamp_before_ms_max: 1_000, timestamp_after_ms_max: 1_000, ..PLAIN };
    let at = |timestamps: &[i64]| {
        let records: Vec<_> = timestamps.iter().map(|timestamp| record(None, *timestamp)).collect();
        batch(&records, Compression::Lz4)
    };
    assert_eq!(
        rejection(&at(&[NOW, NOW - 1_001, NOW - 1_000, 0]), &admission),
        (ErrorCode::InvalidTimestamp, vec![1, 3])
    );
    admit(&at(&[NOW + 1_000, NOW - 1_000, -1]), &admission).expect("all are in range, or have none");
    for whole in [[NOW + 1_001; 2], [NOW - 1_001; 2]] {
        assert_eq!(rejection(&at(&whole), &admission).0, ErrorCode::InvalidTimestamp);
    }
}

#[test]
fn a_header_that_lies_about_the_largest_timestamp_is_put_right_where_records_are_looked_at() {
    let (records, sent) = good(Compression::Zstd);
    let lying = altered(&sent, |header| header.max_timestamp = 5);
    let admission = Admission { keys_required: true, ..PLAIN };
    let (header, kept) = admit(&lying, &admission).expect("is let in");
    assert_eq!((header.max_timestamp, read_batch(&kept).expect("is whole").1), (NOW, records));
}

#[test]
fn the_size_is_held_to_the_limit_before_and_after_recompression() {
    let (_, plain) = good(Compression::None);
    let (_, small) = good(Compression::Zstd);
    assert!(small.len() + 100 < plain.len());
    let limit = |batch_bytes_max, compression| Admission { batch_bytes_max, compression: Some(compression), ..PLAIN };
    let (none, zstd) = (Compression::None, Compression::Zstd);
    assert_eq!(rejection(&plain, &limit(plain.len() - 1, zstd)).0, ErrorCode::MessageTooLarge, "as it came");
    assert_eq!(rejection(&small, &limit(plain.len() - 1, none)).0, ErrorCode::MessageTooLarge, "as it is kept");
    assert_eq!(admit(&small, &limit(plain.len(), none)).expect("is let in").1, plain);
}

#[test]
fn a_batch_is_held_to_what_its_topic_lets_it_decompress_to() {
    let (records, sent) = good(Compression::Zstd);
    let whole = batch(&records, Compression::None).len() - HEADER_BYTES;
    let limit = |decompressed_bytes_max| Admission { decompressed_bytes_max, keys_required: true, ..PLAIN };
    admit(&sent, &limit(whole)).expect("is let in");
    assert_eq!(rejection(&sent, &limit(whole - 1)).0, ErrorCode::InvalidRecord);
}

#[test]
fn an_answer_names_a_bounded_number_of_records() {
    let keyless: Vec<_> = (0..5_000).map(|_| record(None, NOW)).collect();
    let admission = Admission { keys_required: true, ..PLAIN };
    let (code, named) = rejection(&batch(&keyless, Compression::Zstd), &admission);
    assert_eq!((code, named), (ErrorCode::InvalidRecord, (0..records::RECORDS_NAMED_MAX as i32).collect()));
}

#[test]
fn what_does_not_decompress_or_count_is_refused_where_it_is_looked_at() {
    let lookers =
        [Admission { keys_required: true, ..PLAIN }, Admission { compression: Some(Compression::Snappy), ..PLAIN }];
    for admission in lookers {
        for codec in CODECS.into_iter().filter(|codec| admission.compression != Some(*codec)) {
            let (_, sent) = good(codec);
            let other = if codec == Compression::Gzip { Compression::Zstd } else { Compression::Gzip };
            let garbage = altered(&sent, |header| *header = header.with_compression(other));
            assert_eq!(rejection(&garbage, &admission).0, ErrorCode::InvalidRecord, "{codec:?}");
            let (fewer, more) = (
                altered(&sent, |header| (header.record_count, header.last_offset_delta) = (19, 18)),
                altered(&sent, |header| (header.record_count, header.last_offset_delta) = (21, 20)),
            );
            for lying in [fewer, more] {
                assert_eq!(rejection(&lying, &admission).0, ErrorCode::InvalidRecord, "{codec:?}");
            }
        }
    }
    let (_, sent) = good(Compression::None);
    let mut offsets = sent.to_vec();
    // The first record's offset delta, behind its length of two bytes, attributes and timestamp delta, becomes 1.
    offsets[HEADER_BYTES + 4] = 2;
    let header = BatchHeader::parse(&offsets).expect("parses");
    let (_, skipping) = header.seal(&offsets[HEADER_BYTES..]);
    assert_eq!(rejection(&skipping, &lookers[0]), (ErrorCode::InvalidRecord, vec![0]));
}

#[test]
fn what_keeps_the_event_loop_is_known_before() {
    let (_, plain) = good(Compression::None);
    let (_, zstd) = good(Compression::Zstd);
    let large = batch(&vec![record(Some("k"), NOW); 700], Compression::None);
    let keys = Admission { keys_required: true, ..PLAIN };
    let old = Admission { timestamp_before_ms_max: 5, ..PLAIN };
    let to_zstd = Admission { compression: Some(Compression::Zstd), ..PLAIN };
    let stamped = Admission { timestamp_type: TimestampType::LogAppendTime, ..old };
    let takes = |admission: Admission| [&plain, &zstd, &large].map(|batch| admission.takes_long(batch));
    assert_eq!(takes(PLAIN), [false, false, false]);
    assert_eq!(takes(stamped), [false, false, false]);
    assert_eq!(takes(keys), [false, true, true]);
    assert_eq!(takes(old), [false, true, true]);
    assert_eq!(takes(to_zstd), [true, false, true]);
    assert!(!to_zstd.takes_long(&plain[..40]), "it is refused by its header");
}
