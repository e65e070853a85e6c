//! What an inspection has to say about a file.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// Findings of one file that are kept; a file of nothing but damage would have millions.
const OF_ONE_FILE_MAX: usize = 100;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Wrong, but a broker's start puts it right without losing a record that was durable.
    Repairable,
    /// Records are lost, unreadable or not what was written.
    Damage,
}

/// Something found in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file, or a directory.
    #[serde(serialize_with = "path")]
    pub file: PathBuf,
    /// Where in the file, in bytes from its start.
    pub position: Option<u64>,
    /// What was found there.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// A path as text; bytes that are not UTF-8 are replaced.
pub(super) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl Finding {
    /// Whether anything is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.severity > Severity::Note
    }
}

/// What a file that cannot be trusted any more is good for.
pub(super) const REBUILT: &str = "delete the file while the broker is stopped: its next start builds it anew";

/// Findings of one file.
#[derive(Debug)]
pub(super) struct Findings {
    file: PathBuf,
    list: Vec<Finding>,
    left_out: u64,
    worst_left_out: Severity,
}

impl Findings {
    pub(super) fn of(file: &Path) -> Self {
        Self { file: file.to_owned(), list: Vec::new(), left_out: 0, worst_left_out: Severity::Note }
    }

    pub(super) fn note(&mut self, position: impl Into<Option<u64>>, what: impl Into<String>, advice: &'static str) {
        self.add(Severity::Note, position, what, advice);
    }

    pub(super) fn repairable(
        &mut self,
        position: impl Into<Option<u64>>,
        what: impl Into<String>,
        advice: &'static str,
    ) {
        self.add(Severity::Repairable, position, what, advice);
    }

    pub(super) fn damage(&mut self, position: impl Into<Option<u64>>, what: impl Into<String>, advice: &'static str) {
        self.add(Severity::Damage, position, what, advice);
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        position: impl Into<Option<u64>>,
        what: impl Into<String>,
        advice: &'static str,
    ) {
        if self.list.len() < OF_ONE_FILE_MAX {
            let (file, position, what) = (self.file.clone(), position.into(), what.into());
            self.list.push(Finding { severity, file, position, what, advice });
        } else {
            self.left_out += 1;
            self.worst_left_out = self.worst_left_out.max(severity);
        }
    }

    /// Takes all of them back.
    pub(super) fn clear(&mut self) {
        *self = Self::of(&self.file);
    }

    /// All of them; the last one says how many were left out.
    pub(super) fn into_list(mut self) -> Vec<Finding> {
        if self.left_out > 0 {
            self.list.push(Finding {
                severity: self.worst_left_out,
                file: self.file,
                position: None,
                what: format!("{} more findings in this file", self.left_out),
                advice: "see to the first ones; what follows is often their consequence",
            });
        }
        self.list
    }
}
