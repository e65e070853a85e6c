//! Which names new topics cannot have, for others have them.

use std::collections::HashMap;

use super::TopicChangeError;
use crate::catalogue::TopicsSnapshot;

/// Names that are taken, as metric names have them: with underscores for dots.
pub(crate) struct NamesTaken(HashMap<String, String>);

impl NamesTaken {
    /// Those of all topics.
    pub(crate) fn of(topics: &TopicsSnapshot) -> Self {
        let names = topics.all().map(|topic| &*topic.name).filter(|name| has_both_spellings(name));
        Self(names.map(|name| (name.replace('.', "_"), name.to_owned())).collect())
    }

    /// Takes a name.
    ///
    /// # Errors
    /// [`TopicChangeError::Exists`] and [`TopicChangeError::Collides`].
    pub(crate) fn take(&mut self, topics: &TopicsSnapshot, name: &str) -> Result<(), TopicChangeError> {
        self.check(topics, name)?;
        if has_both_spellings(name) {
            self.0.insert(name.replace('.', "_"), name.to_owned());
        }
        Ok(())
    }

    /// Checks a name without taking it.
    ///
    /// # Errors
    /// As [`NamesTaken::take`].
    pub(crate) fn check(&self, topics: &TopicsSnapshot, name: &str) -> Result<(), TopicChangeError> {
        if topics.by_name(name).is_some() {
            return Err(TopicChangeError::Exists(name.to_owned()));
        }
        if !has_both_spellings(name) {
            return Ok(());
        }
        match self.0.get(&name.replace('.', "_")) {
            Some(existing) if existing == name => Err(TopicChangeError::Exists(name.to_owned())),
            Some(existing) => Err(TopicChangeError::Collides { name: name.to_owned(), existing: existing.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether another name could become the same.
fn has_both_spellings(name: &str) -> bool {
    name.contains(['.', '_'])
}
