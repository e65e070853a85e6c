//! A disk in memory that forgets.
//!
//! It keeps of every file and name what processes see and what is durable. A power cut leaves the durable ones and
//! adds, at random from a seed, some of what was not synced: blocks of 512 bytes, each by itself and some of them torn,
//! a length between the shortest and the longest, names made, renamed and removed. It can also be made to fail, to fill
//! up, to be slow, to decay, and to lose its power at any one of its operations.

mod content;
mod controls;
mod faults;
mod file;
mod image;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use self::content::Content;
use self::controls::Hold;
use self::faults::{Faults, Operation, Outcome, power_was_cut};
use self::file::SimulatedFile;
use self::names::{Names, Node};
use super::{Disk, DiskFile, Entry, MappedFile, Space};

pub use self::controls::HeldSyncs;

/// What [`Disk::space`] answers where no capacity was set.
const CAPACITY_BYTES: u64 = 1 << 41;

/// A disk in memory; clones share it. Names right below `/` are durable at once, as mount points are.
#[derive(Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    /// Syncs were released, or there is nothing more to wait for.
    released: Arc<Condvar>,
}

#[derive(Default)]
struct State {
    names: Names,
    locks: BTreeSet<PathBuf>,
    faults: Faults,
    holds: Vec<Hold>,
    next_hold: u64,
    /// Counts crashes, so that files opened before one are dead after it.
    generation: u64,
}

impl State {
    /// Does something to names, or lets it fail. What is cut short was done: the crash decides about it.
    fn change<T>(&mut self, path: &Path, change: impl FnOnce(&mut Names) -> io::Result<T>) -> io::Result<T> {
        match self.faults.begin(Operation::Change, path)? {
            Outcome::Done => change(&mut self.names),
            Outcome::Fails(error) => Err(error),
            Outcome::CutShort => {
                let _ = change(&mut self.names);
                Err(power_was_cut())
            }
        }
    }

    /// # Errors
    /// When the power was cut, now or since `generation`.
    fn check_power(&self, generation: u64) -> io::Result<()> {
        if self.generation == generation { self.faults.check_power() } else { Err(power_was_cut()) }
    }

    /// Bytes that can still be written.
    fn free(&self) -> u64 {
        self.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.names.bytes()))
    }
}

impl SimulatedDisk {
    fn file(&self, state: &State, path: &Path, content: Arc<Mutex<Content>>) -> Arc<dyn DiskFile> {
        let (disk, path) = (self.clone(), path.to_owned());
        Arc::new(SimulatedFile { disk, path, content, generation: state.generation })
    }

    /// Waits while syncs of a path are held up.
    ///
    /// # Errors
    /// When the power was cut meanwhile.
    fn wait_while_held(&self, state: &mut MutexGuard<'_, State>, path: &Path) -> io::Result<()> {
        let generation = state.generation;
        while let Some(hold) = state.holds.iter_mut().find(|hold| path.starts_with(&hold.path)) {
            let number = hold.number;
            hold.waiting += 1;
            self.released.wait(state);
            if let Some(hold) = state.holds.iter_mut().find(|hold| hold.number == number) {
                hold.waiting -= 1;
            }
            state.check_power(generation)?;
        }
        state.check_power(generation)
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.faults.check_power()?;
        let content = match state.names.find(path) {
            Some(Node::File(content)) => content,
            Some(Node::Directory(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            None => state.change(path, |names| names.make_file(path))?,
        };
        Ok(self.file(&state, path, content))
    }

    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.state.lock();
        state.faults.check_power()?;
        let content = state.names.find_file(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(&state, path, content))
    }

    fn length_of(&self, path: &Path) -> io::Result<Option<u64>> {
        let state = self.state.lock();
        state.faults.check_power()?;
        Ok(state.names.find_file(path).map(|content| content.lock().visible().length()))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.faults.check_power()?;
        if let Some(Node::Directory(_)) = state.names.find(path) {
            return Ok(());
        }
        state.change(path, |names| names.make_directories(path))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let state = self.state.lock();
        state.faults.check_power()?;
        let names = state.names.list(directory).into_iter();
        let entry = |(name, is_directory): (std::ffi::OsString, bool)| Entry {
            path: directory.join(&name),
            name: name.to_string_lossy().into_owned(),
            is_directory,
        };
        Ok(names.map(entry).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.lock().change(from, |names| names.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.faults.check_power()?;
        if state.names.find(path).is_none() {
            return Ok(());
        }
        state.change(path, |names| names.remove(path))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.faults.begin(Operation::Sync, directory)? {
            Outcome::Done => {
                self.wait_while_held(&mut state, directory)?;
                state.names.sync(directory)
            }
            Outcome::Fails(error) => Err(error),
            Outcome::CutShort => Err(power_was_cut()),
        }
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.faults.begin(Operation::SyncAll, path)? {
            Outcome::Done => {
                let syncs = state.names.begin_sync();
                self.wait_while_held(&mut state, path)?;
                state.names.finish_sync(syncs);
                Ok(())
            }
            Outcome::Fails(error) => {
                state.names.fail_sync();
                Err(error)
            }
            Outcome::CutShort => Err(power_was_cut()),
        }
    }

    fn space(&self, _path: &Path) -> io::Result<Space> {
        let state = self.state.lock();
        state.faults.check_power()?;
        let total = state.faults.capacity.unwrap_or(CAPACITY_BYTES);
        Ok(Space { free: total.saturating_sub(state.names.bytes()), total })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut state = self.state.lock();
        state.faults.check_power()?;
        if !state.locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimulatedLock { disk: self.clone(), path: path.to_owned(), generation: state.generation }))
    }

    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let state = self.state.lock();
        state.faults.check_read(path)?;
        let Some(content) = state.names.find_file(path) else { return Ok(None) };
        let bytes = content.lock().visible().beginning(limit.saturating_add(1));
        if bytes.len() > limit { Err(io::ErrorKind::InvalidData.into()) } else { Ok(Some(bytes)) }
    }
}

struct SimulatedLock {
    disk: SimulatedDisk,
    path: PathBuf,
    generation: u64,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        // After a crash it is another process that has the lock.
        if state.generation == self.generation {
            state.locks.remove(&self.path);
        }
    }
}
