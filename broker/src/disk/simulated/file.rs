//! An open file of the simulated disk; dead once the power was cut.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::content::Content;
use super::faults::{Operation, Outcome, power_was_cut};
use super::{DiskFile, MappedFile, SimulatedDisk};

pub(super) struct SimulatedFile {
    pub(super) disk: SimulatedDisk,
    /// Where it was opened: what faults are chosen by.
    pub(super) path: PathBuf,
    pub(super) content: Arc<Mutex<Content>>,
    pub(super) generation: u64,
}

impl SimulatedFile {
    /// Checks that there is power, and that reads of this file work.
    fn check_read(&self) -> io::Result<()> {
        let state = self.disk.state.lock();
        state.check_power(self.generation)?;
        state.faults.check_read(&self.path)
    }

    /// Counts an operation; what becomes of it, and how many bytes the disk has room for.
    fn begin(&self, operation: Operation) -> io::Result<(Outcome, u64)> {
        let mut state = self.disk.state.lock();
        state.check_power(self.generation)?;
        let outcome = state.faults.begin(operation, &self.path)?;
        Ok((outcome, state.free()))
    }

    /// Gives the file another length, for which there must be room.
    fn change_length(&self, length: impl FnOnce(u64) -> u64) -> io::Result<()> {
        let (outcome, free) = self.begin(Operation::Change)?;
        let mut content = self.content.lock();
        let before = content.visible().length();
        let after = length(before);
        match outcome {
            Outcome::Fails(error) => return Err(error),
            _ if after.saturating_sub(before) > free => return Err(io::ErrorKind::StorageFull.into()),
            _ if after != before => content.set_length(after),
            _ => {}
        }
        if matches!(outcome, Outcome::CutShort) { Err(power_was_cut()) } else { Ok(()) }
    }
}

impl DiskFile for SimulatedFile {
    fn write_at(&self, offset: u64, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        let (outcome, free) = self.begin(Operation::Write)?;
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut content = self.content.lock();
        let room = usize::try_from(content.visible().length().saturating_add(free).saturating_sub(offset));
        let fits = bytes.len().min(room.unwrap_or(usize::MAX));
        match outcome {
            Outcome::Done => {
                content.write(offset, &bytes[..fits]);
                if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
            }
            Outcome::Fails(error) => {
                content.write(offset, &bytes[..fits / 2]);
                Err(error)
            }
            Outcome::CutShort => {
                content.write(offset, &bytes[..fits]);
                Err(power_was_cut())
            }
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_read()?;
        Ok(self.content.lock().visible().read(offset, buffer))
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.disk.state.lock().faults.is_cold {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.read_at(offset, buffer)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.check_power(self.generation)?;
        match state.faults.begin(Operation::Sync, &self.path)? {
            Outcome::Done => {}
            Outcome::Fails(error) => {
                self.content.lock().fail_sync();
                return Err(error);
            }
            Outcome::CutShort => return Err(power_was_cut()),
        }
        let sync = self.content.lock().begin_sync();
        self.disk.wait_while_held(&mut state, &self.path)?;
        self.content.lock().finish_sync(sync);
        Ok(())
    }

    fn grow(&self, length: u64) -> io::Result<()> {
        self.change_length(|before| before.max(length))
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.change_length(|_| length)
    }

    fn length(&self) -> io::Result<u64> {
        self.disk.state.lock().check_power(self.generation)?;
        Ok(self.content.lock().visible().length())
    }

    fn map(&self, length: usize) -> io::Result<MappedFile> {
        self.check_read()?;
        let beginning = self.content.lock().visible().beginning(length);
        MappedFile::copy(beginning, length)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
