//! What can be made to go wrong, and the count of operations that says when.
//!
//! Invariant: an operation that fails tells so; whether it reached the disk in part is what the caller must not assume.

use std::io;
use std::path::{Path, PathBuf};

/// What an operation does to the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Write,
    Sync,
    /// Of all files and directories.
    SyncAll,
    /// A name, or a file's length.
    Change,
}

/// What becomes of an operation.
pub(super) enum Outcome {
    Done,
    /// It fails, and may have been done in part.
    Fails(io::Error),
    /// The power goes while it is under way: it may reach the disk, but nobody hears of it.
    CutShort,
}

/// The faults in force.
#[derive(Default)]
pub(super) struct Faults {
    writes: Vec<PathBuf>,
    syncs: Vec<PathBuf>,
    reads: Vec<PathBuf>,
    /// Reads from memory find nothing there.
    pub(super) is_cold: bool,
    pub(super) fails_at: Option<u64>,
    pub(super) cut_at: Option<u64>,
    pub(super) is_cut: bool,
    /// Operations so far that change the disk.
    pub(super) operations: u64,
    /// Bytes of all files at most.
    pub(super) capacity: Option<u64>,
}

/// Which operations a path's fault is for.
#[derive(Clone, Copy)]
pub(super) enum Failing {
    Writes,
    Syncs,
    Reads,
}

impl Faults {
    /// Lets operations on files at or below a path fail, or succeed again.
    pub(super) fn set(&mut self, failing: Failing, path: &Path, fail: bool) {
        let paths = match failing {
            Failing::Writes => &mut self.writes,
            Failing::Syncs => &mut self.syncs,
            Failing::Reads => &mut self.reads,
        };
        paths.retain(|failing| failing != path);
        if fail {
            paths.push(path.to_owned());
        }
    }

    /// Counts an operation that changes the disk and says what becomes of it.
    ///
    /// # Errors
    /// When there is no power.
    pub(super) fn begin(&mut self, operation: Operation, path: &Path) -> io::Result<Outcome> {
        self.check_power()?;
        self.operations += 1;
        if self.cut_at == Some(self.operations) {
            self.is_cut = true;
            return Ok(Outcome::CutShort);
        }
        if self.fails_at == Some(self.operations) {
            return Ok(Outcome::Fails(io::Error::other("a simulated failure")));
        }
        Ok(match operation {
            Operation::Write if is_below(path, &self.writes) => Outcome::Fails(io::ErrorKind::StorageFull.into()),
            Operation::Sync if is_below(path, &self.syncs) => Outcome::Fails(io::Error::other("a sync fails")),
            Operation::SyncAll
                if is_below(path, &self.syncs) || self.syncs.iter().any(|part| part.starts_with(path)) =>
            {
                Outcome::Fails(io::Error::other("a sync fails"))
            }
            _ => Outcome::Done,
        })
    }

    /// # Errors
    /// When a read of this path is to fail.
    pub(super) fn check_read(&self, path: &Path) -> io::Result<()> {
        self.check_power()?;
        if is_below(path, &self.reads) { Err(io::Error::other("a read fails")) } else { Ok(()) }
    }

    /// # Errors
    /// When there is no power.
    pub(super) fn check_power(&self) -> io::Result<()> {
        if self.is_cut { Err(power_was_cut()) } else { Ok(()) }
    }
}

fn is_below(path: &Path, prefixes: &[PathBuf]) -> bool {
    prefixes.iter().any(|prefix| path.starts_with(prefix))
}

/// What everything answers without power, and every file that was opened before the last cut.
pub(super) fn power_was_cut() -> io::Error {
    io::Error::other("the power was cut")
}
