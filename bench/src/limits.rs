//! What this machine can do without any broker: syncing, appending, checksums, loopback.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Args;
use rustix::fs::{FallocateFlags, fallocate};

use crate::figures::Figures;
use crate::latency::Latencies;
use crate::process::thread_cpu_time;
use crate::socket;

/// Bytes of a batch of 100 records of 1 KiB, about.
pub(crate) const BATCH_BYTES: usize = 100 << 10;
/// Bytes of the smallest append that is synced.
const SMALL_BYTES: usize = 4 << 10;
/// Bytes of an append with which the disk shows what it sustains: about what group commit syncs at once at full speed.
const LARGE_BYTES: usize = 4 << 20;
/// Bytes sent at once over loopback.
const SEND_BYTES: usize = 128 << 10;

/// Measure what this machine can do without a broker
#[derive(Debug, Clone, Args)]
pub(crate) struct Limits {
    /// A folder on the disk a broker would use
    #[arg(long, default_value = "target/bench")]
    pub(crate) directory: PathBuf,
    /// Seconds each
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
}

impl Limits {
    /// Measures.
    pub(crate) fn run(&self) -> Result<Figures> {
        let folder = crate::children::OwnFolder::data(&self.directory, "limits")?;
        let file = folder.path().join("file");
        let time = Duration::from_secs_f64(self.seconds);
        let mut figures = Figures::default();
        syncs(&mut figures, &file, time)?;
        appends(&mut figures, &file, time)?;
        checksums(&mut figures, time);
        loopback(&mut figures, time)?;
        request_answer(&mut figures, time)?;
        Ok(figures)
    }
}

fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rand::fill(&mut bytes[..]);
    bytes
}

/// Append and fdatasync, growing the file or over blocks that fallocate has reserved.
fn syncs(figures: &mut Figures, path: &Path, time: Duration) -> Result<()> {
    let bytes = random(LARGE_BYTES);
    for (name, length, ahead) in [
        ("fdatasync_4_kib_append", SMALL_BYTES, None),
        ("fdatasync_4_kib_fallocated", SMALL_BYTES, Some(1 << 20)),
        ("fdatasync_100_kib_append", BATCH_BYTES, None),
        ("fdatasync_100_kib_fallocated", BATCH_BYTES, Some(16 << 20)),
        ("fdatasync_4_mib_fallocated", LARGE_BYTES, Some(16 << 20)),
    ] {
        let file = File::create(path)?;
        file.sync_all()?;
        let mut latencies = Latencies::default();
        let (begun, mut at, mut allocated) = (Instant::now(), 0, 0);
        while begun.elapsed() < time {
            if let Some(ahead) = ahead
                && at + length as u64 > allocated
            {
                fallocate(&file, FallocateFlags::empty(), allocated, ahead)?;
                allocated += ahead;
            }
            let one = Instant::now();
            file.write_all_at(&bytes[..length], at)?;
            file.sync_data()?;
            latencies.record(one.elapsed());
            at += length as u64;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let summary = latencies.summary();
        figures.add(format!("{name}_p50_us"), summary.p50_us);
        figures.add(format!("{name}_p99_us"), summary.p99_us);
        figures.add(format!("{name}_mb_per_s"), at as f64 / 1e6 / seconds);
    }
    std::fs::remove_file(path)?;
    Ok(())
}

/// Append with checksum, no syncing: what accepting a batch costs at least.
fn appends(figures: &mut Figures, path: &Path, time: Duration) -> Result<()> {
    /// So that the page cache takes it all.
    const BYTES_MAX: u64 = 1 << 30;
    let bytes = random(BATCH_BYTES);
    let file = File::create(path)?;
    let (begun, cpu, mut at) = (Instant::now(), thread_cpu_time(), 0);
    while begun.elapsed() < time && at < BYTES_MAX {
        std::hint::black_box(crc32c::crc32c(&bytes));
        file.write_all_at(&bytes, at)?;
        at += bytes.len() as u64;
    }
    let cpu = thread_cpu_time().saturating_sub(cpu);
    figures.add("append_crc_100_kib_mb_per_s", at as f64 / 1e6 / begun.elapsed().as_secs_f64());
    figures.add("append_crc_100_kib_cpu_s_per_gb", cpu.as_secs_f64() / (at as f64 / 1e9));
    std::fs::remove_file(path)?;
    Ok(())
}

fn checksums(figures: &mut Figures, time: Duration) {
    let bytes = random(BATCH_BYTES);
    let (begun, mut done) = (Instant::now(), 0);
    while begun.elapsed() < time / 4 {
        std::hint::black_box(crc32c::crc32c(std::hint::black_box(&bytes)));
        done += bytes.len();
    }
    figures.add("crc_100_kib_mb_per_s", done as f64 / 1e6 / begun.elapsed().as_secs_f64());
}

/// Both ends of a loopback connection.
pub(crate) fn loopback_pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok((one, other))
}

fn loopback(figures: &mut Figures, time: Duration) -> Result<()> {
    let (mut sender, receiver) = loopback_pair()?;
    let dropper = thread::spawn(move || {
        let mut scratch = vec![0; 1 << 20];
        // Ends when the sender has closed its end.
        while socket::discard(&receiver, SEND_BYTES, &mut scratch).is_ok() {}
        thread_cpu_time()
    });
    let bytes = random(SEND_BYTES);
    let (begun, cpu, mut sent) = (Instant::now(), thread_cpu_time(), 0);
    while begun.elapsed() < time {
        sender.write_all(&bytes)?;
        sent += bytes.len();
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = thread_cpu_time().saturating_sub(cpu);
    drop(sender);
    let received_cpu = dropper.join().map_err(|_| anyhow!("the receiving thread panicked"))?;
    let gigabytes = sent as f64 / 1e9;
    figures.add("loopback_128_kib_mb_per_s", gigabytes * 1e3 / seconds);
    figures.add("loopback_128_kib_send_cpu_s_per_gb", cpu.as_secs_f64() / gigabytes);
    figures.add("loopback_128_kib_receive_cpu_s_per_gb", received_cpu.as_secs_f64() / gigabytes);
    Ok(())
}

/// 1 KiB there, 100 bytes back, between two threads: nearly all of it is waking a core.
fn request_answer(figures: &mut Figures, time: Duration) -> Result<()> {
    let (mut client, mut server) = loopback_pair()?;
    let answering = thread::spawn(move || {
        let mut request = [0; 1024];
        while server.read_exact(&mut request).is_ok() && server.write_all(&request[..100]).is_ok() {}
    });
    let (request, mut answer) = ([1; 1024], [0; 100]);
    let mut latencies = Latencies::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let one = Instant::now();
        client.write_all(&request)?;
        client.read_exact(&mut answer)?;
        latencies.record(one.elapsed());
    }
    drop(client);
    answering.join().map_err(|_| anyhow!("the answering thread panicked"))?;
    let summary = latencies.summary();
    figures.add("request_answer_p50_us", summary.p50_us);
    figures.add("request_answer_p99_us", summary.p99_us);
    Ok(())
}
