//! The values the router needs, taken from a table's row or from an emitted message.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::event::RouteError;
use super::layout::{Position, TableLayout};
use super::options::RouterOptions;
use super::placement::Target;
use crate::pgoutput::Cell;

/// What a value's text means, where it matters for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Text, or a type that is passed on as Postgres prints it.
    Text,
    /// `t` or `f`.
    Boolean,
    /// An integer or a floating-point number.
    Number,
    /// `\x` and hexadecimal digits.
    Bytea,
    /// `timestamp without time zone`.
    Timestamp,
    /// `timestamp with time zone`.
    TimestampWithZone,
}

impl ValueKind {
    /// By `pg_type.oid`; built-in types have fixed ones (`pg_type.dat`).
    pub(super) fn of_type(type_id: u32) -> ValueKind {
        match type_id {
            16 => ValueKind::Boolean,
            17 => ValueKind::Bytea,
            20 | 21 | 23 | 700 | 701 => ValueKind::Number,
            1114 => ValueKind::Timestamp,
            1184 => ValueKind::TimestampWithZone,
            _ => ValueKind::Text,
        }
    }
}

/// A value that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: Bytes,
    pub(super) kind: ValueKind,
}

/// An additional value and its place.
pub(super) struct PlacedValue {
    pub(super) target: Target,
    pub(super) name: String,
    pub(super) value: Option<Value>,
}

/// One row's values by what they mean; `None` is NULL.
pub(super) struct Fields {
    pub(super) id: Option<Value>,
    pub(super) key: Option<Value>,
    pub(super) payload: Option<Value>,
    pub(super) route_by: Option<Value>,
    pub(super) timestamp: Option<Value>,
    pub(super) span_context: Option<Value>,
    pub(super) additional: Vec<PlacedValue>,
}

impl Fields {
    pub(super) fn of_row(layout: &TableLayout, row: &[Cell]) -> Result<Fields, RouteError> {
        if row.len() != layout.column_count {
            return Err(RouteError::ColumnCount { expected: layout.column_count, found: row.len() });
        }
        let value = |position: Position| match &row[position.index] {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(Value { text: text.clone(), kind: position.kind })),
            Cell::Unchanged | Cell::Binary(_) => Err(RouteError::NotText { column: position.index }),
        };
        Ok(Fields {
            id: value(layout.id)?,
            key: value(layout.key)?,
            payload: value(layout.payload)?,
            route_by: value(layout.route_by)?,
            timestamp: layout.timestamp.map(value).transpose()?.flatten(),
            span_context: layout.span_context.map(value).transpose()?.flatten(),
            additional: layout
                .additional
                .iter()
                .map(|placed| {
                    let value = value(placed.position)?;
                    Ok(PlacedValue { target: placed.target, name: placed.name.clone(), value })
                })
                .collect::<Result<_, RouteError>>()?,
        })
    }

    pub(super) fn of_message(options: &RouterOptions, content: &Bytes) -> Result<Fields, RouteError> {
        let members: HashMap<String, Box<RawValue>> =
            serde_json::from_slice(content).map_err(|error| RouteError::Message { reason: error.to_string() })?;
        let value = |name: &str| members.get(name).map_or(Ok(None), |raw| json_value(raw.get()));
        let mut additional = Vec::new();
        for placement in options.placements() {
            // A message has no fixed columns: the default placement's one may be left out.
            let asked_for = options.additional.is_some() && options.additional_error_on_missing;
            if !members.contains_key(&placement.column) {
                if asked_for {
                    return Err(RouteError::MissingMember { name: placement.column });
                }
                continue;
            }
            additional.push(PlacedValue {
                target: placement.target,
                value: value(&placement.column)?,
                name: placement.name().to_owned(),
            });
        }
        Ok(Fields {
            id: value(&options.event_id)?,
            key: value(&options.event_key)?,
            payload: value(&options.event_payload)?,
            route_by: value(&options.route_by)?,
            timestamp: options.event_timestamp.as_deref().map_or(Ok(None), value)?,
            span_context: value(&options.span_context)?,
            additional,
        })
    }
}

/// A JSON string is its text; anything else but null is what stands in the content.
fn json_value(raw: &str) -> Result<Option<Value>, RouteError> {
    let value = |text: Bytes, kind| Ok(Some(Value { text, kind }));
    match raw.as_bytes().first() {
        Some(b'n') => Ok(None),
        Some(b'"') => {
            let text: String =
                serde_json::from_str(raw).map_err(|error| RouteError::Message { reason: error.to_string() })?;
            value(text.into(), ValueKind::Text)
        }
        Some(b'-' | b'0'..=b'9') => value(Bytes::copy_from_slice(raw.as_bytes()), ValueKind::Number),
        Some(b't') => value(Bytes::from_static(b"t"), ValueKind::Boolean),
        Some(b'f') => value(Bytes::from_static(b"f"), ValueKind::Boolean),
        _ => value(Bytes::copy_from_slice(raw.as_bytes()), ValueKind::Text),
    }
}
