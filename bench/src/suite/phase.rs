//! How brokers are started for the loads: a fresh broker for each phase.

use crate::server::Durability;

/// One start of each broker and the loads that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Loads that are acknowledged from the page cache.
    Written,
    /// Loads that are acknowledged once on disk.
    Synced,
    /// Loads of groups that do not wait for more members before they begin.
    Groups,
}

impl Phase {
    /// Every phase, in the order in which they run.
    pub(super) const ALL: [Self; 3] = [Self::Written, Self::Synced, Self::Groups];

    /// When the broker may acknowledge.
    pub(super) fn durability(self) -> Durability {
        match self {
            Self::Written => Durability::Written,
            Self::Synced | Self::Groups => Durability::Synced,
        }
    }

    /// What is set beyond the durability, of any broker.
    pub(super) fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Written | Self::Synced => &[],
            Self::Groups => &[("group.initial.rebalance.delay.ms", "0")],
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Synced => "synced",
            Self::Groups => "groups",
        }
    }
}
