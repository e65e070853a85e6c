//! The second connection: one record after the other, at a rate, to a topic of its own; what does it feel of the rest?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::connection::Connection;
use crate::latency::Latencies;
use crate::load::roundtrip::RecordsWay;
use crate::socket;

/// Its topic.
const TOPIC: &str = "backlog-probe";
/// Bytes of its records' values.
const VALUE_BYTES: usize = 100;
/// What takes longer is a stall.
pub(super) const STALL: Duration = Duration::from_millis(100);
/// Records before anything is measured.
const WARM_UP: usize = 50;

/// What the second connection felt in one phase.
#[derive(Debug, Default)]
pub(super) struct Felt {
    /// From each record's sending to its sight by a long poll.
    pub(super) latencies: Latencies,
    /// Records that took longer than [`STALL`].
    pub(super) stalls: u64,
}

/// A running second connection.
#[derive(Debug)]
pub(super) struct Probe {
    felt: Arc<Mutex<Felt>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Probe {
    /// Makes its topic and begins.
    pub(super) fn start(address: &str, rate: f64) -> Result<Self> {
        Connection::open(address)?.create_topic(TOPIC, 1, &[])?;
        let mut way = RecordsWay::open(address, TOPIC, VALUE_BYTES)?;
        for _ in 0..WARM_UP {
            way.once(None)?;
        }
        let felt = Arc::new(Mutex::new(Felt::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (felt, is_over) = (Arc::clone(&felt), Arc::clone(&is_over));
            move || probe(way, Duration::from_secs_f64(1.0 / rate), &felt, &is_over)
        });
        Ok(Self { felt, is_over, thread })
    }

    /// What it felt since it was asked last.
    pub(super) fn take(&self) -> Result<Felt> {
        if self.thread.is_finished() {
            return Err(anyhow!("the second connection has ended"));
        }
        Ok(std::mem::take(&mut self.felt.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Ends it; fails if it ever failed.
    pub(super) fn stop(self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the second connection's thread panicked"))?
    }
}

fn probe(mut way: RecordsWay, interval: Duration, felt: &Mutex<Felt>, is_over: &AtomicBool) -> Result<()> {
    socket::sharpen_timers();
    let mut due = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        let seen = way.once(Some(due))?.seen;
        felt.lock().unwrap_or_else(PoisonError::into_inner).record(seen, interval);
        due = (due + interval).max(Instant::now());
    }
    Ok(())
}

impl Felt {
    /// A record's time. Those that were due while it was under way are not sent, but would have felt what was left of
    /// it: they count with that, or else one stall of a second would be one slow record among many quick ones.
    fn record(&mut self, seen: Duration, interval: Duration) {
        self.stalls += u64::from(seen > STALL);
        let mut left = seen;
        loop {
            self.latencies.record(left);
            match left.checked_sub(interval) {
                Some(rest) if !rest.is_zero() => left = rest,
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
