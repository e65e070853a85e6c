//! What a consumer has seen, held against what was committed: nothing lost, nothing twice, each key in order.

use std::collections::{HashMap, HashSet};
use std::fmt;

/// One event at a consumer, or one row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// The event's id.
    pub id: String,
    /// Its key, of which one writer at a time writes.
    pub key: String,
    /// Its number among those of its key, which rises.
    pub number: i64,
}

/// Something that exactly once and in order forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// An event that was seen before.
    Repeated(Event),
    /// An event below one of its key that was seen before.
    SteppedBack(Event, i64),
    /// An event that nobody committed.
    Unknown(Event),
    /// A committed row that was not seen.
    Lost(Event),
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated(Event { id, key, number }) => write!(formatter, "repeated: {key} {number} ({id})"),
            Self::SteppedBack(Event { id, key, number }, last) => {
                write!(formatter, "stepped back: {key} {number} ({id}) behind {last}")
            }
            Self::Unknown(Event { id, key, number }) => write!(formatter, "never committed: {key} {number} ({id})"),
            Self::Lost(Event { id, key, number }) => write!(formatter, "lost: {key} {number} ({id})"),
        }
    }
}

/// What was seen so far.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    seen: HashSet<Event>,
    ids: HashSet<String>,
    last: HashMap<String, i64>,
    breaches: Vec<Breach>,
}

impl Ledger {
    /// Takes the next event in the consumer's order: what it breaks.
    pub fn take(&mut self, event: Event) -> Option<Breach> {
        let last = self.last.entry(event.key.clone()).or_insert(i64::MIN);
        let breach = if !self.ids.insert(event.id.clone()) {
            Some(Breach::Repeated(event.clone()))
        } else if event.number <= *last {
            Some(Breach::SteppedBack(event.clone(), *last))
        } else {
            None
        };
        *last = (*last).max(event.number);
        self.seen.insert(event);
        self.breaches.extend(breach.clone());
        breach
    }

    /// How many events were seen, each counted once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// Whether this event was seen.
    #[must_use]
    pub fn has(&self, event: &Event) -> bool {
        self.seen.contains(event)
    }

    /// Everything that is wrong, now that these rows are all that was committed.
    #[must_use]
    pub fn audit(&self, committed: &HashSet<Event>) -> Vec<Breach> {
        let lost = committed.iter().filter(|row| !self.seen.contains(row)).cloned().map(Breach::Lost);
        let unknown = self.seen.iter().filter(|event| !committed.contains(event)).cloned().map(Breach::Unknown);
        self.breaches.iter().cloned().chain(lost).chain(unknown).collect()
    }
}

#[cfg(test)]
mod tests;
