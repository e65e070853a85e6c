use bytes::Bytes;

use super::*;

fn record(number: i64, value: Option<&'static [u8]>) -> Record {
    Record {
        offset: number,
        timestamp: 1_700_000_000_000 + number,
        key: (number % 2 == 0).then(|| Bytes::from(format!("key-{number}"))),
        value: value.map(Bytes::from_static),
        headers: vec![
            RecordHeader { key: "traceparent".into(), value: Some(Bytes::from_static(b"00-")) },
            RecordHeader { key: "null".into(), value: None },
        ],
    }
}

fn build(compression: Compression) -> (Vec<Record>, Bytes) {
    let records: Vec<_> =
        (0..50).map(|number| record(number, (number != 7).then_some(&b"some value, again and again"[..]))).collect();
    let mut builder = BatchBuilder::new(compression);
    records.iter().for_each(|record| builder.push(record));
    let batch =
        builder.build(Some(BatchProducer { id: 7, epoch: 1, base_sequence: 40, transactional: true })).expect("builds");
    (records, batch)
}

#[test]
fn a_batch_gives_back_its_records_in_every_codec() {
    for compression in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
    {
        let (records, batch) = build(compression);
        let (header, read) = read_batch(&batch).expect("reads");
        assert_eq!(read, records);
        assert_eq!(header.compression().expect("known"), compression);
        assert_eq!((header.size(), header.last_offset(), header.last_sequence()), (batch.len(), 49, 89));
        assert!(header.is_transactional() && !header.is_control());
    }
}

#[test]
fn the_size_bound_of_a_builder_holds() {
    let mut builder = BatchBuilder::new(Compression::None);
    (0..200).for_each(|number| builder.push(&record(number << 40, Some(b"v"))));
    let bound = builder.bytes_max();
    assert!(builder.build(None).expect("builds").len() <= bound);
}

#[test]
fn a_batch_cut_or_flipped_anywhere_is_refused() {
    let (_, batch) = build(Compression::None);
    for length in 0..batch.len() {
        assert!(read_batch(&batch.slice(..length)).is_err(), "cut at {length}");
    }
    // Base offset and leader epoch are outside the checksum, so a flip there is not seen.
    for at in (8..12).chain(16..batch.len()) {
        let mut bytes = batch.to_vec();
        bytes[at] ^= 0x10;
        assert!(read_batch(&Bytes::from(bytes)).is_err(), "flipped at {at}");
    }
}

#[test]
fn a_decompression_bomb_is_capped() {
    let bomb = vec![0_u8; 1 << 20];
    for compression in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let compressed = compression.compress(&bomb).expect("compresses").into_owned();
        assert!(
            matches!(compression.decompress(&compressed, 1000), Err(RecordsError::TooLarge(1000))),
            "{compression:?}"
        );
        assert_eq!(compression.decompress(&compressed, 1 << 20).expect("fits").len(), 1 << 20);
    }
}

#[test]
fn sequences_wrap_to_zero() {
    assert_eq!(advance_sequence(i32::MAX, 1), 0);
    assert_eq!(advance_sequence(i32::MAX - 1, 3), 1);
}

#[test]
fn stamping_changes_only_the_place() {
    let (records, batch) = build(Compression::None);
    let header = BatchHeader::parse(&batch).expect("parses");
    let mut stamped = header.stamp(1000, 3).to_vec();
    stamped.extend_from_slice(&batch[STAMPED_BYTES..]);
    let (header, read) = read_batch(&Bytes::from(stamped)).expect("reads");
    assert_eq!((header.base_offset, header.leader_epoch, read[0].offset), (1000, 3, 1000));
    assert_eq!(read.len(), records.len());
}

#[test]
fn a_sealed_batch_is_the_batch_it_was_taken_from() {
    let (_, batch) = build(Compression::Lz4);
    let header = BatchHeader::verify(&batch).expect("is whole");
    let unsealed = BatchHeader { batch_length: 0, checksum: 0, ..header };
    assert_eq!(unsealed.seal(&batch[HEADER_BYTES..]), (header, batch));
}

#[test]
fn append_time_is_stamped_as_kafka_does() {
    // Partition appendtime-0 of a directory that Apache Kafka 4.4.0 wrote; its producer's timestamps were 1700000000000.
    let kafkas: [u8; 112] = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x64, 0, 0, 0, 0, 2, 0x4a, 0x65, 0x2c, 0xc6, 0, 8, 0, 0, 0, 2, 0, 0, 1, 0x8b,
        0xcf, 0xe5, 0x68, 0, 0, 0, 1, 0xa2, 0x29, 0x1b, 0x26, 0x89, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 3, 0x20, 0, 0, 0, 4, b'a', b'0', 0x10, b'a', b'p', b'p', b'e',
        b'n', b'd', b' ', b'0', 0, 0x20, 0, 2, 2, 4, b'a', b'1', 0x10, b'a', b'p', b'p', b'e', b'n', b'd', b' ', b'1',
        0, 0x20, 0, 4, 4, 4, b'a', b'2', 0x10, b'a', b'p', b'p', b'e', b'n', b'd', b' ', b'2', 0,
    ];
    let mut builder = BatchBuilder::new(Compression::None);
    for number in 0..3 {
        let [key, value] = [format!("a{number}"), format!("append {number}")].map(|text| Some(Bytes::from(text)));
        builder.push(&Record { key, value, timestamp: 1_700_000_000_000 + number, ..Record::default() });
    }
    let batch = builder.build(None).expect("builds");
    let sent = BatchHeader::verify(&batch).expect("is whole");
    let (header, batch) = sent.with_append_time(1_795_985_974_921).seal(&batch[HEADER_BYTES..]);
    assert_eq!([&header.stamp(0, 0)[..], &batch[STAMPED_BYTES..]].concat(), kafkas);
    let (header, records) = read_batch(&batch).expect("reads");
    assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
    assert!(records.iter().all(|record| record.timestamp == 1_795_985_974_921));
}

#[test]
fn a_codec_can_be_changed_and_nothing_else() {
    let (records, batch) = build(Compression::Snappy);
    let header = BatchHeader::verify(&batch).expect("is whole");
    for codec in [Compression::None, Compression::Gzip, Compression::Lz4, Compression::Zstd] {
        let inside = BatchRecords::decompress(&header, &batch).expect("decompresses");
        let body = codec.compress(inside.body()).expect("compresses");
        let (changed, batch) = header.with_compression(codec).seal(&body);
        let (read, same) = read_batch(&batch).expect("reads");
        assert_eq!((changed, same), (read, records.clone()));
        assert_eq!(changed.compression().expect("is known"), codec);
        let rest = |header: BatchHeader| BatchHeader { batch_length: 0, checksum: 0, attributes: 0, ..header };
        assert_eq!(rest(changed), rest(header));
        assert!(changed.is_transactional(), "the other attributes stay");
    }
}

#[test]
fn levels_of_compression_are_told_to_their_codecs() {
    let text: Vec<u8> =
        (0..20_000_u32).flat_map(|number| number.wrapping_mul(number).to_string().into_bytes()).collect();
    let size = |codec: Compression, level| {
        let compressed = codec.compress_at(level, &text).expect("compresses").into_owned();
        assert_eq!(codec.decompress(&compressed, text.len()).expect("decompresses"), &text[..]);
        compressed.len()
    };
    for (codec, low, high) in [(Compression::Gzip, 1, 9), (Compression::Zstd, -50, 19)] {
        assert!(size(codec, Some(high)) < size(codec, Some(low)), "{codec:?}");
        assert_eq!(size(codec, Some(i32::MAX)), size(codec, Some(if codec == Compression::Zstd { 22 } else { 9 })));
    }
    assert_eq!(size(Compression::Gzip, Some(-1)), size(Compression::Gzip, None));
    for codec in [Compression::None, Compression::Snappy, Compression::Lz4] {
        assert_eq!(size(codec, Some(9)), size(codec, None));
    }
}

#[test]
fn records_are_read_one_at_a_time_up_to_what_is_wrong() {
    let (records, batch) = build(Compression::Gzip);
    let header = BatchHeader::verify(&batch).expect("is whole");
    let inside = BatchRecords::decompress(&header, &batch).expect("decompresses");
    let read: Result<Vec<_>, _> = inside.iter().collect();
    assert_eq!(read.expect("all read"), records);
    for (count, good) in [(49, 49), (51, 50), (i32::MAX, 50), (0, 0), (-1, 0)] {
        let claimed = BatchHeader { record_count: count, ..header };
        let inside = BatchRecords::decompress(&claimed, &batch).expect("decompresses");
        let read: Vec<_> = inside.iter().collect();
        assert_eq!(read.len(), good + 1, "{count} claimed");
        assert!(read[..good].iter().all(Result::is_ok) && read[good].is_err(), "{count} claimed");
    }
    assert!(matches!(BatchRecords::decompress(&header, &batch.slice(..70)), Err(RecordsError::Truncated { .. })));
}
