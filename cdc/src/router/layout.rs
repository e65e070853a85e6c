//! Where an outbox table has the columns the options name.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use super::options::RouterOptions;
use super::placement::{NamedPlacement, Target};
use super::value::ValueKind;
use crate::pgoutput::{Cell, Relation};

/// One table's columns by what they mean to the router; valid until the table is described anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLayout {
    /// Schema-qualified name, for messages.
    pub(super) table: String,
    /// Its columns' names, in the order of a row's values.
    pub(super) columns: Vec<String>,
    pub(super) id: Position,
    pub(super) key: Position,
    pub(super) payload: Position,
    pub(super) route_by: Position,
    pub(super) timestamp: Option<Position>,
    pub(super) span_context: Option<Position>,
    pub(super) additional: Vec<PlacedColumn>,
}

/// A column's place in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) index: usize,
    pub(super) kind: ValueKind,
}

/// A column with a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedColumn {
    pub(super) position: Position,
    pub(super) target: Target,
    pub(super) name: Arc<str>,
}

/// A table lacks a column that an option names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "table {table} has no column `{column}`, which {option} names; name another column there, or take the table out of the publication"
)]
pub struct LayoutError {
    /// Schema-qualified name.
    pub table: String,
    /// The missing column.
    pub column: String,
    /// The option whose value (given or default) names it.
    pub option: &'static str,
}

impl TableLayout {
    pub(super) fn new(
        options: &RouterOptions,
        placements: &[NamedPlacement],
        relation: &Relation,
    ) -> Result<TableLayout, LayoutError> {
        let table = format!("{}.{}", relation.schema, relation.name);
        let find = |column: &str| {
            let index = relation.columns.iter().position(|candidate| candidate.name == column)?;
            let found = &relation.columns[index];
            Some(Position { index, kind: ValueKind::of_type(found.type_id, found.type_modifier) })
        };
        let need = |column: &str, option: &'static str| {
            find(column).ok_or_else(|| LayoutError { table: table.clone(), column: column.to_owned(), option })
        };
        let id = need(&options.event_id, "table.field.event.id")?;
        let key = need(&options.event_key, "table.field.event.key")?;
        let payload = need(&options.event_payload, "table.field.event.payload")?;
        let route_by = need(&options.route_by, "route.by.field")?;
        if let Some(column) = &options.schema_version {
            need(column, "table.field.event.schema.version")?;
        }
        let mut additional = Vec::new();
        for placement in placements {
            let option = match options.additional {
                Some(_) => "table.fields.additional.placement",
                None => "table.field.event.type",
            };
            match need(&placement.column, option) {
                Ok(position) => {
                    let name = Arc::clone(&placement.name);
                    additional.push(PlacedColumn { position, target: placement.target, name });
                }
                Err(error) if options.additional_error_on_missing => return Err(error),
                Err(_) => {}
            }
        }
        Ok(TableLayout {
            columns: relation.columns.iter().map(|column| column.name.clone()).collect(),
            id,
            key,
            payload,
            route_by,
            timestamp: match &options.event_timestamp {
                Some(column) => Some(need(column, "table.field.event.timestamp")?),
                None => None,
            },
            span_context: find(&options.span_context),
            additional,
            table,
        })
    }

    /// The text of a row's id, for messages about a row that could not be routed.
    pub fn id_of(&self, row: &[Cell]) -> Option<Bytes> {
        match row.get(self.id.index) {
            Some(Cell::Text(id)) => Some(id.clone()),
            _ => None,
        }
    }

    /// The table's schema-qualified name.
    pub fn table(&self) -> &str {
        &self.table
    }
}
