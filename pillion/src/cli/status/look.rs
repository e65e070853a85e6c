//! One look at a cluster and its connectors.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Result;
use pillion_cdc::ConnectorConfig;
use pillion_cdc::outbox::{self, Health};
use pillion_client::{Admin, AdminError, Client, ClusterDescription, ListedOffset, LogDirectory, Offset};

use super::console::{self, Overview};
use crate::cli::group::{GroupLag, lag_of};

/// Groups asked about, at most: each is some requests.
const GROUPS_MAX: usize = 200;

/// What there was to see.
pub(super) struct Look {
    /// When it was begun.
    pub(super) at: Instant,
    pub(super) cluster: ClusterDescription,
    /// Of each broker, or why it does not tell.
    pub(super) directories: BTreeMap<i32, Result<Vec<LogDirectory>, String>>,
    pub(super) topics: Vec<Topic>,
    pub(super) groups: Vec<GroupLag>,
    /// Groups beyond [`GROUPS_MAX`].
    pub(super) groups_left_out: usize,
    pub(super) connectors: Vec<Connector>,
    pub(super) console: Option<Overview>,
}

/// A topic.
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) is_internal: bool,
    pub(super) partitions: i32,
    /// Offsets between the log starts and the high watermarks.
    pub(super) records: i64,
    /// The sum of the high watermarks.
    pub(super) end: i64,
    /// Bytes on all brokers, replicas included.
    pub(super) bytes: u64,
    /// Why its offsets are not known.
    pub(super) problem: Option<String>,
}

/// A connector, and what Postgres and the cluster say of it.
pub(super) struct Connector {
    pub(super) name: String,
    pub(super) config: ConnectorConfig,
    pub(super) health: Result<Health, String>,
}

impl Look {
    /// Asks for all of it. What a single topic, group or connector does not tell is noted there.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub(super) async fn take(client: &Client, connectors: &[(String, ConnectorConfig)], console: &str) -> Result<Self> {
        let (at, admin) = (Instant::now(), client.admin());
        let cluster = admin.describe_cluster().await?;
        let mut directories = BTreeMap::new();
        for broker in &cluster.brokers {
            let described = admin.describe_log_directories(broker.id).await.map_err(|error| error.to_string());
            directories.insert(broker.id, described);
        }
        let topics = topics(&admin, &directories).await?;
        let mut listed = admin.list_groups().await?;
        let groups_left_out = listed.len().saturating_sub(GROUPS_MAX);
        listed.truncate(GROUPS_MAX);
        let mut groups = Vec::with_capacity(listed.len());
        for group in listed {
            // One that ended in between is left out.
            groups.extend(lag_of(&admin, &group.group_id).await.ok());
        }
        let mut asked = Vec::with_capacity(connectors.len());
        for (name, config) in connectors {
            let health = outbox::health(config).await.map_err(|error| format!("{:#}", anyhow::Error::new(error)));
            asked.push(Connector { name: name.clone(), config: config.clone(), health });
        }
        let console = console::ask(console, &cluster.cluster_id).await;
        Ok(Self { at, cluster, directories, topics, groups, groups_left_out, connectors: asked, console })
    }
}

async fn topics(
    admin: &Admin,
    directories: &BTreeMap<i32, Result<Vec<LogDirectory>, String>>,
) -> Result<Vec<Topic>, AdminError> {
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    let partitions = directories.values().flatten().flatten().flat_map(|directory| &directory.partitions);
    partitions.for_each(|(topic, _, size)| *bytes.entry(topic).or_default() += size);
    let mut topics = Vec::new();
    for listed in admin.list_topics().await? {
        let mut topic = Topic {
            bytes: bytes.get(listed.name.as_str()).copied().unwrap_or(0),
            name: listed.name,
            is_internal: listed.is_internal,
            partitions: listed.partitions,
            records: 0,
            end: 0,
            problem: None,
        };
        // A broker's own topics have fifty partitions that nobody asks about.
        if !topic.is_internal {
            match bounds(admin, &topic.name).await {
                Ok((start, end)) => (topic.records, topic.end) = (end - start, end),
                Err(error) => topic.problem = Some(error.to_string()),
            }
        }
        topics.push(topic);
    }
    Ok(topics)
}

/// The sums of the log starts and of the high watermarks.
async fn bounds(admin: &Admin, topic: &str) -> Result<(i64, i64), AdminError> {
    let sum = |listed: Vec<ListedOffset>| listed.iter().filter_map(|one| one.offset).sum::<i64>();
    let starts = sum(admin.list_offsets(topic, Offset::Earliest).await?);
    Ok((starts, sum(admin.list_offsets(topic, Offset::Latest).await?)))
}
