//! Looks at a running broker from outside, without keeping it alive.

use std::sync::{Arc, Weak};

use crate::broker::BrokerState;
use crate::catalogue::TopicsSnapshot;
use crate::clock::now_ms;
use crate::dispatch::APIS;
use crate::transactions::shard::Listed;
use crate::transactions::state::TransactionState;

use super::snapshot::{
    ApiSnapshot, BrokerSnapshot, DiskSnapshot, GroupSnapshot, GroupTopicSnapshot, NetworkSnapshot, SnapshotLimits,
    TopicSnapshot,
};

/// Looks at a broker: cheap to clone, and of no consequence to it.
#[derive(Clone)]
pub struct BrokerObserver {
    state: Weak<BrokerState>,
}

/// Why a broker does not serve everything it is there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unready {
    /// It has stopped.
    Stopped,
    /// Groups or transactional ids are still being read.
    Loading(&'static str),
    /// Producers are refused: the disk is nearly full.
    DiskFull {
        /// Bytes free.
        free_bytes: u64,
        /// Bytes that must be.
        free_bytes_min: u64,
    },
}

impl BrokerObserver {
    pub(crate) fn new(state: &Arc<BrokerState>) -> Self {
        Self { state: Arc::downgrade(state) }
    }

    /// Everything that keeps the broker from serving as it should; nothing when all is well. Partitions that are offline
    /// are not among it: others are served, and a restart without a look at the disk would not mend them.
    #[must_use]
    pub fn unready(&self) -> Vec<Unready> {
        let Some(state) = self.state.upgrade() else { return vec![Unready::Stopped] };
        let mut reasons = Vec::new();
        if state.groups.shards().any(|shard| shard.ask(|_, _| ()).is_err()) {
            reasons.push(Unready::Loading("consumer groups"));
        }
        if state.transactions.shards().any(|shard| shard.ask(|_, _| ()).is_err()) {
            reasons.push(Unready::Loading("transactional ids"));
        }
        if let Some(DiskSnapshot { free_bytes, free_bytes_min, .. }) = disk(&state)
            && free_bytes < free_bytes_min
        {
            reasons.push(Unready::DiskFull { free_bytes, free_bytes_min });
        }
        reasons
    }

    /// One look; `None` once the broker has stopped. Takes each partition's lock for an instant: ten thousand take a few
    /// milliseconds, so it is called on a thread that may block.
    #[must_use]
    pub fn snapshot(&self, limits: SnapshotLimits) -> Option<BrokerSnapshot> {
        let state = self.state.upgrade()?;
        let topics = state.topics.snapshot();
        let metrics = &*state.metrics;
        let mut snapshot = BrokerSnapshot {
            cluster_id: state.cluster_id.clone(),
            node_id: state.config.node_id,
            apis: apis(&state),
            network: network(&state),
            syncs: metrics.syncs.snapshot(),
            sync_failures: metrics.sync_failures.get(),
            unsynced_bytes: state.partitions.dirty.bytes(),
            appended_records: metrics.appended_records.get(),
            appended_bytes: metrics.appended_bytes.get(),
            fetched_bytes: metrics.fetched_bytes.get(),
            disk: disk(&state),
            open_transactions: open_transactions(&state),
            ..BrokerSnapshot::default()
        };
        add_topics(&mut snapshot, &topics, limits);
        add_groups(&mut snapshot, &state, &topics, limits);
        Some(snapshot)
    }
}

fn apis(state: &BrokerState) -> Vec<ApiSnapshot> {
    let asked = APIS.iter().zip(&state.metrics.requests).map(|(api, latency)| (api.name, latency.snapshot()));
    asked.filter(|(_, latency)| latency.count() > 0).map(|(name, latency)| ApiSnapshot { name, latency }).collect()
}

fn network(state: &BrokerState) -> NetworkSnapshot {
    let metrics = &*state.metrics;
    // The end is read first: it is never ahead of the beginning.
    let closed = metrics.connections_closed.get();
    let connections_opened = metrics.connections_opened.get();
    NetworkSnapshot {
        received_bytes: metrics.received_bytes.get(),
        sent_bytes: metrics.sent_bytes.get(),
        connections_opened,
        connections_open: connections_opened.saturating_sub(closed),
        connections_refused: metrics.connections_refused.get(),
        protocol_errors: metrics.protocol_errors.get(),
        request_bytes: state.request_memory.in_use(),
    }
}

fn disk(state: &BrokerState) -> Option<DiskSnapshot> {
    let (space, free_bytes_min) = state.partitions.space.look(state.partitions.disk())?;
    Some(DiskSnapshot { free_bytes: space.free, total_bytes: space.total, free_bytes_min })
}

fn open_transactions(state: &BrokerState) -> usize {
    let is_open = |state: TransactionState| state == TransactionState::Ongoing || state.is_prepared();
    let of_shard = |listed: Vec<Listed>| listed.iter().filter(|one| is_open(one.state)).count();
    state.transactions.shards().filter_map(|shard| shard.ask(|core, _| core.list(now_ms())).ok()).map(of_shard).sum()
}

fn add_topics(snapshot: &mut BrokerSnapshot, topics: &TopicsSnapshot, limits: SnapshotLimits) {
    for topic in topics.sorted() {
        let mut seen = TopicSnapshot {
            name: topic.name.to_string(),
            is_internal: topic.is_internal(),
            partitions: topic.partitions.len(),
            offline_partitions: 0,
            log_bytes: 0,
            log_start_offsets: 0,
            high_watermarks: 0,
            appended_records: 0,
            appended_bytes: 0,
            fetched_bytes: 0,
        };
        for partition in &topic.partitions {
            partition.add_to(&mut seen);
        }
        snapshot.topic_count += 1;
        snapshot.partition_count += seen.partitions;
        snapshot.offline_partition_count += seen.offline_partitions;
        snapshot.log_bytes += seen.log_bytes;
        if snapshot.topics.len() < limits.topics {
            snapshot.topics.push(seen);
        }
    }
}

fn add_groups(snapshot: &mut BrokerSnapshot, state: &BrokerState, topics: &TopicsSnapshot, limits: SnapshotLimits) {
    let mut listed: Vec<_> = state
        .groups
        .shards()
        .flat_map(|shard| shard.ask(|core, _| core.list()).unwrap_or_default().into_iter().map(move |one| (shard, one)))
        .collect();
    listed.sort_by(|(_, one), (_, other)| one.group_id.cmp(&other.group_id));
    snapshot.group_count = listed.len();
    for (shard, group) in listed.into_iter().take(limits.groups) {
        let seen = shard.ask(|core, _| {
            let members = core.describe(&group.group_id).map_or(0, |group| group.members.len());
            (members, core.committed_by_topic(&group.group_id, limits.topics_of_group))
        });
        let Ok((members, committed)) = seen else { continue };
        // The partitions are asked without the shard held.
        let topic = |(topic, offsets): (Arc<str>, Vec<(i32, i64)>)| {
            let held = topics.by_name(&topic);
            let lag = |(index, offset): &(i32, i64)| {
                let end =
                    held.and_then(|topic| topic.partition(*index)).map_or(0, |held| held.offsets().high_watermark);
                end.saturating_sub(*offset).max(0).unsigned_abs()
            };
            GroupTopicSnapshot {
                topic: topic.to_string(),
                partitions: offsets.len(),
                lag: offsets.iter().map(lag).sum(),
            }
        };
        let topics = committed.into_iter().map(topic).collect();
        snapshot.groups.push(GroupSnapshot {
            name: group.group_id.to_string(),
            state: group.state.name(),
            members,
            topics,
        });
    }
}
