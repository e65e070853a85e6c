//! Groups: how soon a first member has its share, how soon all have theirs when one comes, and what many members take.
//!
//! ```text
//! start, rebalance, size   the loads
//! crew                     members that heartbeat, each in a thread; when they are settled
//! member ── shares         one member on a connection of its own; what a leader hands out
//! ```
//! A connection a member, as real clients have it: a broker answers a connection's requests in their order, so a
//! JoinGroup that waits for others would hold up those others if they shared its connection.

mod crew;
pub(crate) mod member;
pub(crate) mod rebalance;
mod shares;
pub(crate) mod size;
pub(crate) mod start;

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

/// The name of a group that no earlier run has used.
fn new_name(prefix: &str, number: usize) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(format!("{prefix}-{now}-{number}"))
}
