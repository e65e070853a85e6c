//! What a test does to the disk: faults, damage, the power's end.

use std::io;
use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::SimulatedDisk;
use super::faults::Failing;

/// How much of what was not synced a crash leaves, one of these: nothing, little, half, much, all.
const SURVIVALS: [f64; 5] = [0.0, 0.1, 0.5, 0.9, 1.0];

impl SimulatedDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every write fail as on a full disk, some of its bytes written, or succeed again.
    pub fn fail_writes(&self, fail: bool) {
        self.fail_writes_of("/", fail);
    }

    /// As [`SimulatedDisk::fail_writes`], for a file, or for the files below a directory.
    pub fn fail_writes_of(&self, path: impl AsRef<Path>, fail: bool) {
        self.state.lock().faults.set(Failing::Writes, path.as_ref(), fail);
    }

    /// Lets every sync fail, or succeed again. As on Linux, what a failed sync was to cover no later one covers.
    pub fn fail_syncs(&self, fail: bool) {
        self.fail_syncs_of("/", fail);
    }

    /// As [`SimulatedDisk::fail_syncs`], for a file, or for a directory and what is below it.
    pub fn fail_syncs_of(&self, path: impl AsRef<Path>, fail: bool) {
        self.state.lock().faults.set(Failing::Syncs, path.as_ref(), fail);
    }

    /// Lets reads fail, or succeed again, of a file or of the files below a directory.
    pub fn fail_reads_of(&self, path: impl AsRef<Path>, fail: bool) {
        self.state.lock().faults.set(Failing::Reads, path.as_ref(), fail);
    }

    /// Lets [`DiskFile::read_cached_at`](super::DiskFile::read_cached_at) find nothing in memory, or everything again.
    pub fn cool(&self, cold: bool) {
        self.state.lock().faults.is_cold = cold;
    }

    /// Holds up syncs of a file, or of a directory and what is below it, until the answer is dropped.
    #[must_use]
    pub fn hold_syncs_of(&self, path: impl AsRef<Path>) -> HeldSyncs {
        let mut state = self.state.lock();
        let number = state.next_hold;
        state.next_hold += 1;
        state.holds.push(Hold { number, path: path.as_ref().to_owned(), waiting: 0 });
        HeldSyncs { disk: self.clone(), number }
    }

    /// Operations so far that change the disk: a file written, grown, cut or synced, a name made, renamed or removed,
    /// a directory synced.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().faults.operations
    }

    /// Lets the operation fail that [`SimulatedDisk::operations`] will count as `number`, and only that one.
    pub fn fail_nth_operation(&self, number: u64) {
        self.state.lock().faults.fails_at = Some(number);
    }

    /// Cuts the power in the middle of the operation that [`SimulatedDisk::operations`] will count as `number`: it
    /// and everything after it fails, reads too, until [`SimulatedDisk::crash`] says what is left.
    pub fn cut_power_at(&self, number: u64) {
        self.state.lock().faults.cut_at = Some(number);
    }

    /// Whether the operation of [`SimulatedDisk::cut_power_at`] was reached.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.state.lock().faults.is_cut
    }

    /// Sets how many bytes the files may have together. Growing a file beyond writes what fits and fails.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().faults.capacity = Some(bytes);
    }

    /// Sets the capacity so that `bytes` more fit.
    pub fn fill_after(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.faults.capacity = Some(state.names.bytes() + bytes);
    }

    /// Flips bit 0 to 7 of a file's byte, in memory and on disk.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is no such file, [`io::ErrorKind::UnexpectedEof`] when it is shorter.
    pub fn flip_bit(&self, path: impl AsRef<Path>, byte: u64, bit: u8) -> io::Result<()> {
        let content = self.state.lock().names.find_file(path.as_ref()).ok_or(io::ErrorKind::NotFound)?;
        let mut content = content.lock();
        if byte >= content.visible().length() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        content.flip_bit(byte, bit);
        Ok(())
    }

    /// Cuts the power, unless that was done, and starts again: what was not synced survives in part, as `seed`
    /// decides. Files opened before stay dead. Faults that [`SimulatedDisk::fail_nth_operation`] and
    /// [`SimulatedDisk::cut_power_at`] set are over, all others go on.
    pub fn crash(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let survival = SURVIVALS[random.random_range(0..SURVIVALS.len())];
        let mut state = self.state.lock();
        state.names.crash(&mut random, survival);
        state.locks.clear();
        state.generation += 1;
        state.faults.is_cut = false;
        state.faults.cut_at = None;
        state.faults.fails_at = None;
        drop(state);
        self.released.notify_all();
    }
}

/// Syncs of some path that are held up.
pub(super) struct Hold {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) waiting: usize,
}

/// Syncs held up until this is dropped.
pub struct HeldSyncs {
    disk: SimulatedDisk,
    number: u64,
}

impl HeldSyncs {
    /// Syncs that wait now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let state = self.disk.state.lock();
        state.holds.iter().find(|hold| hold.number == self.number).map_or(0, |hold| hold.waiting)
    }

    /// Lets them go on.
    pub fn release(self) {}
}

impl Drop for HeldSyncs {
    fn drop(&mut self) {
        self.disk.state.lock().holds.retain(|hold| hold.number != self.number);
        self.disk.released.notify_all();
    }
}
