//! Record batches of every codec: as they are, and with length, magic and checksum made right, for no mutation would
//! find those.

use bytes::Bytes;
use pillion_wire::records::{
    BatchBuilder, BatchHeader, BatchRecords, Compression, EndTransactionMarker, HEADER_BYTES, Record, RecordHeader,
    control_batch, read_batch, read_marker,
};

use crate::Target;
use crate::target::within;

/// What a batch may decompress to here.
const DECOMPRESSED_BYTES_MAX: usize = 256 * 1024;
/// Buffers of the codecs' decoders, whatever they read: two blocks of LZ4's largest size are most of it.
const DECODER_BYTES: usize = 10 << 20;
const LENGTH: std::ops::Range<usize> = 8..12;
const MAGIC: usize = 16;
const CHECKSUM: std::ops::Range<usize> = 17..21;

pub(crate) fn target() -> Target {
    use Compression::{Gzip, Lz4, None, Snappy, Zstd};
    let codecs = [None, Gzip, Snappy, Lz4, Zstd].into_iter();
    let mut seeds: Vec<Vec<u8>> = codecs.map(|codec| [&[1], &batch(codec)[..]].concat()).collect();
    let marker = EndTransactionMarker { commit: true, coordinator_epoch: 3 };
    seeds.push([&[1], &control_batch(7, 0, 1_000, marker)[..]].concat());
    Target { name: "batches".to_owned(), seeds, run: Box::new(run) }
}

fn batch(compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    for number in 0..20 {
        let header = RecordHeader { key: "traceparent".into(), value: Some("00-".into()) };
        let (key, value) = (Some("key".into()), (number % 5 != 0).then(|| "a value of some length".into()));
        builder.push(&Record { key, value, timestamp: 1_000 + number, headers: vec![header], ..Record::default() });
    }
    builder.build(Option::None).expect("the codec works")
}

/// The first byte says whether what cannot be guessed is made right.
fn run(bytes: &[u8]) {
    let Some((made_right, bytes)) = bytes.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if made_right % 2 == 1 && bytes.len() >= HEADER_BYTES {
        let length = (bytes.len() - LENGTH.end) as u32;
        bytes[LENGTH].copy_from_slice(&length.to_be_bytes());
        bytes[MAGIC] = 2;
        let checksum = crc32c::crc32c(&bytes[CHECKSUM.end..]);
        bytes[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    }
    let batch = Bytes::from(bytes);
    let header = within(1024, "batch header", || BatchHeader::verify(&batch));
    let _ = read_marker(&batch);
    let Ok(header) = header else { return };
    let bytes_max = DECODER_BYTES + 8 * DECOMPRESSED_BYTES_MAX + 64 * batch.len();
    let inside =
        within(bytes_max, "decompression", || BatchRecords::decompress_within(&header, &batch, DECOMPRESSED_BYTES_MAX));
    let Ok(inside) = inside else { return };
    let read: Result<Vec<Record>, _> = within(1024 + 128 * inside.body().len(), "records", || inside.iter().collect());
    let whole = within(bytes_max + 128 * inside.body().len(), "whole batch", || read_batch(&batch));
    let Ok(read) = read else {
        assert!(whole.is_err(), "one way of reading refuses what the other takes");
        return;
    };
    assert_eq!(whole.expect("both ways of reading agree").1, read);
}
