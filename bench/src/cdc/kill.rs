//! SIGKILL of the connector under load, and a new start: what a consumer of committed records then has seen.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;

use super::consumer::{Consumer, Event, events};
use super::database::Database;
use super::relay::{Relay, Ways};
use super::scale::Scale;
use super::writers::Writers;
use crate::figures::Figures;
use crate::suite::results::Side;

/// The load's name.
pub(super) const NAME: &str = "kill -9 under load";

const SLOT: &str = "kill";
/// Rows a second meanwhile.
const RATE: u64 = 1_000;
/// Between two kills: enough for a slow start to stream again.
const PAUSE: Duration = Duration::from_secs(4);
/// After so long without a record nothing more is expected.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// What a consumer saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    numbers: HashSet<u64>,
    last: HashMap<Bytes, u64>,
    repeated: u64,
    steps_back: u64,
}

impl Seen {
    /// Takes one event in the order of the log.
    pub(super) fn add(&mut self, event: Event) {
        if !self.numbers.insert(event.number) {
            self.repeated += 1;
        }
        let last = self.last.entry(event.key).or_insert(event.number);
        if event.number < *last {
            self.steps_back += 1;
        }
        *last = event.number;
    }

    fn poll(&mut self, consumer: &mut Consumer) -> Result<u64> {
        consumer.poll(|header, batch| {
            events(header, batch)?.into_iter().for_each(|event| self.add(event));
            Ok(())
        })
    }
}

/// Kills the connector so often, starts it at once each time, and counts.
///
/// # Errors
/// When something else ends.
pub(super) fn count(database: &Database, ways: &Ways, side: Side, scale: &Scale) -> Result<Figures> {
    database.make_slot(SLOT)?;
    let mut relay = Relay::start(ways, side, database, SLOT)?;
    let mut consumer = relay.consumer()?;
    relay.start_connector()?;
    database.wait_streaming(SLOT, || relay.check_running())?;
    let seconds = PAUSE.as_secs() * u64::from(scale.kills + 1);
    let rows = RATE * seconds;
    let writers = Writers::start(database, 0..rows, RATE)?;
    let mut seen = Seen::default();
    for _ in 0..scale.kills {
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            seen.poll(&mut consumer)?;
        }
        relay.check_running()?;
        relay.kill_connector()?;
        relay.start_connector()?;
    }
    let mut last = Instant::now();
    while !(writers.are_done() && seen.numbers.len() as u64 >= rows) && last.elapsed() < SILENCE_MAX {
        if seen.poll(&mut consumer)? > 0 {
            last = Instant::now();
        }
    }
    relay.check_running()?;
    // A repeated row may come behind the last one.
    while seen.poll(&mut consumer)? > 0 {}
    let committed = writers.end(database)?;
    ensure!(committed.len() as u64 == rows, "{} of {rows} rows were committed", committed.len());
    let lost = committed.iter().filter(|(number, _)| !seen.numbers.contains(number)).count();
    let mut figures = Figures::default();
    figures.add("rows", rows as f64);
    figures.add("lost", lost as f64);
    figures.add("repeated", seen.repeated as f64);
    figures.add("steps_back", seen.steps_back as f64);
    relay.stop(database)?;
    Ok(figures)
}

#[cfg(test)]
mod tests;
