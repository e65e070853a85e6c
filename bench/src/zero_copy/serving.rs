//! From a file to a socket: a reader asks for one chunk after the other, as a consumer fetches, and drops it in the
//! kernel, so that what remains is nearly the sender's cost alone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use memmap2::Mmap;
use rustix::fs::sendfile;

use super::cost::{Clock, Cost, HEADS, middle_of};
use super::{Bench, Cache, map};
use crate::limits::loopback_pair;
use crate::process::thread_cpu_time;
use crate::socket;
use crate::suite::table::aligned;

/// Bytes of each answer.
const CHUNKS: [usize; 4] = [4 << 10, 32 << 10, 128 << 10, 1 << 20];
/// Bytes of each answer from the disk.
const COLD_CHUNKS: [usize; 2] = [128 << 10, 1 << 20];
/// Bytes of a request.
const REQUEST_BYTES: usize = 100;

/// How bytes get from the file to the socket.
enum Way {
    /// `pread` into a buffer, `write` from it.
    ReadWrite(Vec<u8>),
    /// `write` from the file's mapping.
    MapWrite(Mmap),
    /// `sendfile`.
    Sendfile,
}

impl Way {
    fn all(bench: &Bench, chunk: usize) -> Result<[(&'static str, Self); 3]> {
        Ok([
            ("pread + write", Self::ReadWrite(vec![0; chunk])),
            ("mmap + write", Self::MapWrite(map::to_read(&bench.file)?)),
            ("sendfile", Self::Sendfile),
        ])
    }

    /// Before the file's first byte: a mapping is made anew, for a log's segment is read once by each reader, and
    /// pages that are mapped stay in the page cache, so that nothing would be cold.
    fn begin(&mut self, bench: &Bench) -> Result<()> {
        if let Self::MapWrite(map) = self {
            *map = map::to_read(&bench.file)?;
        }
        Ok(())
    }

    fn send(&mut self, bench: &Bench, stream: &mut TcpStream, at: u64, length: usize) -> Result<()> {
        match self {
            Self::ReadWrite(buffer) => {
                bench.file.read_exact_at(&mut buffer[..length], at)?;
                stream.write_all(&buffer[..length])?;
            }
            Self::MapWrite(map) => {
                let begin = usize::try_from(at)?;
                stream.write_all(map.get(begin..begin + length).context("beyond the file's end")?)?;
            }
            Self::Sendfile => {
                let (mut offset, end) = (at, at + length as u64);
                while offset < end {
                    let left = (end - offset) as usize;
                    let sent = sendfile(&*stream, &bench.file, Some(&mut offset), left)?;
                    ensure!(sent > 0, "the file ends early");
                }
            }
        }
        Ok(())
    }
}

/// The table of all ways, chunks and caches.
pub(super) fn table(bench: &Bench) -> Result<String> {
    let mut lines = Vec::new();
    let hot = CHUNKS.map(|chunk| (Cache::Hot, chunk));
    let cold = COLD_CHUNKS.map(|chunk| (Cache::Cold, chunk));
    for (cache, chunk) in hot.into_iter().chain(cold) {
        for (name, mut way) in Way::all(bench, chunk)? {
            let (cost, reader_cpu) = middle_of(
                bench.rounds,
                |(cost, _)| cost,
                || {
                    way.begin(bench)?;
                    bench.prepare(cache)?;
                    measure(bench, &mut way, chunk, cache)
                },
            )?;
            let [speed, cpu, voluntary, involuntary] = cost.cells();
            let reader = crate::figures::number(reader_cpu.as_secs_f64() / cost.gigabytes());
            let chunk = format!("{} KiB", chunk >> 10);
            lines.push([name.to_owned(), cost.disk_part(), chunk, speed, cpu, reader, voluntary, involuntary]);
        }
    }
    let head =
        ["file to socket", "from the disk", "an answer", HEADS[0], HEADS[1], "reader's CPU s/GB", HEADS[2], HEADS[3]];
    Ok(aligned(&head.map(str::to_owned), &lines))
}

/// The sender's cost, and the reader's processor time.
fn measure(bench: &Bench, way: &mut Way, chunk: usize, cache: Cache) -> Result<(Cost, Duration)> {
    let (mut sender, mut reader) = loopback_pair()?;
    let asking = thread::spawn(move || {
        let mut scratch = vec![0; chunk];
        let cpu = thread_cpu_time();
        // Ends when the sender has closed its end.
        while reader.write_all(&[0; REQUEST_BYTES]).is_ok() && socket::discard(&reader, chunk, &mut scratch).is_ok() {}
        thread_cpu_time().saturating_sub(cpu)
    });
    let clock = Clock::start()?;
    let (mut at, mut sent) = (0, 0);
    let mut request = [0; REQUEST_BYTES];
    while clock.elapsed().as_secs_f64() < bench.seconds {
        if at + chunk as u64 > bench.file_bytes {
            if cache == Cache::Cold {
                break;
            }
            at = 0;
            way.begin(bench)?;
        }
        sender.read_exact(&mut request)?;
        way.send(bench, &mut sender, at, chunk)?;
        at += chunk as u64;
        sent += chunk as u64;
    }
    let cost = clock.read(sent)?;
    drop(sender);
    let reader_cpu = asking.join().map_err(|_| anyhow!("the reading thread panicked"))?;
    Ok((cost, reader_cpu))
}
