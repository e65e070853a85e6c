//! Which log lines are written: the environment's word, else that of `log.level`, else `info`.

use pillion_trace_context::telemetry;

/// Whether the environment says it, which comes before the configuration.
pub(crate) fn is_in_environment() -> bool {
    ["PILLION_LOG", "RUST_LOG"].iter().any(|name| std::env::var(name).is_ok_and(|value| !value.is_empty()))
}

/// The filter of a level. The replication library logs each lost connection as an error; the connector says it, once.
pub(crate) fn filter(level: &str) -> String {
    format!("{level},pgwire_replication=off")
}

/// Puts a level in place, or the one of a service that says none.
pub(crate) fn reload(level: Option<&str>) {
    if is_in_environment() {
        return;
    }
    // It was checked with the configuration.
    if let Err(reason) = telemetry::set_log_filter(&filter(level.unwrap_or("info"))) {
        tracing::error!("log.level: {reason}");
    }
}
