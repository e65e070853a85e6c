//! A machine with a simulated disk. Once its power is cut, or its broker killed, nothing still running reaches the disk.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pillion_broker::{Disk, DiskFile, Entry, SimulatedDisk, Space};

use crate::support::{TestBroker, config};

/// A disk and the power it is under.
#[derive(Clone)]
pub(super) struct Machine {
    disk: SimulatedDisk,
    powered: Arc<AtomicBool>,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self { disk: SimulatedDisk::new(), powered: Arc::new(AtomicBool::new(true)) }
    }

    pub(super) fn start(&self) -> TestBroker {
        let disk = Arc::new(self.clone());
        TestBroker::try_start(disk, config(Path::new("/data"), &[])).expect("the broker starts")
    }

    /// Cuts the power.
    pub(super) fn crash(&self, seed: u64) {
        self.powered.store(false, Ordering::SeqCst);
        self.disk.crash(seed);
    }

    /// Kills the broker alone: what it wrote stays visible, whether or not it was synced.
    pub(super) fn kill(&self) {
        self.powered.store(false, Ordering::SeqCst);
    }

    /// The same disk under power again.
    pub(super) fn rebooted(self) -> Self {
        Self { disk: self.disk, powered: Arc::new(AtomicBool::new(true)) }
    }

    /// Does something to the disk and answers only what a machine under power would hear of it.
    fn under_power<T>(&self, act: impl FnOnce(&SimulatedDisk) -> io::Result<T>) -> io::Result<T> {
        let cut = || io::Error::other("the power was cut");
        if !self.powered.load(Ordering::SeqCst) {
            return Err(cut());
        }
        let done = act(&self.disk)?;
        if self.powered.load(Ordering::SeqCst) { Ok(done) } else { Err(cut()) }
    }
}

impl Disk for Machine {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.under_power(|disk| disk.open(path))
    }

    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.under_power(|disk| disk.open_existing(path))
    }

    fn length_of(&self, path: &Path) -> io::Result<Option<u64>> {
        self.under_power(|disk| disk.length_of(path))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.under_power(|disk| disk.create_directory(path))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        self.under_power(|disk| disk.list(directory))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.under_power(|disk| disk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.under_power(|disk| disk.remove(path))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.under_power(|disk| disk.sync_directory(directory))
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        self.under_power(|disk| disk.sync_all(path))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.under_power(|disk| disk.space(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.under_power(|disk| disk.lock(path))
    }

    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
        self.under_power(|disk| disk.read_small(path, limit))
    }
}
