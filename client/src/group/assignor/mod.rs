//! Who reads which partitions: Kafka's assignors, with the results its Java client would accept. Pure: members and
//! partition counts in, one share a member out.
//!
//! **Invariants.** Every partition of a topic that a member subscribes to is in exactly one share (cooperative: in at
//! most one, and in none only while another member still holds it). With equal subscriptions shares differ by one
//! partition at most, but for `range`, which promises that only within a topic.

mod range;
mod round_robin;
mod sticky;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

/// A partition by its topic's name and number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
}

impl TopicPartition {
    /// A partition.
    #[must_use]
    pub fn new(topic: impl Into<String>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.topic, self.partition)
    }
}

/// How a group's leader shares partitions out (`partition.assignment.strategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assignor {
    /// Each topic by ranges of its partitions: the same numbers of several topics go to the same member.
    Range,
    /// All partitions in turn.
    RoundRobin,
    /// Evenly, with as little moved as possible; a rebalance takes everything away first.
    Sticky,
    /// As sticky; a rebalance takes away only what moves, and the rest is read meanwhile (KIP-429).
    CooperativeSticky,
}

impl Assignor {
    /// The name members agree on.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::Sticky => "sticky",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// Whether members keep what they hold through a rebalance.
    pub(super) fn is_cooperative(self) -> bool {
        self == Self::CooperativeSticky
    }

    /// Shares partitions out; shares come in the order of `members`.
    pub(super) fn assign(self, members: &[Member], counts: &BTreeMap<String, i32>) -> Vec<BTreeSet<TopicPartition>> {
        // Whatever order the coordinator names them in, the outcome is the same.
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|one, other| members[*one].rank().cmp(&members[*other].rank()));
        let ordered: Vec<&Member> = order.iter().map(|index| &members[*index]).collect();
        let shares = match self {
            Self::Range => range::assign(&ordered, counts),
            Self::RoundRobin => round_robin::assign(&ordered, counts),
            Self::Sticky => sticky::assign(&ordered, counts),
            Self::CooperativeSticky => sticky::assign_what_is_free(&ordered, counts),
        };
        let mut placed = vec![BTreeSet::new(); members.len()];
        for (index, share) in order.into_iter().zip(shares) {
            placed[index] = share;
        }
        placed
    }
}

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Member {
    /// The id the coordinator gave it.
    pub(super) id: String,
    /// Its fixed identity, if it has one.
    pub(super) instance_id: Option<String>,
    /// Topics it wants to read.
    pub(super) topics: BTreeSet<String>,
    /// What it holds, or held last.
    pub(super) owned: BTreeSet<TopicPartition>,
    /// The generation it got that in; −1 when unknown.
    pub(super) generation: i32,
}

impl Member {
    /// Static members first, by their identity; then the others by their id.
    fn rank(&self) -> (bool, &str) {
        (self.instance_id.is_none(), self.instance_id.as_deref().unwrap_or(&self.id))
    }
}

/// Members that subscribe to each topic there is, in order.
fn subscribers<'a>(members: &[&Member], counts: &'a BTreeMap<String, i32>) -> Vec<(&'a str, i32, Vec<usize>)> {
    let of_topic = |topic: &str| (0..members.len()).filter(|index| members[*index].topics.contains(topic)).collect();
    let topics = counts.iter().map(|(topic, count)| (topic.as_str(), *count, of_topic(topic)));
    topics.filter(|(_, _, subscribers): &(_, _, Vec<usize>)| !subscribers.is_empty()).collect()
}
