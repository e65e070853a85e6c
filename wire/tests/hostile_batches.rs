//! Record batches made to hurt: bytes that decompress to a thousand times themselves, and lengths inside codecs, headers
//! and records that promise what is not there. Reading them takes memory by a bound of the reader's, not by theirs.

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchRecords, Compression, Record, RecordsError, read_batch};

const CODECS: [Compression; 4] = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
/// First bytes of the framing that Java's snappy writes, and its two versions.
const XERIAL: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
const LIMIT: usize = 1 << 20;
/// Buffers that decoders have whatever they read; two blocks of LZ4's largest size are most of it.
const DECODER_BYTES: u64 = 10 << 20;
const RECORD_COUNT: std::ops::Range<usize> = 57..61;
const CHECKSUM: std::ops::Range<usize> = 17..21;

/// Decompresses to at most [`LIMIT`] bytes, and holds the memory for that to a bound.
fn decompress(codec: Compression, bytes: &[u8]) -> Result<usize, RecordsError> {
    let mut read = Ok(0);
    let memory =
        allocation_counter::measure(|| read = codec.decompress(bytes, LIMIT).map(|decompressed| decompressed.len()));
    // The decompressed bytes grow by doubling.
    let allowed = DECODER_BYTES + 4 * LIMIT as u64;
    assert!(memory.bytes_max <= allowed, "{codec:?}: {} bytes for {}", memory.bytes_max, bytes.len());
    read
}

#[test]
fn what_decompresses_to_a_thousand_times_itself_is_capped() {
    let zeroes = vec![0; 8 << 20];
    for codec in CODECS {
        let bomb = codec.compress(&zeroes).expect("compresses").into_owned();
        assert!(bomb.len() < zeroes.len() / 20, "{codec:?}: {} bytes are no bomb", bomb.len());
        assert!(matches!(decompress(codec, &bomb), Err(RecordsError::TooLarge(LIMIT))), "{codec:?}");
    }
    // Gzip may have several members, of which each is below the limit.
    let half = Compression::Gzip.compress(&zeroes[..LIMIT / 2 + 1]).expect("compresses").into_owned();
    assert_eq!(decompress(Compression::Gzip, &half).expect("it is below the limit"), LIMIT / 2 + 1);
    assert!(matches!(decompress(Compression::Gzip, &half.repeat(2)), Err(RecordsError::TooLarge(LIMIT))));
}

#[test]
fn lengths_inside_snappy_choose_no_allocation() {
    let block = snappy_block_of(8);
    for claimed in [0x7fff_ffff_u32, 0xffff_ffff, 0x8000_0000, block.len() as u32 + 1] {
        let framed = [&XERIAL[..], &claimed.to_be_bytes(), &block].concat();
        let read = decompress(Compression::Snappy, &framed);
        assert!(matches!(read, Err(RecordsError::Compression(_))), "a block of {claimed} bytes: {read:?}");
    }
    // A block of no bytes has no length of its own; one that claims four gigabytes decompressed is beyond the limit.
    let nothing = decompress(Compression::Snappy, &[&XERIAL[..], &[0; 4]].concat());
    assert!(matches!(nothing, Err(RecordsError::Compression(_))), "{nothing:?}");
    let greedy = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, b'x'];
    assert!(matches!(decompress(Compression::Snappy, &greedy), Err(RecordsError::TooLarge(LIMIT))));
    let framed = [&XERIAL[..], &(greedy.len() as u32).to_be_bytes(), &greedy].concat();
    assert!(matches!(decompress(Compression::Snappy, &framed), Err(RecordsError::TooLarge(LIMIT))));
    // Blocks share one limit.
    let whole = snappy_block_of(LIMIT / 2);
    let framed = [&(whole.len() as u32).to_be_bytes()[..], &whole].concat().repeat(3);
    let framed = [&XERIAL[..], &framed].concat();
    assert!(matches!(decompress(Compression::Snappy, &framed), Err(RecordsError::TooLarge(LIMIT))));
}

/// A raw block of so many zeroes, out of our writer's framing: it writes blocks of 32 KiB, so larger ones are made here.
fn snappy_block_of(length: usize) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(&vec![0; length]).expect("compresses")
}

#[test]
fn codecs_cut_anywhere_or_flipped_are_refused_or_stay_within_the_limit() {
    let content: Vec<u8> = (0..60_u32).flat_map(|number| (number * 7919).to_be_bytes()).collect();
    for codec in CODECS {
        let whole = codec.compress(&content).expect("compresses").into_owned();
        for length in 0..whole.len() {
            if let Ok(read) = decompress(codec, &whole[..length]) {
                assert!(read <= content.len(), "{codec:?} cut at {length}");
            }
        }
        for place in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= flip;
                let _ = decompress(codec, &damaged);
            }
        }
    }
}

/// A batch of one record with this body and as many records as it claims, its checksum right.
fn claiming(count: i32, body: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&Record::default());
    let built = builder.build(None).expect("builds");
    let mut batch = [&built[..61], body].concat();
    let length = (batch.len() - 12) as u32;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[RECORD_COUNT].copy_from_slice(&count.to_be_bytes());
    let checksum = crc32c::crc32c(&batch[CHECKSUM.end..]);
    batch[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    Bytes::from(batch)
}

#[test]
fn counts_and_lengths_of_records_choose_no_allocation() {
    let huge: [&[u8]; 2] = [&[0xfe, 0xff, 0xff, 0xff, 0x0f], &[0xff, 0xff, 0xff, 0xff, 0x0f]];
    let mut bodies = vec![Vec::new(), vec![0; 10_000]];
    for length in huge {
        bodies.push(length.to_vec());
        // Attributes, timestamp and offset; key; value; headers; a header's key; its value.
        for before in [&[0_u8, 0, 0][..], &[0, 0, 0, 1], &[0, 0, 0, 1, 1], &[0, 0, 0, 1, 1, 2], &[0, 0, 0, 1, 1, 2, 0]]
        {
            bodies.push([&[40][..], before, length, &[0; 20]].concat());
        }
    }
    for body in bodies {
        for count in [1, 7, i32::MAX, i32::MIN] {
            let batch = claiming(count, &body);
            let header = BatchHeader::verify(&batch).expect("the header is right");
            let mut read = Ok(Vec::new());
            let memory = allocation_counter::measure(|| read = read_batch(&batch).map(|(_, records)| records));
            assert!(read.is_err() || body.is_empty(), "{body:?} as {count} records: {read:?}");
            let allowed = 256 * 1024 + 128 * body.len() as u64;
            assert!(memory.bytes_max < allowed, "{} bytes for {body:?} as {count}", memory.bytes_max);
            let one_by_one = BatchRecords::decompress(&header, &batch).expect("there is no codec");
            assert_eq!(one_by_one.iter().any(|record| record.is_err()), read.is_err(), "{body:?} as {count}");
        }
    }
}
