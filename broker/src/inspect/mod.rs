//! Looks into a data directory's files without changing them: what `pillion log dump` and `pillion log verify` print.
//!
//! ```text
//! dump    file → items: batches, records, index entries, producers, checkpoints
//! verify  partition or data directory → findings: what is wrong, where, and what to do
//! ```
//!
//! A tool beside the log, not part of it: it shares the formats, never the log's own readers, whose faults it is to find.
//! It reads files as they are, of a stopped broker or of one that runs: lengths are taken once, what is derived is read
//! before what it is derived from, and a file that has gone meanwhile is passed over. Invariants: no file is written;
//! no file's bytes make it panic or choose how much memory it takes.

mod dump;
mod file_kind;
mod finding;
mod index;
mod item;
mod marker;
mod resync;
mod segment;
mod small_file;
#[cfg(test)]
mod tests;
mod verify;

use std::io;
use std::path::{Path, PathBuf};

use pillion_wire::records::RecordsError;
pub use pillion_wire::records::{Record, RecordHeader};
use thiserror::Error;

pub use dump::{DumpOptions, dump};
pub use file_kind::FileKind;
pub use finding::{Finding, Severity};
pub use item::{Item, ProducerItem, RecordItem};
pub use marker::ControlMarker;
pub use segment::{Batch, Piece, Pieces, Segment};
pub use verify::{Report, verify};

/// What keeps an inspection from going on; what is wrong inside a file is a [`Finding`] instead.
#[derive(Debug, Error)]
pub enum InspectError {
    /// The operating system refused.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A directory in which there is nothing to look at.
    #[error("{} holds no log: name a data directory, a partition's directory or a file of one", .0.display())]
    NoLog(PathBuf),
    /// A batch too large to be looked into.
    #[error("a batch of {bytes} bytes and {records} records is not looked into")]
    BatchTooLarge {
        /// Its size in the file.
        bytes: u64,
        /// How many records its header claims.
        records: i32,
    },
    /// A batch whose records cannot be read.
    #[error("the records cannot be read")]
    Records(#[from] RecordsError),
}

impl InspectError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The file has gone since its name was read, as files of a running broker do.
    fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The entries of a directory, in order of their names.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, InspectError> {
    let failed = |source| InspectError::io(directory, source);
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// The last part of a path; a name that is not UTF-8 is none of ours, and read with its odd bytes replaced.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
