//! Opening the partitions of all topics at start: several at once, for each waits for the disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::catalogue::{Topic, is_internal};
use crate::checkpoints::Checkpoints;
use crate::log::{Log, LogConfig};
use crate::partition::{Partition, PartitionShared};
use crate::topic_config::TopicConfig;

/// A topic to be opened.
pub(crate) struct KnownTopic {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) partitions: i32,
    pub(crate) config: TopicConfig,
}

/// Opens every partition, on up to `threads` threads. One whose log cannot be opened is offline; the others are
/// served.
pub(crate) fn open_topics(
    topics: Vec<KnownTopic>,
    root: &Path,
    checkpoints: &Checkpoints,
    shared: &Arc<PartitionShared>,
    threads: usize,
) -> Vec<Arc<Topic>> {
    let configs: Vec<_> = topics.iter().map(|topic| Arc::new(LogConfig::from(&topic.config))).collect();
    let mut work: Vec<(&KnownTopic, &Arc<LogConfig>, i32)> = Vec::new();
    for (topic, config) in topics.iter().zip(&configs) {
        work.extend((0..topic.partitions).map(|index| (topic, config, index)));
    }
    let opened: Vec<Mutex<Option<Arc<Partition>>>> = work.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let open_some = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((topic, config, index)) = work.get(place) else { return };
            *opened[place].lock() = Some(open_partition(topic, *index, config, root, checkpoints, shared));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(work.len()) {
            scope.spawn(open_some);
        }
        open_some();
    });
    let mut opened = opened.into_iter().filter_map(Mutex::into_inner);
    topics
        .into_iter()
        .map(|topic| {
            let partitions = opened.by_ref().take(usize::try_from(topic.partitions).unwrap_or(0)).collect();
            Arc::new(Topic { name: topic.name, id: topic.id, partitions, config: topic.config })
        })
        .collect()
}

fn open_partition(
    topic: &KnownTopic,
    index: i32,
    config: &Arc<LogConfig>,
    root: &Path,
    checkpoints: &Checkpoints,
    shared: &Arc<PartitionShared>,
) -> Arc<Partition> {
    let directory = root.join(format!("{}-{index}", topic.name));
    let (name, shared) = (Arc::clone(&topic.name), Arc::clone(shared));
    let internal = is_internal(&name);
    let opening = checkpoints.opening(&name, index);
    let files = Arc::clone(&shared.files);
    Arc::new(match Log::open(Arc::clone(&files), &directory, topic.id, Arc::clone(config), opening) {
        Ok(log) => Partition::new(name, index, internal, log, shared),
        Err(error) => {
            let log = Log::nothing(files, &directory, topic.id, Arc::clone(config));
            Partition::offline(name, index, internal, log, (&error, opening), shared)
        }
    })
}
