//! Which rows are read together, in a form that outlives the process. Pure.
//!
//! A window holds the rows that were committed between two looks at the database: those that one snapshot sees and the
//! one before did not. What a snapshot sees is kept as [`Seen`]: every transaction below a horizon, and some above it.
//! Two of them say exactly which rows a window has, also when it is read again later.
//!
//! - No row is lost: whenever its transaction commits, it is in exactly one difference of two snapshots. A cursor over
//!   an id or a timestamp loses rows, for both are drawn before the commit: the row with id 7 may be committed after
//!   the row with id 9 was read, and nobody asks for 7 again.
//! - Windows are in commit order: a row of a later one was committed after this one's snapshot.
//! - A horizon alone (`pg_snapshot_xmin`, as the lower end of the next window) would lose none either, but what
//!   committed above it before a row below it would come after it, and one long transaction would hold up everything.
//! - The horizon is never beyond a transaction whose row was seen: ids that were given out and came to nothing are
//!   given out again after a crash of the server.
//! - The transactions above the horizon are named by what the rows have (`xmin`), not by the snapshot's own list: a row
//!   written under a savepoint has the id of the subtransaction, which that list leaves out.

use std::collections::BTreeSet;
use std::fmt::Write;

use thiserror::Error;

use crate::lsn::Lsn;
use crate::stored::TransactionIds;

/// Most transactions above the horizon that are kept: some 60 KB in a progress record. With more, which takes one
/// transaction that stays open while so many others commit, polling waits for it.
pub(crate) const AHEAD_MAX: usize = 20_000;

/// First word of a window's text.
const FORMAT: &str = "polling1";

/// The transactions whose rows a snapshot sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    /// Every transaction before this one.
    pub(crate) horizon: u64,
    /// And these, none of them before the horizon.
    pub(crate) ahead: BTreeSet<u64>,
}

impl Seen {
    /// What a snapshot sees whose oldest open transaction is `open`, when `latest` is the latest transaction of all rows
    /// it sees and `ahead` are those at or above `open`.
    pub(crate) fn next(&self, open: u64, latest: u64, ahead: impl IntoIterator<Item = u64>) -> Seen {
        let horizon = open.min(latest.saturating_add(1)).max(self.horizon);
        Seen { horizon, ahead: ahead.into_iter().filter(|id| *id >= horizon).collect() }
    }
}

/// One window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its number, higher than the one before: the place of an LSN, which rows do not have.
    pub(crate) number: u64,
    /// What was seen before it.
    pub(crate) before: Seen,
    /// What is seen with it.
    pub(crate) after: Seen,
}

/// A text that is no window's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the progress record is not one of polling: use another slot.name for it")]
pub(crate) struct WindowError;

impl Window {
    /// Everything that `seen` sees, at `number`.
    pub(crate) fn of_all(number: u64, seen: Seen) -> Window {
        Window { number, before: Seen::default(), after: seen }
    }

    /// The position of its pseudo transaction.
    pub(crate) fn position(&self) -> Lsn {
        Lsn::new(self.number)
    }

    /// The position behind it.
    pub(crate) fn end(&self) -> Lsn {
        Lsn::new(self.number.saturating_add(1))
    }

    /// Whether a row is in it, as SQL.
    pub(crate) fn condition(&self, ids: &TransactionIds) -> String {
        let mut condition = ids.at_least(self.before.horizon);
        if !self.before.ahead.is_empty() {
            let _ = write!(condition, " AND NOT {}", ids.one_of(self.before.ahead.iter().copied()));
        }
        let below = ids.below(self.after.horizon);
        if self.after.ahead.is_empty() {
            let _ = write!(condition, " AND {below}");
        } else {
            let _ = write!(condition, " AND ({below} OR {})", ids.one_of(self.after.ahead.iter().copied()));
        }
        condition
    }

    /// For the progress record: `polling1 <number> <before> <after>`, each of the two `<horizon>[:<gap>,…]`, where a
    /// gap leads from the horizon or the id before to the next one.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{FORMAT} {}", self.number);
        for seen in [&self.before, &self.after] {
            let _ = write!(text, " {}", seen.horizon);
            let mut last = seen.horizon;
            for (index, id) in seen.ahead.iter().enumerate() {
                let _ = write!(text, "{}{}", if index == 0 { ':' } else { ',' }, id - last);
                last = *id;
            }
        }
        text
    }

    /// What [`to_text`](Self::to_text) made.
    ///
    /// # Errors
    /// [`WindowError`] for any other text.
    pub(crate) fn parse(text: &str) -> Result<Window, WindowError> {
        let mut words = text.split(' ');
        if words.next() != Some(FORMAT) {
            return Err(WindowError);
        }
        let number = words.next().and_then(|word| word.parse().ok()).ok_or(WindowError)?;
        let mut seen = || words.next().and_then(parse_seen).ok_or(WindowError);
        let window = Window { number, before: seen()?, after: seen()? };
        if words.next().is_some() { Err(WindowError) } else { Ok(window) }
    }
}

fn parse_seen(word: &str) -> Option<Seen> {
    let (horizon, gaps) = word.split_once(':').unwrap_or((word, ""));
    let horizon = horizon.parse().ok()?;
    let mut seen = Seen { horizon, ahead: BTreeSet::new() };
    let mut last: u64 = horizon;
    for gap in gaps.split(',').filter(|gap| !gap.is_empty()) {
        last = last.checked_add(gap.parse().ok()?)?;
        seen.ahead.insert(last);
        if seen.ahead.len() > AHEAD_MAX {
            return None;
        }
    }
    Some(seen)
}

#[cfg(test)]
mod tests;
