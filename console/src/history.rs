//! The last hour in few numbers, so that a page has curves as soon as it is opened.
//!
//! Invariant: a bounded number of samples, each of a bounded size; one is taken every ten seconds, which costs a scrape.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use pillion_broker::SnapshotLimits;
use serde::Serialize;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::process;
use crate::watched::Watched;

/// Between two samples.
const EVERY: Duration = Duration::from_secs(10);
/// Samples kept: an hour.
const SAMPLES_MAX: usize = 360;
/// Groups whose lag is kept, the first by name.
const LIMITS: SnapshotLimits = SnapshotLimits { topics: 0, groups: 50, topics_of_group: 100 };

/// One moment. Counters begin with the process; whoever draws makes rates of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sample {
    /// When, in milliseconds since the Unix epoch.
    pub(crate) at_ms: i64,
    pub(crate) appended_records: u64,
    pub(crate) appended_bytes: u64,
    pub(crate) fetched_bytes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) connections: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) cpu_seconds: f64,
    /// Records each group is behind.
    pub(crate) group_lag: BTreeMap<String, u64>,
    /// How each connector is doing.
    pub(crate) connectors: BTreeMap<String, ConnectorSample>,
}

/// A connector at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorSample {
    pub(crate) published: u64,
    pub(crate) lag_bytes: u64,
    pub(crate) lag_ms: i64,
    pub(crate) retained_bytes: u64,
}

/// The samples, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    samples: Mutex<VecDeque<Sample>>,
}

impl History {
    /// Takes samples until `stop`.
    pub(crate) async fn keep(&self, watched: Watched, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return,
            }
            let watched = watched.clone();
            if let Ok(sample) = tokio::task::spawn_blocking(move || take(&watched)).await {
                self.add(sample);
            }
        }
    }

    /// All samples.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().iter().cloned().collect()
    }

    fn add(&self, sample: Sample) {
        let mut samples = self.samples.lock();
        if samples.len() == SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn take(watched: &Watched) -> Sample {
    let at_ms = now_ms();
    let mut sample = Sample { at_ms, ..Sample::default() };
    if let Some(process) = process::look() {
        sample.resident_bytes = process.resident_bytes;
        sample.cpu_seconds = process.cpu_seconds;
    }
    if let Some(broker) = watched.broker().and_then(|broker| broker.snapshot(LIMITS)) {
        sample.appended_records = broker.appended_records;
        sample.appended_bytes = broker.appended_bytes;
        sample.fetched_bytes = broker.fetched_bytes;
        sample.log_bytes = broker.log_bytes;
        sample.connections = broker.network.connections_open;
        let lag = broker.groups.into_iter().map(|group| (group.name, group.topics.iter().map(|topic| topic.lag).sum()));
        sample.group_lag = lag.collect();
    }
    for connector in watched.connectors() {
        let seen = connector.status.snapshot();
        let sampled = ConnectorSample {
            published: seen.rows_published,
            lag_bytes: seen.lag_bytes,
            lag_ms: seen.lag_ms(at_ms),
            retained_bytes: seen.retained_bytes,
        };
        sample.connectors.insert(connector.name, sampled);
    }
    sample
}

#[cfg(test)]
mod tests;
