//! How much of everything the suite does: for figures, or for a quick look.

/// How large and how long everything is.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// Rows of every backlog.
    pub(super) backlog_rows: u64,
    /// Seconds of a steady load.
    pub(super) paced_seconds: u64,
    /// How often a connector is killed under load.
    pub(super) kills: u32,
}

impl Scale {
    /// What figures are taken from.
    pub(super) fn full() -> Self {
        Self { backlog_rows: 1_000_000, paced_seconds: 15, kills: 4 }
    }

    /// A quick look.
    pub(super) fn quick() -> Self {
        Self { backlog_rows: 200_000, paced_seconds: 4, kills: 2 }
    }
}
