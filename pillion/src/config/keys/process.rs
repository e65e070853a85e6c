//! Keys of the process itself, whatever runs in it.

use super::{Change, Key, LOG_LEVEL, Part};

/// The rows.
pub(super) const KEYS: &[Key] = &[Key {
    name: LOG_LEVEL,
    part: Part::Process,
    kind: "text",
    expected: "error, warn, info, debug or trace, and after commas MODULE=LEVEL",
    default: Some("info"),
    change: Change::OnReload,
    purpose: "which log lines are written, such as info,pillion_cdc=debug; PILLION_LOG and RUST_LOG come before it",
}];
