//! Keys of the process itself, whatever runs in it.

use pillion_console::ConsoleConfig;

use super::{Change, Key, LOG_LEVEL, Part};

/// The rows.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: LOG_LEVEL,
        part: Part::Process,
        kind: "text",
        expected: "error, warn, info, debug or trace, and after commas MODULE=LEVEL",
        default: Some("info"),
        change: Change::OnReload,
        purpose: "which log lines are written, such as info,pillion_cdc=debug; PILLION_LOG and RUST_LOG come before it",
    },
    Key {
        name: ConsoleConfig::LISTEN,
        part: Part::Process,
        kind: "text",
        expected: "HOST:PORT (port 0 picks a free one), or none",
        default: Some(ConsoleConfig::DEFAULT_LISTEN),
        change: Change::AtStart,
        purpose: "where metrics, health and the page are served: this machine only, until told otherwise, for there is no log-in; where the default is taken a free port is",
    },
    Key {
        name: ConsoleConfig::ALLOW_WRITES,
        part: Part::Process,
        kind: "boolean",
        expected: "true or false",
        default: Some("false"),
        change: Change::AtStart,
        purpose: "whether the page may produce messages and replay dead letters",
    },
    Key {
        name: ConsoleConfig::TRACE_URL,
        part: Part::Process,
        kind: "text",
        expected: "an http or https URL with {traceId} in it",
        default: None,
        change: Change::AtStart,
        purpose: "where the page's trace ids lead, such as http://localhost:16686/trace/{traceId}; without it they lead nowhere",
    },
];
