//! What the fuzz targets (`fuzz/`) reach of this crate: how a frame finds its API, and the formats of its files and
//! records, each as a function from bytes to the bytes that say the same.
//!
//! Compiled for them only (feature `fuzzing`).

use bytes::Bytes;
use uuid::Uuid;

use crate::dispatch::{self, Parsed};
use crate::groups::record_codec::{self, DecodedRecord};
use crate::kafka_directory;
use crate::log::format::{
    leader_epoch_checkpoint, names, offset_checkpoint, partition_metadata, producer_snapshot, transaction_index,
};
use crate::network::{FrameReader, Next, RequestMemory};
use crate::transactions;

/// A format that only this crate reads.
pub struct Format {
    /// What it is called as a fuzz target.
    pub name: &'static str,
    /// Bytes that are of it.
    pub example: Vec<u8>,
    /// Decodes bytes, and encodes what they said; `None` when they were refused, or say what nobody here writes.
    pub again: fn(&[u8]) -> Option<Vec<u8>>,
}

/// A request as far as a connection reads it before its handler does: API key, version, body. `None` when the
/// connection would be closed, or the version answered without reading on.
#[must_use]
pub fn request(frame: &Bytes) -> Option<(i16, i16, Bytes)> {
    let Parsed { header, body, .. } = dispatch::parse(frame).ok()?;
    Some((header.api_key, header.api_version, body?))
}

/// The frames in a connection's bytes, which arrive so many at a time, and whether it would be closed behind them. A frame
/// has at most `frame_bytes_max`.
#[must_use]
pub fn cut(bytes: &[u8], arriving: usize, frame_bytes_max: usize) -> (Vec<Bytes>, bool) {
    let (mut reader, memory, mut frames) = (FrameReader::default(), RequestMemory::new(None), Vec::new());
    for mut piece in bytes.chunks(arriving.max(1)) {
        while !piece.is_empty() {
            piece = &piece[reader.receive(piece)..];
            loop {
                match reader.next_frame(frame_bytes_max) {
                    Ok(Next::Frame(frame)) => frames.push(frame.bytes),
                    Ok(Next::Large { held, size }) => reader.give(memory.take(held, size).expect("there is no bound")),
                    Ok(Next::Part) => break,
                    Err(_) => return (frames, true),
                }
            }
            reader.release();
        }
    }
    (frames, false)
}

/// All formats.
#[must_use]
pub fn formats() -> Vec<Format> {
    // A committed offset, value version 3: offset and leader epoch, no metadata, a timestamp.
    let key = [0, 1, 0, 1, b'g', 0, 1, b't', 0, 0, 0, 3];
    let offset = [&[key.len() as u8], &key[..], &[0, 3], &[0; 12], &[0; 2], &[1; 8]].concat();
    // A transactional id that nobody used: value version 1, all else zero.
    let transaction = [&[5][..], &[0, 0, 0, 1, b'x'], &[0, 1], &[0; 60]].concat();
    let epochs = leader_epoch_checkpoint::encode(&[(0, 0), (3, 1042)]);
    let offsets = offset_checkpoint::encode([("orders", 0, 13), ("orders", 1, 7)]);
    let format = |name, example: &[u8], again| Format { name, example: example.to_vec(), again };
    vec![
        format("group-record", &offset, group_record),
        format("kafka-metadata-record", &[1, 9, 0, 0, 0, 0, 0], kafka_metadata_record),
        format("leader-epoch-checkpoint", epochs.as_bytes(), leader_epochs),
        format("offset-checkpoint", offsets.as_bytes(), offset_entries),
        format("partition-metadata", partition_metadata::encode(Uuid::from_u128(7)).as_bytes(), topic_id),
        format("producer-snapshot", &producer_snapshot::encode(&[]), producers),
        format("segment-name", names::log_file(42).as_bytes(), segment_name),
        format("transaction-index", &[0; transaction_index::ENTRY_BYTES], aborted_transaction),
        format("transaction-record", &transaction, transaction_record),
    ]
}

/// Kafka's own, which nobody here writes.
fn kafka_metadata_record(bytes: &[u8]) -> Option<Vec<u8>> {
    let _ = kafka_directory::is_record(&Bytes::copy_from_slice(bytes));
    None
}

/// A record of a topic of the broker's own: a key's length, the key, the value if anything follows.
fn key_and_value(bytes: &[u8]) -> Option<(Bytes, Option<Bytes>)> {
    let (length, rest) = bytes.split_first()?;
    let (key, value) = rest.split_at_checked(usize::from(*length))?;
    let value = (!value.is_empty()).then(|| Bytes::copy_from_slice(value));
    Some((Bytes::copy_from_slice(key), value))
}

/// As [`key_and_value`] takes it; a longer key it does not.
fn joined(key: &[u8], value: Option<&[u8]>) -> Option<Vec<u8>> {
    let length = u8::try_from(key.len()).ok()?;
    Some([&[length], key, value.unwrap_or_default()].concat())
}

fn group_record(bytes: &[u8]) -> Option<Vec<u8>> {
    let (key, value) = key_and_value(bytes)?;
    let DecodedRecord::Known(record) = record_codec::decode(&key, value.as_ref()).ok()? else { return None };
    let encoded = record_codec::encode(&record).ok()?;
    joined(&encoded.key, encoded.value.as_deref())
}

fn transaction_record(bytes: &[u8]) -> Option<Vec<u8>> {
    let (key, value) = key_and_value(bytes)?;
    let record = transactions::record_codec::decode(&key, value.as_ref()).ok()?;
    let encoded = transactions::record_codec::encode(&record).ok()?;
    joined(encoded.key.as_deref()?, encoded.value.as_deref())
}

fn leader_epochs(bytes: &[u8]) -> Option<Vec<u8>> {
    let epochs = leader_epoch_checkpoint::decode(std::str::from_utf8(bytes).ok()?).ok()?;
    Some(leader_epoch_checkpoint::encode(&epochs).into_bytes())
}

fn offset_entries(bytes: &[u8]) -> Option<Vec<u8>> {
    let entries = offset_checkpoint::decode(std::str::from_utf8(bytes).ok()?).ok()?;
    let entries = entries.iter().map(|(topic, partition, offset)| (&**topic, *partition, *offset));
    Some(offset_checkpoint::encode(entries).into_bytes())
}

fn topic_id(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(partition_metadata::encode(partition_metadata::decode(std::str::from_utf8(bytes).ok()?).ok()?).into_bytes())
}

/// The checksum is made right, for no mutation would find it.
fn producers(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let checksum = crc32c::crc32c(bytes.get(6..)?);
    bytes[2..6].copy_from_slice(&checksum.to_be_bytes());
    Some(producer_snapshot::encode(&producer_snapshot::decode(&bytes).ok()?))
}

fn segment_name(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(names::parse(std::str::from_utf8(bytes).ok()?)?.name().into_bytes())
}

fn aborted_transaction(bytes: &[u8]) -> Option<Vec<u8>> {
    let entry = transaction_index::AbortedTransaction::decode(bytes.try_into().ok()?).ok()?;
    Some(entry.encode().to_vec())
}
