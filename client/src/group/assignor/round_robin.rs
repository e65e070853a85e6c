//! Round robin: all partitions in order, each to the next member in turn that wants its topic.

use std::collections::{BTreeMap, BTreeSet};

use super::{Member, TopicPartition, subscribers};

pub(super) fn assign(members: &[&Member], counts: &BTreeMap<String, i32>) -> Vec<BTreeSet<TopicPartition>> {
    let mut shares = vec![BTreeSet::new(); members.len()];
    let mut turn = 0;
    for (topic, count, subscribers) in subscribers(members, counts) {
        for partition in 0..count {
            let place = subscribers.partition_point(|member| *member < turn);
            let member = subscribers[place % subscribers.len()];
            shares[member].insert(TopicPartition::new(topic, partition));
            turn = (member + 1) % members.len();
        }
    }
    shares
}
