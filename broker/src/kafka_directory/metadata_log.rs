//! Reading Kafka's metadata log from `__cluster_metadata-0`, without changing a byte of it.
//!
//! The latest `<end offset>-<epoch>.checkpoint` is a snapshot, itself a file of batches; the `.log` segments behind it
//! hold the rest. A batch that is not whole ends the last segment, for a stop may have cut it; anywhere else it is damage.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, RecordsError, read_batch};

use super::AdoptionError;
use super::image::ClusterImage;
use super::record::decode;
use crate::disk::{Disk, Entry};
use crate::log::format::names::{self, Kind, Suffix};

/// Kafka's limit of a segment: 2 GiB.
const FILE_BYTES_MAX: usize = i32::MAX as usize;
const SNAPSHOT_SUFFIX: &str = ".checkpoint";

/// What the log in `directory` comes to; nothing when there is no such directory.
pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<ClusterImage, AdoptionError> {
    let failed = |source| AdoptionError::Io { path: directory.to_owned(), source };
    let entries = disk.list(directory).map_err(failed)?;
    let mut image = ClusterImage::default();
    let snapshot = entries.iter().filter_map(|entry| Some((snapshot_of(&entry.name)?, &entry.path))).max();
    let mut next_offset = 0;
    if let Some(((end_offset, _), path)) = snapshot {
        apply_file(disk, path, 0, false, &mut image)?;
        next_offset = end_offset;
    }
    let segments = segments(entries);
    for (index, (base_offset, path)) in segments.iter().enumerate() {
        if *base_offset > next_offset {
            return Err(AdoptionError::Damaged { path: path.clone(), source: None });
        }
        let is_last = index + 1 == segments.len();
        next_offset = apply_file(disk, path, next_offset, is_last, &mut image)?;
    }
    Ok(image)
}

/// End offset and epoch of a snapshot, from its file's name.
fn snapshot_of(name: &str) -> Option<(i64, i32)> {
    let (end_offset, epoch) = name.strip_suffix(SNAPSHOT_SUFFIX)?.split_once('-')?;
    Some((end_offset.parse().ok()?, epoch.parse().ok()?))
}

/// Segments with their base offsets, ascending.
fn segments(entries: Vec<Entry>) -> Vec<(i64, PathBuf)> {
    let segment = |entry: Entry| {
        let file = names::parse(&entry.name)?;
        (file.kind == Kind::Log && file.suffix == Suffix::None).then_some((file.base_offset, entry.path))
    };
    let mut segments: Vec<_> = entries.into_iter().filter_map(segment).collect();
    segments.sort_unstable();
    segments
}

/// Applies a file's records from offset `from` on; answers the offset behind them. `may_be_cut` says that a batch that
/// is not whole is the end.
fn apply_file(
    disk: &dyn Disk,
    path: &Path,
    from: i64,
    may_be_cut: bool,
    image: &mut ClusterImage,
) -> Result<i64, AdoptionError> {
    let content = disk.read_small(path, FILE_BYTES_MAX);
    let content = content.map_err(|source| AdoptionError::Io { path: path.to_owned(), source })?;
    let mut rest = Bytes::from(content.unwrap_or_default());
    let mut next_offset = from;
    while !rest.is_empty() {
        let header = match BatchHeader::verify(&rest) {
            Ok(header) => header,
            Err(error) if may_be_cut => {
                tracing::info!(path = %path.display(), %error, next_offset, "Kafka's metadata ends in a batch that is not whole");
                break;
            }
            Err(error) => return Err(damaged(path, error)),
        };
        let batch = rest.split_to(header.size());
        if header.is_control() || header.next_offset() <= from {
            next_offset = next_offset.max(header.next_offset());
            continue;
        }
        let (_, records) = read_batch(&batch).map_err(|error| damaged(path, error))?;
        for record in records.into_iter().filter(|record| record.offset >= from) {
            let Some(value) = record.value else { continue };
            let record = decode(&value).map_err(|source| AdoptionError::Record { path: path.to_owned(), source })?;
            image.apply(record);
        }
        next_offset = header.next_offset();
    }
    Ok(next_offset)
}

fn damaged(path: &Path, source: RecordsError) -> AdoptionError {
    AdoptionError::Damaged { path: path.to_owned(), source: Some(source) }
}
