//! What bounds a group: Kafka's settings by their own names, and the limits Kafka leaves open.
//!
//! Read by every part of the state machine; fixed once the broker runs.

use std::time::Duration;

use crate::config::BrokerConfig;

/// Protocols one member may offer in JoinGroup. Clients send as many as they have assignors: one to five.
pub(crate) const PROTOCOLS_MAX: usize = 64;

/// Bytes of subscription metadata one member may bring, all its protocols together. A group's record holds the
/// chosen one of every member and must fit in one batch of `__consumer_offsets` (1 MiB by default).
pub(crate) const MEMBER_METADATA_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of subscription metadata all members of a group may bring together.
pub(crate) const GROUP_METADATA_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes a leader may assign in all. Beyond it SyncGroup is answered with UNKNOWN_SERVER_ERROR, as Kafka does when
/// a group's record is too large.
pub(crate) const ASSIGNMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a name or id: with a member id's random part it must fit the 32,767 the record format can say.
pub(crate) const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Members of one group whatever `group.max.size` says: Kafka's default for that is no limit, and here everything has
/// one. A hundred thousand idle members take some 50 MB.
pub(crate) const GROUP_SIZE_CEILING: usize = 100_000;

/// Member ids handed out with MEMBER_ID_REQUIRED and not yet used, in one group.
pub(crate) const PENDING_MEMBERS_MAX: usize = 10_000;

/// Groups one partition of `__consumer_offsets` keeps in memory. A join beyond it gets COORDINATOR_NOT_AVAILABLE.
pub(crate) const GROUPS_PER_SHARD_MAX: usize = 100_000;

/// A new member cannot heartbeat before its first JoinGroup is answered, and its broken connection is not seen
/// while the answer is parked; after this long it is taken for gone. Kafka's fixed five minutes.
pub(crate) const NEW_MEMBER_JOIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Settings of the group coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupLimits {
    /// `group.min.session.timeout.ms`: shorter ones get INVALID_SESSION_TIMEOUT.
    pub(crate) session_timeout_min: Duration,
    /// `group.max.session.timeout.ms`: longer ones get INVALID_SESSION_TIMEOUT.
    pub(crate) session_timeout_max: Duration,
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for more members before its first
    /// generation.
    pub(crate) initial_rebalance_delay: Duration,
    /// `group.max.size`: members of one group, at most [`GROUP_SIZE_CEILING`].
    pub(crate) group_size_max: usize,
    /// `offset.metadata.max.bytes`: longer commit metadata gets OFFSET_METADATA_TOO_LARGE.
    pub(crate) offset_metadata_max: usize,
    /// `offsets.retention.minutes`: committed offsets are dropped this long after their group became empty, and
    /// those of a group without members (a simple consumer) this long after the commit.
    pub(crate) offsets_retention: Duration,
}

impl From<&BrokerConfig> for GroupLimits {
    fn from(config: &BrokerConfig) -> Self {
        Self {
            session_timeout_min: config.group_session_timeout_min,
            session_timeout_max: config.group_session_timeout_max,
            initial_rebalance_delay: config.group_initial_rebalance_delay,
            group_size_max: config.group_size_max.min(GROUP_SIZE_CEILING),
            offset_metadata_max: config.offset_metadata_bytes_max,
            offsets_retention: config.offsets_retention,
        }
    }
}

#[cfg(test)]
impl Default for GroupLimits {
    fn default() -> Self {
        Self::from(&BrokerConfig::new("data", "127.0.0.1:0"))
    }
}
