//! Record batches, good and deliberately bad.

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchProducer, Compression, Record, read_batch};

/// Where a batch's checksum stands, and where what it covers begins.
const CHECKSUM: std::ops::Range<usize> = 17..21;
const CHECKSUMMED_FROM: usize = 21;

/// A record with a key, made at a time.
pub(crate) fn record(value: impl Into<Bytes>, timestamp: i64) -> Record {
    Record { key: Some(Bytes::from_static(b"key")), value: Some(value.into()), timestamp, ..Record::default() }
}

/// A batch of these values.
pub(crate) fn batch(values: &[&str]) -> Bytes {
    let records: Vec<_> = values.iter().map(|value| record((*value).to_owned(), 1_000)).collect();
    batch_of(&records, Compression::None, None)
}

/// A batch of these values from an idempotent producer.
pub(crate) fn idempotent(values: &[&str], id: i64, epoch: i16, base_sequence: i32) -> Bytes {
    let records: Vec<_> = values.iter().map(|value| record((*value).to_owned(), 1_000)).collect();
    let producer = BatchProducer { id, epoch, base_sequence, transactional: false };
    batch_of(&records, Compression::None, Some(producer))
}

pub(crate) fn batch_of(records: &[Record], compression: Compression, producer: Option<BatchProducer>) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    records.iter().for_each(|record| builder.push(record));
    builder.build(producer).expect("the codec works")
}

/// A batch with bytes changed and its checksum made right again.
pub(crate) fn altered(batch: &Bytes, at: usize, bytes: &[u8]) -> Bytes {
    let mut altered = batch.to_vec();
    altered[at..at + bytes.len()].copy_from_slice(bytes);
    let checksum = crc32c::crc32c(&altered[CHECKSUMMED_FROM..]);
    altered[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    Bytes::from(altered)
}

/// The whole batches that `bytes` begins with; what is cut at the end is left out.
pub(crate) fn split(bytes: &Bytes) -> Vec<Bytes> {
    let mut batches = Vec::new();
    let mut rest = bytes.clone();
    while let Ok(header) = BatchHeader::parse(&rest) {
        if header.size() > rest.len() {
            break;
        }
        batches.push(rest.split_to(header.size()));
    }
    batches
}

/// The records in the whole batches of `bytes`, from `offset` on.
pub(crate) fn records_of(bytes: &Bytes, offset: i64) -> Vec<Record> {
    let batches = split(bytes);
    let records = batches.iter().flat_map(|batch| read_batch(batch).expect("the batch reads").1);
    records.filter(|record| record.offset >= offset).collect()
}
