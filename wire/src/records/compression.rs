//! The codecs of record batches.
//!
//! Snappy comes in two shapes: Java's and librdkafka's block framing (`xerial`), and one raw block.

use std::borrow::Cow;
use std::io::{Error, Read, Write};

use super::RecordsError;

/// First bytes of xerial's framing, followed by two int32 versions and then (int32 length, block) pairs.
const XERIAL_MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const XERIAL_HEADER_BYTES: usize = 16;
/// Block size of xerial's writer.
const XERIAL_BLOCK_BYTES: usize = 32 * 1024;

/// A codec, as attribute bits 0–2 of a batch name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Records as they are.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy in xerial's framing.
    Snappy,
    /// The LZ4 frame format.
    Lz4,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// The codec a batch's attributes name.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCompression`] for 5 to 7.
    pub fn from_attributes(attributes: i16) -> Result<Self, RecordsError> {
        match attributes & 0x07 {
            0 => Ok(Self::None),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            other => Err(RecordsError::UnknownCompression(other as u8)),
        }
    }

    /// The codec's attribute bits.
    #[must_use]
    pub fn attribute_bits(self) -> i16 {
        self as i16
    }

    /// Compresses the records of one batch.
    ///
    /// # Errors
    /// [`RecordsError::Compression`] when the codec fails.
    pub fn compress(self, records: &[u8]) -> Result<Cow<'_, [u8]>, RecordsError> {
        self.compress_at(None, records)
    }

    /// As [`Compression::compress`], at a level: gzip's from 1 to 9, zstd's from −131072 to 22, others the nearest of
    /// these; −1 with gzip and `None` are the codec's default. The other codecs have one level here and take any.
    ///
    /// # Errors
    /// [`RecordsError::Compression`] when the codec fails.
    pub fn compress_at(self, level: Option<i32>, records: &[u8]) -> Result<Cow<'_, [u8]>, RecordsError> {
        let compressed = match self {
            Self::None => return Ok(Cow::Borrowed(records)),
            Self::Gzip => {
                let level = level.filter(|level| *level != -1).map(|level| level.clamp(1, 9).cast_unsigned());
                let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(records).and_then(|()| encoder.finish())
            }
            Self::Snappy => snappy_blocks(records),
            Self::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(records).and_then(|()| encoder.finish().map_err(Error::other))
            }
            Self::Zstd => {
                let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL).clamp(-131_072, 22);
                zstd::bulk::compress(records, level)
            }
        };
        compressed.map(Cow::Owned).map_err(RecordsError::Compression)
    }

    /// Decompresses the records of one batch to at most `limit` bytes.
    ///
    /// # Errors
    /// [`RecordsError::Compression`] when the bytes are not the codec's, [`RecordsError::TooLarge`] beyond `limit`.
    pub fn decompress(self, records: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, RecordsError> {
        let whole = match self {
            Self::None => return Ok(Cow::Borrowed(records)),
            Self::Gzip => read_to_limit(flate2::read::MultiGzDecoder::new(records), limit),
            Self::Snappy => snappy_read(records, limit),
            Self::Lz4 => read_to_limit(lz4_flex::frame::FrameDecoder::new(records), limit),
            Self::Zstd => zstd::stream::read::Decoder::with_buffer(records)
                .map_err(RecordsError::Compression)
                .and_then(|decoder| read_to_limit(decoder, limit)),
        };
        whole.map(Cow::Owned)
    }
}

fn read_to_limit(reader: impl Read, limit: usize) -> Result<Vec<u8>, RecordsError> {
    let mut whole = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut whole).map_err(RecordsError::Compression)?;
    if whole.len() > limit { Err(RecordsError::TooLarge(limit)) } else { Ok(whole) }
}

fn snappy_blocks(records: &[u8]) -> Result<Vec<u8>, Error> {
    let mut framed = Vec::with_capacity(XERIAL_HEADER_BYTES + records.len() / 2);
    framed.extend_from_slice(&XERIAL_MAGIC);
    framed.extend_from_slice(&1_i32.to_be_bytes());
    framed.extend_from_slice(&1_i32.to_be_bytes());
    let mut encoder = snap::raw::Encoder::new();
    for block in records.chunks(XERIAL_BLOCK_BYTES) {
        let compressed = encoder.compress_vec(block).map_err(Error::other)?;
        framed.extend_from_slice(&(compressed.len() as u32).to_be_bytes());
        framed.extend_from_slice(&compressed);
    }
    Ok(framed)
}

fn snappy_read(records: &[u8], limit: usize) -> Result<Vec<u8>, RecordsError> {
    let mut whole = Vec::new();
    if !records.starts_with(&XERIAL_MAGIC) {
        snappy_block(records, &mut whole, limit)?;
        return Ok(whole);
    }
    let mut rest = records.get(XERIAL_HEADER_BYTES..).unwrap_or_default();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        // A chunk length is a claim like any other (CVE-2023-34455): it is held against the bytes there are.
        let length = u32::from_be_bytes(*length) as usize;
        let Some((block, behind)) = behind.split_at_checked(length) else {
            return Err(RecordsError::Compression(Error::other("a snappy block is longer than its batch")));
        };
        snappy_block(block, &mut whole, limit)?;
        rest = behind;
    }
    Ok(whole)
}

fn snappy_block(block: &[u8], whole: &mut Vec<u8>, limit: usize) -> Result<(), RecordsError> {
    let failed = |error| RecordsError::Compression(Error::other(error));
    let length = snap::raw::decompress_len(block).map_err(failed)?;
    if length > limit - whole.len() {
        return Err(RecordsError::TooLarge(limit));
    }
    whole.extend(snap::raw::Decoder::new().decompress_vec(block).map_err(failed)?);
    Ok(())
}
