//! The topics in service, as every request sees them: one immutable snapshot, replaced as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use uuid::Uuid;

use crate::partition::Partition;
use crate::topic_config::TopicConfig;

/// A topic in service.
pub(crate) struct Topic {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its id.
    pub(crate) id: Uuid,
    /// Its partitions, by number.
    pub(crate) partitions: Vec<Arc<Partition>>,
    /// Its settings.
    pub(crate) config: TopicConfig,
}

impl Topic {
    /// A partition by number.
    pub(crate) fn partition(&self, index: i32) -> Option<&Arc<Partition>> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    /// Whether it is one of the broker's own.
    pub(crate) fn is_internal(&self) -> bool {
        is_internal(&self.name)
    }
}

/// Whether a topic of this name is one of the broker's own.
pub(crate) fn is_internal(name: &str) -> bool {
    matches!(name, "__consumer_offsets" | "__transaction_state")
}

/// All topics, by name and by id.
#[derive(Default, Clone)]
pub(crate) struct TopicsSnapshot {
    by_name: HashMap<Arc<str>, Arc<Topic>>,
    by_id: HashMap<Uuid, Arc<Topic>>,
}

impl TopicsSnapshot {
    /// A topic by name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    /// A topic by id.
    pub(crate) fn by_id(&self, id: &Uuid) -> Option<&Arc<Topic>> {
        self.by_id.get(id)
    }

    /// All topics, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.values()
    }

    /// All topics, in the order of their names.
    pub(crate) fn sorted(&self) -> Vec<Arc<Topic>> {
        let mut topics: Vec<_> = self.by_name.values().cloned().collect();
        topics.sort_by(|left, right| left.name.cmp(&right.name));
        topics
    }

    fn insert(&mut self, topic: Arc<Topic>) {
        self.by_id.insert(topic.id, Arc::clone(&topic));
        self.by_name.insert(Arc::clone(&topic.name), topic);
    }

    fn remove(&mut self, name: &str) {
        if let Some(topic) = self.by_name.remove(name) {
            self.by_id.remove(&topic.id);
        }
    }
}

/// The snapshot in force.
#[derive(Default)]
pub(crate) struct Topics {
    current: RwLock<Arc<TopicsSnapshot>>,
}

impl Topics {
    /// The snapshot in force.
    pub(crate) fn snapshot(&self) -> Arc<TopicsSnapshot> {
        Arc::clone(&self.current.read())
    }

    /// A topic by name.
    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<Topic>> {
        self.current.read().by_name(name).cloned()
    }

    /// Adds topics, replacing those of the same name.
    pub(crate) fn add(&self, topics: impl IntoIterator<Item = Arc<Topic>>) {
        self.change(|snapshot| topics.into_iter().for_each(|topic| snapshot.insert(topic)));
    }

    /// Takes topics out of service.
    pub(crate) fn remove(&self, names: &[&str]) {
        self.change(|snapshot| names.iter().for_each(|name| snapshot.remove(name)));
    }

    fn change(&self, change: impl FnOnce(&mut TopicsSnapshot)) {
        let mut current = self.current.write();
        let mut snapshot = TopicsSnapshot::clone(&current);
        change(&mut snapshot);
        *current = Arc::new(snapshot);
    }
}
