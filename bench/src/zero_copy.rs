//! `make bench-zero-copy`: which system calls move bytes from a file to a socket, into a file and out of one at the
//! least cost. Prints Markdown tables; `docs/zero-copy.md` keeps them with what was decided.

mod appending;
mod cost;
mod map;
mod reading;
mod serving;

use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use rustix::fs::{Advice, fadvise};

use crate::children::OwnFolder;

/// Bytes written at once when the file is made.
const BLOCK_BYTES: usize = 1 << 20;

/// Compare ways to move bytes: read, mmap and sendfile to a socket; write and mmap to a file
#[derive(Debug, Clone, Args)]
pub(crate) struct ZeroCopy {
    /// Bytes of the file, in MiB
    #[arg(long, default_value_t = 512)]
    file_mib: u64,
    /// Seconds of each measurement at most
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// How often each is measured; the middle one by processor time a GB is shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A folder on the disk a broker would use
    #[arg(long, default_value = "target/bench")]
    directory: PathBuf,
}

/// What is measured with.
#[derive(Debug)]
struct Bench {
    folder: OwnFolder,
    file: File,
    file_bytes: u64,
    seconds: f64,
    rounds: usize,
}

/// Where a file's bytes are before they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// In the page cache.
    Hot,
    /// On the disk.
    Cold,
}

impl ZeroCopy {
    /// Measures everything, and prints the tables as they come.
    pub(crate) fn run(&self) -> Result<()> {
        let folder = OwnFolder::data(&self.directory, "zero-copy")?;
        let path = folder.path().join("file");
        let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
        let mut block = vec![0; BLOCK_BYTES];
        for _ in 0..self.file_mib {
            rand::fill(&mut block[..]);
            file.write_all(&block)?;
        }
        file.sync_all()?;
        let bench = Bench { folder, file, file_bytes: self.file_mib << 20, seconds: self.seconds, rounds: self.rounds };
        println!(
            "A file of {} MiB; the disk may have a cache of its own. MB and GB are powers of ten.\n",
            self.file_mib
        );
        println!("{}", serving::table(&bench)?);
        println!("{}", appending::table(&bench)?);
        println!("{}", appending::synced_table(&bench)?);
        println!("{}", reading::table(&bench)?);
        println!("{}", reading::look_up_table(&bench)?);
        Ok(())
    }
}

impl Bench {
    /// Puts the file's bytes where they shall be.
    fn prepare(&self, cache: Cache) -> Result<()> {
        match cache {
            Cache::Hot => {
                let mut reader = &self.file;
                std::io::Seek::rewind(&mut reader)?;
                std::io::copy(&mut reader, &mut std::io::sink())?;
            }
            Cache::Cold => fadvise(&self.file, 0, NonZeroU64::new(self.file_bytes), Advice::DontNeed)?,
        }
        Ok(())
    }
}
