//! A group consumer's settings and what polling it gives.

use std::time::Duration;

use super::assignor::{Assignor, TopicPartition};
use crate::consumer::{ConsumedRecord, ConsumerConfig};

/// Where reading begins when nothing is committed, or what is committed is not in the log any more
/// (`auto.offset.reset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OffsetReset {
    /// At the first record there is.
    Earliest,
    /// Behind the last record.
    #[default]
    Latest,
    /// Nowhere: it is an error.
    None,
}

/// A group consumer's settings, named as Kafka's own.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The group's name.
    pub group_id: String,
    /// Topics to read, by name; see also [`crate::GroupConsumer::subscribe`].
    pub topics: Vec<String>,
    /// The member's fixed identity: with it a restart within the session timeout moves nothing (KIP-345).
    pub group_instance_id: Option<String>,
    /// How partitions are shared out, most wanted first; all members must have one in common. Rebalances are
    /// cooperative when all of these are. Cooperative sticky.
    pub assignors: Vec<Assignor>,
    /// Without a sign of life for this long a member is taken out of the group. 45 s.
    pub session_timeout: Duration,
    /// From one sign of life to the next; a third of the session timeout at most. 3 s.
    pub heartbeat_interval: Duration,
    /// How long the caller may go without polling, and a rebalance waits for it, before it loses its partitions
    /// (`max.poll.interval.ms`). 5 minutes.
    pub max_poll_interval: Duration,
    /// Where reading begins when nothing is committed.
    pub offset_reset: OffsetReset,
    /// How often what was handed out before the present poll is committed by itself; `None` leaves it to the caller.
    pub auto_commit_interval: Option<Duration>,
    /// How records are fetched, and whether uncommitted ones are shown.
    pub consumer: ConsumerConfig,
}

impl GroupConfig {
    /// The defaults for a group and topics.
    #[must_use]
    pub fn new(group_id: impl Into<String>, topics: Vec<String>) -> Self {
        Self {
            group_id: group_id.into(),
            topics,
            group_instance_id: None,
            assignors: vec![Assignor::CooperativeSticky],
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            max_poll_interval: Duration::from_secs(300),
            offset_reset: OffsetReset::Latest,
            auto_commit_interval: None,
            consumer: ConsumerConfig::default(),
        }
    }

    /// What is wrong with it, if anything.
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.group_id.is_empty() {
            Some("group.id is empty; give the group a name")
        } else if self.assignors.is_empty() {
            Some("partition.assignment.strategy is empty; name an assignor, such as cooperative-sticky")
        } else if self.heartbeat_interval.is_zero() || self.heartbeat_interval >= self.session_timeout {
            Some("heartbeat.interval.ms must be above 0 and below session.timeout.ms, best a third of it")
        } else {
            None
        }
    }
}

/// What a poll of a group consumer gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// Records of the partitions held, in order within each; none when the wait was over before there were any.
    Records(Vec<ConsumedRecord>),
    /// Partitions are the member's from now on; they are read from what is committed.
    Assigned(Vec<TopicPartition>),
    /// Partitions are taken away with the next poll: the time to commit, and to let go of what belongs to them.
    Revoked(Vec<TopicPartition>),
    /// Partitions are taken away already, others may read them: what was not committed cannot be any more.
    Lost(Vec<TopicPartition>),
}
