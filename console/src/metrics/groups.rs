//! Consumer groups: members, and lag by topic.

use pillion_broker::BrokerSnapshot;

use crate::exposition::{Exposition, Kind};

/// Writes the groups' numbers.
pub(super) fn write(exposition: &mut Exposition, seen: &BrokerSnapshot) {
    let mut members = exposition.family(Kind::Gauge, "pillion_group_members", "Members of the group.");
    for group in &seen.groups {
        members.series(&[("group", &group.name)], group.members);
    }
    let mut lag = exposition.family(
        Kind::Gauge,
        "pillion_group_lag_records",
        "Offsets between what the group has committed of the topic and its high watermarks, added up over partitions.",
    );
    for group in &seen.groups {
        for topic in &group.topics {
            lag.series(&[("group", &group.name), ("topic", &topic.topic)], topic.lag);
        }
    }
    exposition.gauge(
        "pillion_groups_without_series",
        "Groups that have no series of their own: there are more than a scrape lists.",
        seen.group_count.saturating_sub(seen.groups.len()),
    );
}
