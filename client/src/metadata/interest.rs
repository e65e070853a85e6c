//! Which topics refreshes ask for: those in use lately. Pure.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A topic not used for this long is asked for no more (`metadata.max.idle.ms`).
const IDLE_MAX: Duration = Duration::from_secs(300);

/// Topics in use.
#[derive(Debug, Default)]
pub(super) struct Interest {
    topics: HashMap<String, Use>,
}

#[derive(Debug)]
struct Use {
    last: Instant,
    create: bool,
}

impl Interest {
    /// Notes a use; whether it is the first.
    pub(super) fn note(&mut self, topic: &str, create: bool, now: Instant) -> bool {
        match self.topics.get_mut(topic) {
            Some(known) => {
                known.last = now;
                known.create |= create;
                false
            }
            None => self.topics.insert(topic.to_owned(), Use { last: now, create }).is_none(),
        }
    }

    /// Topics in use that the broker may create, and those it may not; forgets the idle ones.
    pub(super) fn topics(&mut self, now: Instant) -> (Vec<String>, Vec<String>) {
        self.topics.retain(|_, used| now.saturating_duration_since(used.last) < IDLE_MAX);
        let (create, plain): (Vec<_>, Vec<_>) = self.topics.iter().partition(|(_, used)| used.create);
        let names = |topics: Vec<(&String, &Use)>| topics.into_iter().map(|(name, _)| name.clone()).collect();
        (names(create), names(plain))
    }

    /// Whether a topic is in use.
    pub(super) fn contains(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }
}
