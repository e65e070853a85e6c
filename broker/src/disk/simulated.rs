//! A disk in memory that forgets.
//!
//! It keeps two images of every file: what processes see, and what a power cut leaves. A crash takes the durable
//! image and adds, at random from a seed, some of the 512-byte blocks that were written and not synced, and a length
//! between the durable one and the visible one. Names made or removed survive only once their directory was synced,
//! at random otherwise. Faults can be put in: a sync or a write that fails.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Disk, DiskFile, Entry, MappedFile, Space};

/// What disks write as a whole.
const BLOCK_BYTES: usize = 512;

/// A disk in memory; clones share it.
#[derive(Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Names as processes see them.
    visible: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
    /// Names as a crash leaves them.
    durable: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
    directories: BTreeSet<PathBuf>,
    locks: BTreeSet<PathBuf>,
    faults: Faults,
    /// Counts crashes, so that files opened before one are dead after it.
    generation: u64,
}

#[derive(Clone, Copy, Default)]
struct Faults {
    fail_writes: bool,
    fail_syncs: bool,
}

#[derive(Default, Clone)]
struct Content {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    unsynced_blocks: BTreeSet<usize>,
}

impl SimulatedDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every write fail, or succeed again.
    pub fn fail_writes(&self, fail: bool) {
        self.state.lock().faults.fail_writes = fail;
    }

    /// Lets every sync fail, or succeed again.
    pub fn fail_syncs(&self, fail: bool) {
        self.state.lock().faults.fail_syncs = fail;
    }

    /// Cuts the power: what was not synced survives in part, as `seed` decides. Open files are dead afterwards.
    pub fn crash(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut state = self.state.lock();
        let State { visible, durable, .. } = &mut *state;
        for (path, content) in visible.iter() {
            if !durable.contains_key(path) && random.random() {
                durable.insert(path.clone(), Arc::clone(content));
            }
        }
        for path in durable.keys().cloned().collect::<Vec<_>>() {
            if !visible.contains_key(&path) && random.random() {
                durable.remove(&path);
            }
        }
        let survivors: BTreeMap<_, _> = durable
            .iter()
            .map(|(path, content)| (path.clone(), Arc::new(Mutex::new(content.lock().after_crash(&mut random)))))
            .collect();
        // A file that is there is in a directory that is there, whatever became of a rename.
        state.directories.extend(survivors.keys().filter_map(|path| path.parent()).map(Path::to_owned));
        state.visible.clone_from(&survivors);
        state.durable = survivors;
        state.locks.clear();
        state.generation += 1;
    }

    fn file(&self, content: Arc<Mutex<Content>>) -> Arc<dyn DiskFile> {
        let generation = self.state.lock().generation;
        Arc::new(SimulatedFile { disk: self.clone(), content, generation })
    }
}

impl Content {
    fn after_crash(&self, random: &mut StdRng) -> Self {
        let shorter = self.synced.len().min(self.bytes.len());
        let longer = self.synced.len().max(self.bytes.len());
        let mut bytes = self.synced.clone();
        bytes.resize(random.random_range(shorter..=longer), 0);
        for block in &self.unsynced_blocks {
            let (start, end) =
                (block * BLOCK_BYTES, ((block + 1) * BLOCK_BYTES).min(bytes.len()).min(self.bytes.len()));
            if start < end && random.random() {
                bytes[start..end].copy_from_slice(&self.bytes[start..end]);
            }
        }
        Self { synced: bytes.clone(), bytes, unsynced_blocks: BTreeSet::new() }
    }

    fn touch(&mut self, start: usize, end: usize) {
        if start < end {
            self.unsynced_blocks.extend(start / BLOCK_BYTES..=(end - 1) / BLOCK_BYTES);
        }
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let content = {
            let mut state = self.state.lock();
            if !path.parent().is_some_and(|parent| state.directories.contains(parent)) {
                return Err(io::ErrorKind::NotFound.into());
            }
            Arc::clone(state.visible.entry(path.to_owned()).or_default())
        };
        Ok(self.file(content))
    }

    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let content = self.state.lock().visible.get(path).cloned();
        Ok(self.file(content.ok_or(io::ErrorKind::NotFound)?))
    }

    fn length_of(&self, path: &Path) -> io::Result<Option<u64>> {
        let content = self.state.lock().visible.get(path).cloned();
        Ok(content.map(|content| content.lock().bytes.len() as u64))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.state.lock().directories.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let state = self.state.lock();
        let entry = |path: &PathBuf, is_directory| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            (path.parent() == Some(directory)).then(|| Entry { path: path.clone(), name, is_directory })
        };
        let files = state.visible.keys().filter_map(|path| entry(path, false));
        Ok(files.chain(state.directories.iter().filter_map(|path| entry(path, true))).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let moved: Vec<_> = state.visible.keys().filter(|path| path.starts_with(from)).cloned().collect();
        let is_directory = state.directories.contains(from);
        if moved.is_empty() && !is_directory {
            return Err(io::ErrorKind::NotFound.into());
        }
        for path in moved {
            let target = path.strip_prefix(from).map_or_else(|_| to.to_owned(), |rest| join(to, rest));
            if let Some(content) = state.visible.remove(&path) {
                state.visible.insert(target, content);
            }
        }
        if is_directory {
            state.directories.remove(from);
            state.directories.insert(to.to_owned());
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.visible.retain(|file, _| !file.starts_with(path));
        state.directories.retain(|directory| !directory.starts_with(path));
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.faults.fail_syncs {
            return Err(io::Error::other("simulated sync failure"));
        }
        let inside = |path: &Path| path.starts_with(directory);
        let State { visible, durable, .. } = &mut *state;
        durable.retain(|path, _| !inside(path) || visible.contains_key(path));
        durable.extend(
            visible.iter().filter(|(path, _)| inside(path)).map(|(path, content)| (path.clone(), Arc::clone(content))),
        );
        Ok(())
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        let files: Vec<_> = self.state.lock().visible.values().cloned().collect();
        for content in files {
            self.file(content).sync()?;
        }
        self.sync_directory(path)
    }

    fn space(&self, _path: &Path) -> io::Result<Space> {
        Ok(Space { free: 1 << 40, total: 1 << 41 })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        if !self.state.lock().locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimulatedLock { disk: self.clone(), path: path.to_owned() }))
    }

    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let state = self.state.lock();
        let content = state.visible.get(path).map(|content| content.lock().bytes.clone());
        if content.as_ref().is_some_and(|content| content.len() > limit) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(content)
    }
}

/// `base/rest`, without a trailing slash when `rest` is empty.
fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { base.to_owned() } else { base.join(rest) }
}

struct SimulatedLock {
    disk: SimulatedDisk,
    path: PathBuf,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.state.lock().locks.remove(&self.path);
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    content: Arc<Mutex<Content>>,
    generation: u64,
}

impl SimulatedFile {
    /// The faults in force; an error for a file opened before the last crash.
    fn faults(&self) -> io::Result<Faults> {
        let state = self.disk.state.lock();
        if state.generation == self.generation { Ok(state.faults) } else { Err(io::Error::other("the power was cut")) }
    }
}

impl DiskFile for SimulatedFile {
    fn write_at(&self, offset: u64, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        if self.faults()?.fail_writes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut content = self.content.lock();
        let mut at = offset as usize;
        for part in parts {
            let end = at + part.len();
            if content.bytes.len() < end {
                content.bytes.resize(end, 0);
            }
            content.bytes[at..end].copy_from_slice(part);
            content.touch(at, end);
            at = end;
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.faults()?;
        let content = self.content.lock();
        let rest = content.bytes.get(offset as usize..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_at(offset, buffer)
    }

    fn sync(&self) -> io::Result<()> {
        if self.faults()?.fail_syncs {
            return Err(io::Error::other("simulated sync failure"));
        }
        let mut content = self.content.lock();
        content.synced = content.bytes.clone();
        content.unsynced_blocks.clear();
        Ok(())
    }

    fn grow(&self, length: u64) -> io::Result<()> {
        self.faults()?;
        let mut content = self.content.lock();
        let (old, new) = (content.bytes.len(), length as usize);
        if old < new {
            content.bytes.resize(new, 0);
            content.touch(old, new);
        }
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.faults()?;
        let mut content = self.content.lock();
        content.bytes.resize(length as usize, 0);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        self.faults()?;
        Ok(self.content.lock().bytes.len() as u64)
    }

    fn map(&self, length: usize) -> io::Result<MappedFile> {
        self.faults()?;
        MappedFile::copy(&self.content.lock().bytes, length)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
