//! The tables a session has described: outbox tables with their layout, and others that are passed over.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ConnectorError;
use crate::config::ConnectorConfig;
use crate::pgoutput::{Operation, Relation};
use crate::quoting::TableName;
use crate::router::{InvalidOperation, Router, TableLayout};

/// More tables than any publication of outboxes has: a bound on memory, not a feature.
const TABLES_MAX: usize = 10_000;

/// Tables by object id; a new session describes them anew.
pub(super) struct Tables {
    included: HashSet<TableName>,
    invalid_operation: InvalidOperation,
    by_id: HashMap<u32, Table>,
    said: HashSet<(u32, Operation)>,
}

/// One table.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) name: Arc<str>,
    /// None for a table that is not one of the connector's.
    pub(super) layout: Option<Arc<TableLayout>>,
}

impl Tables {
    pub(super) fn new(config: &ConnectorConfig) -> Tables {
        Tables {
            included: config.tables.iter().cloned().collect(),
            invalid_operation: config.router.invalid_operation,
            by_id: HashMap::new(),
            said: HashSet::new(),
        }
    }

    /// Takes a description, in place of an earlier one of the same table.
    pub(super) fn describe(&mut self, router: &Router, relation: &Relation) -> Result<(), ConnectorError> {
        let name = TableName { schema: relation.schema.clone(), name: relation.name.clone() };
        let layout = match self.included.contains(&name) {
            true => Some(Arc::new(router.layout(relation)?)),
            false => {
                tracing::warn!(table = %name, "the publication covers a table that is not in table.include.list; its rows are ignored");
                None
            }
        };
        if self.by_id.len() >= TABLES_MAX && !self.by_id.contains_key(&relation.id) {
            return Err(ConnectorError::Protocol(format!("the publication covers more than {TABLES_MAX} tables")));
        }
        self.by_id.insert(relation.id, Table { name: name.to_string().into(), layout });
        Ok(())
    }

    pub(super) fn get(&self, id: u32) -> Result<&Table, ConnectorError> {
        self.by_id.get(&id).ok_or_else(|| ConnectorError::Protocol(format!("a row of table {id}, never described")))
    }

    /// A change that is not an insert: nothing for a DELETE, which is how an outbox is emptied; for others what
    /// `table.op.invalid.behavior` says, once a table and session.
    pub(super) fn other_operation(&mut self, operation: Operation, ids: &[u32]) -> Result<(), ConnectorError> {
        if operation == Operation::Delete {
            return Ok(());
        }
        for id in ids {
            let table = self.get(*id)?.clone();
            if table.layout.is_none() {
                continue;
            }
            if self.invalid_operation == InvalidOperation::Fatal {
                return Err(ConnectorError::InvalidOperation { table: table.name, operation: operation.name() });
            }
            if !self.said.insert((*id, operation)) {
                continue;
            }
            let (table, operation) = (table.name, operation.name());
            let message = "an outbox table takes inserts and deletes only; others of this kind are ignored silently";
            match self.invalid_operation {
                InvalidOperation::Error => tracing::error!(%table, operation, message),
                _ => tracing::warn!(%table, operation, message),
            }
        }
        Ok(())
    }
}
