//! The outbox connectors.

use pillion_cdc::{Snapshot, State};

use crate::exposition::{Exposition, Kind};
use crate::history::now_ms;
use crate::watched::WatchedConnector;

/// Every state a connector can be in, and what its label says.
const STATES: [(State, &str); 6] = [
    (State::Starting, "starting"),
    (State::WaitingForPostgres, "waiting_for_postgres"),
    (State::Standby, "standby"),
    (State::WaitingForBroker, "waiting_for_broker"),
    (State::Streaming, "streaming"),
    (State::Stopped, "stopped"),
];

/// How a state is called in labels and on the page.
pub(crate) fn state_name(state: State) -> &'static str {
    STATES.iter().find(|(known, _)| *known == state).map_or("unknown", |(_, name)| name)
}

/// Writes the connectors' numbers.
pub(super) fn write(exposition: &mut Exposition, connectors: &[WatchedConnector]) {
    if connectors.is_empty() {
        return;
    }
    let seen: Vec<(&str, Snapshot)> =
        connectors.iter().map(|connector| (connector.name.as_str(), connector.status.snapshot())).collect();
    let mut states =
        exposition.family(Kind::Gauge, "pillion_connector_state", "1 for the state the connector is in, 0 for others.");
    for (name, connector) in &seen {
        for (state, label) in STATES {
            states.series(&[("connector", name), ("state", label)], u8::from(connector.state == state));
        }
    }
    let mut each = |kind, name, help: &str, value: fn(&Snapshot) -> f64| {
        let mut family = exposition.family(kind, name, help);
        for (connector, snapshot) in &seen {
            family.series(&[("connector", connector)], value(snapshot));
        }
    };
    counters(&mut each);
    gauges(&mut each);
}

type Each<'a> = dyn FnMut(Kind, &'static str, &str, fn(&Snapshot) -> f64) + 'a;

fn counters(each: &mut Each<'_>) {
    each(
        Kind::Counter,
        "pillion_connector_published_events_total",
        "Events published; those repeated after a restart count again.",
        |seen| seen.rows_published as f64,
    );
    each(Kind::Counter, "pillion_connector_transactions_total", "Postgres transactions that held them.", |seen| {
        seen.transactions as f64
    });
    each(
        Kind::Counter,
        "pillion_connector_commits_total",
        "Commits to the brokers; each holds one transaction or more.",
        |seen| seen.commits as f64,
    );
    each(Kind::Counter, "pillion_connector_dead_letters_total", "Rows sent to the dead-letter topic.", |seen| {
        seen.dead_letters as f64
    });
    each(Kind::Counter, "pillion_connector_skipped_events_total", "Rows left out because of on.error=skip.", |seen| {
        seen.rows_skipped as f64
    });
    each(
        Kind::Counter,
        "pillion_connector_sessions_total",
        "Sessions with Postgres; each after the first is a reconnection.",
        |seen| seen.sessions as f64,
    );
}

fn gauges(each: &mut Each<'_>) {
    each(
        Kind::Gauge,
        "pillion_connector_lag_bytes",
        "Bytes of WAL between what is confirmed to the slot and the server's position.",
        |seen| seen.lag_bytes as f64,
    );
    each(
        Kind::Gauge,
        "pillion_connector_lag_seconds",
        "Age of the oldest transaction that was received and is not published; 0 when there is none.",
        |seen| seen.lag_ms(now_ms()) as f64 / 1000.0,
    );
    each(
        Kind::Gauge,
        "pillion_connector_retained_wal_bytes",
        "Bytes of WAL that Postgres keeps for the slot.",
        |seen| seen.retained_bytes as f64,
    );
    each(
        Kind::Gauge,
        "pillion_connector_last_commit_timestamp_seconds",
        "When the last published transaction was committed in Postgres; 0 before the first.",
        |seen| seen.last_commit_time_ms as f64 / 1000.0,
    );
}
