//! The cluster's features: which levels are supported, and which is in force (KIP-584).
//!
//! One table for ApiVersions, which tells clients, and UpdateFeatures, which is refused anything else. A feature at
//! level 0 is not there.

/// A feature.
pub(crate) struct Feature {
    /// Its name.
    pub(crate) name: &'static str,
    /// The lowest level supported.
    pub(crate) min: i16,
    /// The highest level supported.
    pub(crate) max: i16,
    /// The level in force.
    pub(crate) finalized: i16,
}

/// Which revision of the table this is. Clients believe the highest they have seen: raise it with every change.
pub(crate) const EPOCH: i64 = 1;

/// The features, by name. `metadata.version` 33 is that of Kafka 4.4, whose APIs are spoken; its metadata log is not.
pub(crate) const FEATURES: &[Feature] = &[
    Feature { name: "eligible.leader.replicas.version", min: 0, max: 0, finalized: 0 },
    Feature { name: "group.version", min: 0, max: 0, finalized: 0 },
    Feature { name: "kraft.version", min: 0, max: 1, finalized: 1 },
    Feature { name: "metadata.version", min: 7, max: 33, finalized: 33 },
    Feature { name: "share.version", min: 0, max: 0, finalized: 0 },
    Feature { name: "streams.version", min: 0, max: 0, finalized: 0 },
    // 2 brings an epoch for each transaction and partitions added by producing to them (KIP-890).
    Feature { name: "transaction.version", min: 0, max: 2, finalized: 2 },
];
