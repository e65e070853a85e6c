//! The tables a replication session has described so far.
//!
//! Postgres sends a table's description before its first change in a session and again after its definition
//! changed; a new session starts with none.

use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;

use super::message::Relation;

/// More tables than any publication of outboxes has: a bound on memory, not a feature.
const RELATIONS_MAX: usize = 10_000;

/// A session described more tables than are kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the publication covers more than {RELATIONS_MAX} tables; make one for the outbox tables only")]
pub struct TooManyRelations;

/// Tables by object id. Empty at the start of a session.
#[derive(Debug, Default)]
pub struct Relations {
    by_id: HashMap<u32, Arc<Relation>>,
}

impl Relations {
    /// Takes a description; it replaces an earlier one of the same table.
    ///
    /// # Errors
    /// [`TooManyRelations`] beyond 10,000 tables.
    pub fn insert(&mut self, relation: Relation) -> Result<(), TooManyRelations> {
        if self.by_id.len() >= RELATIONS_MAX && !self.by_id.contains_key(&relation.id) {
            return Err(TooManyRelations);
        }
        self.by_id.insert(relation.id, Arc::new(relation));
        Ok(())
    }

    /// The table with this object id, if it was described.
    pub fn get(&self, id: u32) -> Option<&Arc<Relation>> {
        self.by_id.get(&id)
    }
}
