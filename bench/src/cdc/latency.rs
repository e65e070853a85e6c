//! How long a row takes from its commit to a consumer of committed records, at a steady rate.
//!
//! Time counts from when Postgres has answered the commit to when the consumer has the answer with the record; a record
//! that is there earlier counts as 0.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::consumer::{Consumer, events};
use super::database::Database;
use super::relay::{Relay, Ways};
use super::scale::Scale;
use super::writers::Writers;
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::suite::results::Side;

/// Under which all rates are found.
pub(super) const NAME: &str = "commit to consumer";
/// Rows a second.
pub(super) const RATES: [u64; 2] = [100, 1_000];

const SLOT: &str = "latency";
/// Rows that warm everything up.
const WARM_ROWS: u64 = 500;
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The name of one rate's load.
pub(super) fn name(rate: u64) -> String {
    format!("{NAME}, {rate} rows/s")
}

/// Measures one rate.
///
/// # Errors
/// When rows do not come.
pub(super) fn measure(database: &Database, ways: &Ways, side: Side, rate: u64, scale: &Scale) -> Result<Figures> {
    database.make_slot(SLOT)?;
    let mut relay = Relay::start(ways, side, database, SLOT)?;
    let mut consumer = relay.consumer()?;
    relay.start_connector()?;
    database.wait_streaming(SLOT, || relay.check_running())?;
    let rows = rate * scale.paced_seconds;
    let warm = Writers::start(database, 0..WARM_ROWS, 500)?;
    receive(&mut relay, &mut consumer, WARM_ROWS)?;
    warm.end(database)?;

    let cpu = relay.cpu_time()?;
    let writers = Writers::start(database, WARM_ROWS..WARM_ROWS + rows, rate)?;
    let received = receive(&mut relay, &mut consumer, rows)?;
    let cpu = relay.cpu_time()?.saturating_sub(cpu);
    let mut latencies = Latencies::default();
    for (number, committed) in writers.end(database)? {
        let received = received.get(&number);
        ensure!(received.is_some(), "row {number} did not come");
        latencies.record(received.map_or(Duration::ZERO, |received| received.saturating_duration_since(committed)));
    }
    let mut figures = Figures::default();
    figures.add("rows", rows as f64);
    figures.add_latencies("commit_to_consumer", latencies);
    figures.add("cpu_us_each", cpu.as_secs_f64() * 1e6 / rows as f64);
    relay.stop(database)?;
    Ok(figures)
}

/// When each row came first, once so many have come.
fn receive(relay: &mut Relay<'_>, consumer: &mut Consumer, rows: u64) -> Result<HashMap<u64, Instant>> {
    let mut received = HashMap::with_capacity(rows as usize);
    let mut last = Instant::now();
    while (received.len() as u64) < rows {
        let more = consumer.poll(|header, batch| {
            let now = Instant::now();
            for event in events(header, batch)? {
                received.entry(event.number).or_insert(now);
            }
            Ok(())
        })?;
        if more > 0 {
            last = Instant::now();
        } else {
            relay.check_running()?;
            ensure!(last.elapsed() < SILENCE_MAX, "{} of {rows} rows came, then no more", received.len());
        }
    }
    Ok(received)
}
