//! How much of everything the suite does: for figures, or for a quick look.

/// How long everything takes.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// Bytes of values that a produce load writes at most.
    pub(super) produce_bytes: u64,
    /// Seconds for which a broker is loaded before anything is measured: a virtual machine compiles while it runs.
    pub(super) warm_seconds: f64,
    /// Records before each load that are not measured.
    pub(super) warmup: u64,
    /// Seconds of a produce or fetch load at most.
    pub(super) seconds: f64,
    /// Records of a roundtrip load.
    pub(super) roundtrips: u64,
    /// Seconds of paced and of one-record loads.
    pub(super) single_seconds: f64,
    /// Groups that get a first member.
    pub(super) groups: usize,
    /// The same where the broker may wait for more members: 3 s each by Kafka's default.
    pub(super) delayed_groups: usize,
    /// Groups to which a third member comes.
    pub(super) rebalances: usize,
    /// Milliseconds between a member's heartbeats.
    pub(super) heartbeat_ms: u64,
    /// Members of the largest group.
    pub(super) group_members: usize,
    /// Idle connections.
    pub(super) connections: usize,
    /// Partitions made and used.
    pub(super) partitions: u32,
    /// Partitions that are made, used and started again; ours only.
    pub(super) many_partitions: Option<u32>,
    /// Seconds of idleness.
    pub(super) idle_seconds: f64,
    /// Seconds for each of the machine's limits.
    pub(super) limit_seconds: f64,
}

impl Scale {
    /// What figures are taken from.
    pub(super) fn full() -> Self {
        Self {
            produce_bytes: 2 << 30,
            warm_seconds: 10.0,
            warmup: 200_000,
            seconds: 8.0,
            roundtrips: 5_000,
            single_seconds: 5.0,
            groups: 50,
            delayed_groups: 3,
            rebalances: 3,
            heartbeat_ms: 3_000,
            group_members: 1_000,
            connections: 2_000,
            partitions: 1_000,
            many_partitions: Some(10_000),
            idle_seconds: 10.0,
            limit_seconds: 3.0,
        }
    }

    /// A quick look; figures of a virtual machine that has just begun are too low.
    pub(super) fn quick() -> Self {
        Self {
            produce_bytes: 256 << 20,
            warm_seconds: 4.0,
            warmup: 50_000,
            seconds: 2.0,
            roundtrips: 1_000,
            single_seconds: 1.0,
            groups: 10,
            delayed_groups: 1,
            rebalances: 1,
            heartbeat_ms: 1_000,
            group_members: 200,
            connections: 500,
            partitions: 200,
            many_partitions: None,
            idle_seconds: 2.0,
            limit_seconds: 0.5,
        }
    }
}
