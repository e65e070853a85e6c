//! Rows the cluster refused, remembered while they are read again.
//!
//! A refused record spoils the transaction it was sent in, so everything since the last commit is sent again; this
//! tells which row to treat differently then.

use std::collections::HashMap;

use super::row::RowPosition;
use crate::lsn::Lsn;
use crate::progress::Progress;

/// Refused rows remembered; more than a few at a time would mean that a topic's limits do not fit what is written.
const REFUSALS_MAX: usize = 10_000;

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The cluster's reason.
    pub(super) reason: String,
    /// Whether the record that was made in its place was refused, too.
    pub(super) is_final: bool,
}

/// Refused rows by position.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_row: HashMap<(Lsn, u64), Refusal>,
    /// The last row of a transaction that was given up because of one of its rows, not known which.
    searched_to: Option<(Lsn, u64)>,
}

impl Refusals {
    /// Remembers a refused row, or that its substitute was refused.
    pub(super) fn add(&mut self, position: &RowPosition, reason: String) {
        let row = (position.commit_lsn, position.ordinal);
        let is_final = self.by_row.contains_key(&row);
        if self.by_row.len() < REFUSALS_MAX || is_final {
            self.by_row.insert(row, Refusal { reason, is_final });
        }
    }

    /// Some row up to the one `progress` ends at was refused: until they are published each is watched.
    pub(super) fn search(&mut self, progress: &Progress) {
        self.searched_to = Some((progress.commit_lsn, progress.ordinal));
    }

    /// Whether the fate of each row matters.
    pub(super) fn is_searching(&self) -> bool {
        self.searched_to.is_some()
    }

    /// What is known of a row.
    pub(super) fn of(&self, position: &RowPosition) -> Option<&Refusal> {
        if self.by_row.is_empty() {
            return None;
        }
        self.by_row.get(&(position.commit_lsn, position.ordinal))
    }

    /// Forgets the rows that are behind us.
    pub(super) fn forget_published(&mut self, progress: &Progress) {
        if self.searched_to.is_some_and(|(commit_lsn, ordinal)| progress.covers(commit_lsn, ordinal)) {
            self.searched_to = None;
        }
        if !self.by_row.is_empty() {
            self.by_row.retain(|(commit_lsn, ordinal), _| !progress.covers(*commit_lsn, *ordinal));
        }
    }
}
