//! The values the router needs, taken from a table's row or from an emitted message. Borrowed: nothing is copied
//! before it is known to go into the record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::error::RouteError;
use super::layout::{Position, TableLayout};
use super::options::RouterOptions;
use super::placement::{NamedPlacement, Target};
use super::value::{Value, ValueKind};
use crate::pgoutput::Cell;

/// An additional value and its place.
pub(super) struct PlacedValue<'r> {
    pub(super) target: Target,
    pub(super) name: &'r Arc<str>,
    pub(super) value: Option<Value<'r>>,
}

/// One row's values by what they mean; `None` is NULL.
pub(super) struct Fields<'r> {
    pub(super) id: Option<Value<'r>>,
    pub(super) key: Option<Value<'r>>,
    pub(super) payload: Option<Value<'r>>,
    pub(super) route_by: Option<Value<'r>>,
    pub(super) timestamp: Option<Value<'r>>,
    pub(super) span_context: Option<Value<'r>>,
    pub(super) additional: Vec<PlacedValue<'r>>,
}

impl<'r> Fields<'r> {
    pub(super) fn of_row(layout: &'r TableLayout, row: &'r [Cell]) -> Result<Fields<'r>, RouteError> {
        if row.len() != layout.columns.len() {
            return Err(RouteError::ColumnCount { expected: layout.columns.len(), found: row.len() });
        }
        let value = |position| cell(row, position);
        let additional = layout.additional.iter().map(|placed| {
            let value = value(placed.position)?;
            Ok(PlacedValue { target: placed.target, name: &placed.name, value })
        });
        Ok(Fields {
            id: value(layout.id)?,
            key: value(layout.key)?,
            payload: value(layout.payload)?,
            route_by: value(layout.route_by)?,
            timestamp: layout.timestamp.map_or(Ok(None), value)?,
            span_context: layout.span_context.map_or(Ok(None), value)?,
            additional: additional.collect::<Result<_, RouteError>>()?,
        })
    }

    pub(super) fn of_message(
        options: &RouterOptions,
        placements: &'r [NamedPlacement],
        members: &'r Members,
    ) -> Result<Fields<'r>, RouteError> {
        let value = |name: &str| members.get(name);
        let mut additional = Vec::new();
        for placement in placements {
            // A message has no fixed columns: the default placement's one may be left out.
            let asked_for = options.additional.is_some() && options.additional_error_on_missing;
            if !members.0.contains_key(&placement.column) {
                if asked_for {
                    return Err(RouteError::MissingMember { name: placement.column.clone() });
                }
                continue;
            }
            additional.push(PlacedValue {
                target: placement.target,
                value: value(&placement.column),
                name: &placement.name,
            });
        }
        Ok(Fields {
            id: value(&options.event_id),
            key: value(&options.event_key),
            payload: value(&options.event_payload),
            route_by: value(&options.route_by),
            timestamp: options.event_timestamp.as_deref().and_then(value),
            span_context: value(&options.span_context),
            additional,
        })
    }
}

/// The value in one column of a row.
pub(super) fn cell(row: &[Cell], position: Position) -> Result<Option<Value<'_>>, RouteError> {
    match row.get(position.index) {
        Some(Cell::Text(text)) => Ok(Some(Value { text, kind: position.kind })),
        Some(Cell::Null) => Ok(None),
        _ => Err(RouteError::NotText { column: position.index }),
    }
}

/// An emitted message's members by name.
pub(super) struct Members(HashMap<String, Option<(Bytes, ValueKind)>>);

impl Members {
    /// Reads a JSON object. A string is its text; anything else but null is what stands in the content.
    pub(super) fn parse(content: &Bytes) -> Result<Members, RouteError> {
        let invalid = |error: serde_json::Error| RouteError::Message { reason: error.to_string() };
        let raw: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(content).map_err(invalid)?;
        let mut members = HashMap::with_capacity(raw.len());
        for (name, raw) in raw {
            let raw = raw.get();
            let member = match raw.as_bytes().first() {
                Some(b'n') => None,
                Some(b'"') => {
                    let text: String = serde_json::from_str(raw).map_err(invalid)?;
                    Some((text.into(), ValueKind::Text))
                }
                Some(b't') => Some((Bytes::from_static(b"t"), ValueKind::Boolean)),
                Some(b'f') => Some((Bytes::from_static(b"f"), ValueKind::Boolean)),
                Some(b'-' | b'0'..=b'9') => Some((content.slice_ref(raw.as_bytes()), ValueKind::Number)),
                _ => Some((content.slice_ref(raw.as_bytes()), ValueKind::Text)),
            };
            members.insert(name.into_owned(), member);
        }
        Ok(Members(members))
    }

    /// The member's value; none if it is null or missing.
    pub(super) fn get(&self, name: &str) -> Option<Value<'_>> {
        let (text, kind) = self.0.get(name)?.as_ref()?;
        Some(Value { text, kind: *kind })
    }
}
