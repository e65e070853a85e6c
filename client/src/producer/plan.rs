//! What the accumulator is told and what it says is to be done. Pure.

use std::time::{Duration, Instant};

use pillion_wire::records::Compression;

use super::ProduceError;
use super::accumulator::Slot;
use super::batch::{Batch, Pending};
use super::partition::Settled;
use crate::backoff::Backoff;

/// What the accumulator needs of a producer's and a client's settings.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) batch_size: usize,
    pub(super) linger: Duration,
    pub(super) max_in_flight: usize,
    pub(super) delivery_timeout: Duration,
    pub(super) request_timeout: Duration,
    pub(super) compression: Compression,
    pub(super) idempotent: bool,
    /// Whether keys must stay in their partitions.
    pub(super) keeps_partitions: bool,
    pub(super) backoff: Backoff,
    /// Where the backoff's jitter comes from: numbers in 0..1.
    pub(super) random: fn() -> f64,
}

/// One produce request to be.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) node: i32,
    pub(super) batches: Vec<(Slot, Batch)>,
    /// How long its answer may take.
    pub(super) timeout: Duration,
}

/// What stands between waiting batches and their brokers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// Brokers to connect to.
    pub(super) connections: Vec<i32>,
    /// Leaders to look up.
    pub(super) metadata: bool,
    /// A producer id.
    pub(super) identity: bool,
    /// Partitions to be added to the transaction.
    pub(super) enlist: bool,
    /// When there is something to do again, at the latest.
    pub(super) wake_at: Option<Instant>,
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Step {
    Send(Outgoing),
    Wait(Wants),
}

/// What waited and belongs to a doomed transaction.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) batches: Vec<(ProduceError, Batch)>,
    pub(super) records: Vec<(ProduceError, Pending)>,
}

/// What has waited too long.
#[derive(Debug, Default)]
pub(super) struct Expired {
    pub(super) batches: Vec<Settled>,
    pub(super) records: Vec<(Pending, ProduceError)>,
    /// Brokers to give up the connection to.
    pub(super) brokers: Vec<i32>,
}

impl Wants {
    /// Whether the same is to be done as in `other`, whenever that is.
    pub(super) fn same_chores(&self, other: &Self) -> bool {
        let flags = |wants: &Self| (wants.metadata, wants.identity, wants.enlist);
        self.connections == other.connections && flags(self) == flags(other)
    }

    /// Wakes no later than `at`.
    pub(super) fn by(&mut self, at: Instant) {
        self.wake_at = Some(self.wake_at.map_or(at, |earlier| earlier.min(at)));
    }
}
