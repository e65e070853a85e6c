//! Draining a backlog: how fast, at what cost, in how much memory.
//!
//! Time runs from when the walsender streams, for every side; what a start costs is measured elsewhere.

use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::backlog::Backlog;
use super::database::{Database, PUBLICATION};
use super::relay::{Relay, Ways};
use crate::children::{Child, OwnFolder};
use crate::figures::Figures;
use crate::suite::results::Side;

/// The slot that a side drains.
const SLOT: &str = "drain";
/// Between two looks at the walsender's position.
const LOOK: Duration = Duration::from_millis(10);
/// No record for so long is a failure.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The walsender alone: `pg_recvlogical` writes what it sends to /dev/null.
///
/// # Errors
/// When it does not stream, or ends early.
pub(super) fn to_nowhere(database: &Database, backlog: &Backlog) -> Result<Figures> {
    backlog.slot(database, SLOT)?;
    let folder = OwnFolder::data(&std::env::temp_dir(), "pillion-bench-walsender")?;
    let log = folder.path().join("log");
    File::create(&log)?;
    let mut command = Command::new(database.program("pg_recvlogical"));
    command.args(["--dbname", &database.url(), "--slot", SLOT, "--start", "--no-loop", "--file", "/dev/null"]);
    command.args(["--option", "proto_version=1", "--option", "messages=true"]);
    command.arg("--option").arg(format!("publication_names={PUBLICATION}"));
    let mut receiver = Child::start("pg_recvlogical", command, &log)?;
    let walsender = database.wait_streaming(SLOT, || receiver.check_running())?;
    let (begun, cpu) = (Instant::now(), walsender.cpu_time()?);
    let sent = format!(
        "SELECT 1 FROM pg_stat_replication JOIN pg_replication_slots ON active_pid = pid
         WHERE slot_name = '{SLOT}' AND sent_lsn >= '{}'",
        backlog.end
    );
    database.wait("the walsender to be at the end", LOOK, || {
        receiver.check_running()?;
        Ok(database.maybe_text(&sent)?.map(drop))
    })?;
    let (time, cpu) = (begun.elapsed(), walsender.cpu_time()?.saturating_sub(cpu));
    receiver.stop()?;
    database.drop_slot(SLOT)?;
    let mut figures = Figures::default();
    figures.add("rows", backlog.rows as f64);
    figures.add("rows_per_s", backlog.rows as f64 / time.as_secs_f64());
    figures.add("walsender_cpu_us_each", cpu.as_secs_f64() * 1e6 / backlog.rows as f64);
    Ok(figures)
}

/// A connector and a broker, until a consumer of committed records has every row, and until the slot is confirmed.
///
/// # Errors
/// When something ends, or records stop coming.
pub(super) fn to_consumer(database: &Database, ways: &Ways, side: Side, backlog: &Backlog) -> Result<Figures> {
    backlog.slot(database, SLOT)?;
    let mut relay = Relay::start(ways, side, database, SLOT)?;
    let mut consumer = relay.consumer()?;
    relay.start_connector()?;
    let walsender = database.wait_streaming(SLOT, || relay.check_running())?;
    let (begun, cpu, walsender_cpu) = (Instant::now(), relay.cpu_time()?, walsender.cpu_time()?);
    let (mut rows, mut last) = (0, Instant::now());
    while rows < backlog.rows {
        let more = consumer.poll(|_, _| Ok(()))?;
        rows += more;
        if more > 0 {
            last = Instant::now();
        } else {
            relay.check_running()?;
            ensure!(last.elapsed() < SILENCE_MAX, "{rows} of {} rows came, then no more", backlog.rows);
        }
    }
    let time = begun.elapsed();
    let cpu = relay.cpu_time()?.saturating_sub(cpu);
    let walsender_cpu = walsender.cpu_time().context("the walsender has gone")?.saturating_sub(walsender_cpu);

    let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / backlog.rows as f64;
    let mut figures = Figures::default();
    figures.add("rows", rows as f64);
    figures.add("rows_per_s", backlog.rows as f64 / time.as_secs_f64());
    figures.add("cpu_us_each", each(cpu));
    figures.add("walsender_cpu_us_each", each(walsender_cpu));
    figures.add("connector_peak_mb", relay.connector()?.peak_resident_bytes()? as f64 / 1e6);
    figures.add("broker_peak_mb", relay.broker().peak_resident_bytes()? as f64 / 1e6);
    // Debezium confirms once a minute.
    if side != Side::Debezium {
        database.wait_confirmed(SLOT, &backlog.end)?;
        figures.add("confirmed_after_s", begun.elapsed().saturating_sub(time).as_secs_f64());
    }
    relay.stop(database)?;
    Ok(figures)
}
