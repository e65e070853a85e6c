//! A connector's start, its idleness, how soon it streams again after Postgres was killed, and how soon a second one on
//! the same slot does after the first was killed.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::consumer::Consumer;
use super::database::Database;
use super::relay::{Relay, Ways};
use crate::figures::Figures;
use crate::suite::results::Side;

/// The load's name.
pub(super) const NAME: &str = "start, idleness, restart of Postgres, standby";

const SLOT: &str = "life";
/// How long a connector is left alone before its memory is looked at.
const SETTLE: Duration = Duration::from_secs(3);
const WAIT_MAX: Duration = Duration::from_secs(120);

const ROW: &str = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
    VALUES (gen_random_uuid(), 'order', '1', 'OrderPlaced', '{\"n\": 1}')";

/// Measures all of it.
///
/// # Errors
/// When something ends, or does not come back.
pub(super) fn look(database: &mut Database, ways: &Ways, side: Side) -> Result<Figures> {
    database.make_slot(SLOT)?;
    let mut relay = Relay::start(ways, side, database, SLOT)?;
    let mut consumer = relay.consumer()?;
    database.execute(ROW)?;
    let mut figures = Figures::default();
    let begun = Instant::now();
    relay.start_connector()?;
    database.wait_streaming(SLOT, || relay.check_running())?;
    figures.add("start_to_streaming_ms", begun.elapsed().as_secs_f64() * 1e3);
    wait_for_row(&mut consumer)?;
    figures.add("start_to_first_row_ms", begun.elapsed().as_secs_f64() * 1e3);

    thread::sleep(SETTLE);
    figures.add("connector_idle_mb", relay.connector()?.resident_bytes()? as f64 / 1e6);
    figures.add("broker_idle_mb", relay.broker().resident_bytes()? as f64 / 1e6);

    // Debezium's engine ends when Postgres goes, and leaves it to others to start it again.
    if side != Side::Debezium {
        let accepts = database.kill_and_restart()?;
        database.wait_streaming(SLOT, || relay.check_running())?;
        figures.add("restart_to_streaming_ms", accepts.elapsed().as_secs_f64() * 1e3);
        database.execute(ROW)?;
        wait_for_row(&mut consumer)?;
        figures.add("restart_to_row_ms", accepts.elapsed().as_secs_f64() * 1e3);

        relay.start_standby()?;
        thread::sleep(SETTLE);
        let killed = Instant::now();
        relay.kill_connector_for_standby()?;
        database.execute(ROW)?;
        wait_for_row(&mut consumer)?;
        figures.add("standby_to_row_ms", killed.elapsed().as_secs_f64() * 1e3);
    }
    relay.stop(database)?;
    Ok(figures)
}

fn wait_for_row(consumer: &mut Consumer) -> Result<()> {
    let begun = Instant::now();
    while consumer.poll(|_, _| Ok(()))? == 0 {
        ensure!(begun.elapsed() < WAIT_MAX, "the row did not come");
    }
    Ok(())
}
