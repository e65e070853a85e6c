//! What changed between two looks, by the second.

use std::collections::BTreeMap;

use super::look::Look;

/// Rates, each a second.
#[derive(Default)]
pub(super) struct Rates {
    /// Records appended, by topic.
    pub(super) appended: BTreeMap<String, f64>,
    /// Records read, by group: offsets committed.
    pub(super) read: BTreeMap<String, f64>,
    /// Bytes in and out of the broker that the console tells of.
    pub(super) network: Option<(f64, f64)>,
    /// Processor time of its process, as a share of one core.
    pub(super) cpu: Option<f64>,
    /// Rows published, by the name of the connector in that process.
    pub(super) published: BTreeMap<String, f64>,
}

impl Rates {
    /// Of two looks, the earlier one first.
    pub(super) fn between(before: &Look, now: &Look) -> Self {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
        let rate = |now: i64, before: i64| (now - before).max(0) as f64 / seconds;
        let mut rates = Self::default();
        for topic in &now.topics {
            if let Some(earlier) = before.topics.iter().find(|earlier| earlier.name == topic.name) {
                rates.appended.insert(topic.name.clone(), rate(topic.end, earlier.end));
            }
        }
        let committed = |look: &Look, group: &str| {
            let lag = look.groups.iter().find(|lag| lag.group.group_id == group)?;
            Some(lag.partitions.iter().filter_map(|one| one.committed.as_ref()).map(|one| one.offset).sum::<i64>())
        };
        for lag in &now.groups {
            let group = &lag.group.group_id;
            if let (Some(now), Some(before)) = (committed(now, group), committed(before, group)) {
                rates.read.insert(group.clone(), rate(now, before));
            }
        }
        if let (Some(after), Some(earlier)) = (&now.console, &before.console) {
            let bytes = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            if let (Some(after), Some(earlier)) = (&after.broker, &earlier.broker) {
                let received = bytes(after.received_bytes, earlier.received_bytes);
                rates.network = Some((received, bytes(after.sent_bytes, earlier.sent_bytes)));
            }
            if let (Some(after), Some(earlier)) = (&after.process, &earlier.process) {
                rates.cpu = Some((after.cpu_seconds - earlier.cpu_seconds).max(0.0) / seconds);
            }
            for connector in &after.connectors {
                let earlier = earlier.connectors.iter().find(|earlier| earlier.name == connector.name);
                let published = earlier.map(|earlier| bytes(connector.published, earlier.published));
                rates.published.extend(published.map(|rate| (connector.name.clone(), rate)));
            }
        }
        rates
    }
}
