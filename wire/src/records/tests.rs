use bytes::Bytes;

use super::*;

fn record(number: i64, value: Option<&'static [u8]>) -> Record {
    Record {
        offset: number,
        timestamp: 1_700_000_000_000 + number,
        key: (number % 2 == 0).then(|| Bytes::from(format!("key-{number}"))),
        value: value.map(Bytes::from_static),
        headers: vec![
            RecordHeader { key: "traceparent".to_owned(), value: Some(Bytes::from_static(b"00-")) },
            RecordHeader { key: "null".to_owned(), value: None },
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
