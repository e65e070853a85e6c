//! Range: each topic's partitions in as many ranges as it has members; the first ones get one more where it does not
//! come out even.

use std::collections::{BTreeMap, BTreeSet};

use super::{Member, TopicPartition, subscribers};

pub(super) fn assign(members: &[&Member], counts: &BTreeMap<String, i32>) -> Vec<BTreeSet<TopicPartition>> {
    let mut shares = vec![BTreeSet::new(); members.len()];
    for (topic, count, subscribers) in subscribers(members, counts) {
        let members = i32::try_from(subscribers.len()).unwrap_or(i32::MAX);
        let (each, extra) = (count / members, count % members);
        let mut next = 0;
        for (rank, member) in (0..).zip(subscribers) {
            let size = each + i32::from(rank < extra);
            shares[member].extend((next..next + size).map(|partition| TopicPartition::new(topic, partition)));
            next += size;
        }
    }
    shares
}
