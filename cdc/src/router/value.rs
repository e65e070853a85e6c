//! One value of a row and what it looks like in a record: Postgres' text, except where Debezium's converters print a
//! type otherwise.
//!
//! | type | key, value (StringConverter) | header (SimpleHeaderConverter) | in JSON (JsonConverter) |
//! |-|-|-|-|
//! | bytea | its bytes (Debezium: a Java object's name) | base64 | base64 |
//! | boolean | `true` | `true` | `true` |
//! | timestamp(4..6) | microseconds since 1970 | same | number |
//! | timestamp(0..3) | milliseconds since 1970 | same | number |
//! | timestamptz | `2026-01-02T03:04:05.678901Z` | same | string |
//! | date | days since 1970 | same | number |
//! | time(4..6), time(0..3) | microseconds, milliseconds since midnight | same | number |
//! | real, double precision | as Java prints it | same | number, `"NaN"` |
//! | integers | digits | same | number |
//! | all others, arrays and numeric among them | Postgres' text | same | string |

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::error::RouteError;
use super::{json, timestamp};

/// What a value's text means, where it matters for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Text, or a type that is passed on as Postgres prints it.
    Text,
    /// `t` or `f`.
    Boolean,
    /// Digits, or a number as it stands in JSON.
    Number,
    /// `real`.
    Float,
    /// `double precision`.
    Double,
    /// `\x` and hexadecimal digits.
    Bytea,
    /// `timestamp without time zone`, and whether three digits of the second or fewer are kept.
    Timestamp { is_millis: bool },
    /// `timestamp with time zone`.
    TimestampWithZone,
    /// `date`.
    Date,
    /// `time without time zone`, and whether three digits of the second or fewer are kept.
    Time { is_millis: bool },
}

impl ValueKind {
    /// By `pg_type.oid`, built-in types have fixed ones (`pg_type.dat`), and `pg_attribute.atttypmod`.
    pub(super) fn of_type(type_id: u32, modifier: i32) -> ValueKind {
        let is_millis = (0..=3).contains(&modifier);
        match type_id {
            16 => ValueKind::Boolean,
            17 => ValueKind::Bytea,
            20 | 21 | 23 => ValueKind::Number,
            700 => ValueKind::Float,
            701 => ValueKind::Double,
            1082 => ValueKind::Date,
            1083 => ValueKind::Time { is_millis },
            1114 => ValueKind::Timestamp { is_millis },
            1184 => ValueKind::TimestampWithZone,
            _ => ValueKind::Text,
        }
    }
}

/// A value that is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'r> {
    pub(super) text: &'r Bytes,
    pub(super) kind: ValueKind,
}

/// What a value is printed as.
enum Printed {
    /// A number or a boolean of JSON.
    Plain(Bytes),
    Text(Bytes),
    Binary(Bytes),
}

impl Value<'_> {
    /// As it stands in a key or a value.
    pub(super) fn bytes(self) -> Result<Bytes, RouteError> {
        Ok(match self.printed()? {
            Printed::Plain(bytes) | Printed::Text(bytes) | Printed::Binary(bytes) => bytes,
        })
    }

    /// As it stands in a header.
    pub(super) fn header(self) -> Result<Bytes, RouteError> {
        Ok(match self.printed()? {
            Printed::Plain(bytes) | Printed::Text(bytes) => bytes,
            Printed::Binary(bytes) => STANDARD.encode(bytes).into(),
        })
    }

    /// As it stands in JSON.
    pub(super) fn push_json(self, json: &mut String) -> Result<(), RouteError> {
        match self.printed()? {
            Printed::Plain(bytes) => json.push_str(utf8(&bytes, "enveloped column")?),
            Printed::Text(bytes) => json::push_string(json, utf8(&bytes, "enveloped column")?),
            Printed::Binary(bytes) => json::push_string(json, &STANDARD.encode(bytes)),
        }
        Ok(())
    }

    /// Its text as Postgres printed it.
    pub(super) fn utf8(&self, field: &'static str) -> Result<&str, RouteError> {
        utf8(self.text, field)
    }

    fn printed(self) -> Result<Printed, RouteError> {
        let text = || std::str::from_utf8(self.text).ok();
        let number = |number: Option<i64>| number.map(|number| Printed::Plain(number.to_string().into()));
        let millis = |is_millis, micros: i64| if is_millis { micros.div_euclid(1000) } else { micros };
        let special = match self.kind {
            ValueKind::Text => None,
            ValueKind::Number => Some(Printed::Plain(self.text.clone())),
            ValueKind::Boolean => {
                let text: &[u8] = if self.text.as_ref() == b"t" { b"true" } else { b"false" };
                Some(Printed::Plain(Bytes::from_static(text)))
            }
            ValueKind::Bytea => Some(Printed::Binary(bytea(self.text).ok_or(RouteError::Bytea)?)),
            ValueKind::Float => text().and_then(|text| text.parse().ok()).map(|number: f32| {
                let text = json::float_text(number).into();
                if number.is_finite() { Printed::Plain(text) } else { Printed::Text(text) }
            }),
            ValueKind::Double => text().and_then(|text| text.parse().ok()).map(|number: f64| {
                let text = json::double_text(number).into();
                if number.is_finite() { Printed::Plain(text) } else { Printed::Text(text) }
            }),
            ValueKind::Timestamp { is_millis } => {
                number(text().and_then(timestamp::unix_micros).map(|micros| millis(is_millis, micros)))
            }
            ValueKind::Date => number(text().and_then(timestamp::unix_days)),
            ValueKind::Time { is_millis } => {
                number(text().and_then(timestamp::micros_of_day).map(|micros| millis(is_millis, micros)))
            }
            ValueKind::TimestampWithZone => {
                text().and_then(timestamp::unix_micros).map(|micros| Printed::Text(timestamp::iso_text(micros).into()))
            }
        };
        // A time beyond what the number can say (infinity, BC) stays Postgres' text.
        Ok(special.unwrap_or_else(|| Printed::Text(self.text.clone())))
    }
}

fn bytea(text: &[u8]) -> Option<Bytes> {
    let digits = text.strip_prefix(b"\\x")?;
    if digits.len() % 2 == 1 {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    digits.chunks_exact(2).map(|pair| u8::try_from(nibble(pair[0])? << 4 | nibble(pair[1])?).ok()).collect()
}

fn utf8<'b>(bytes: &'b [u8], field: &'static str) -> Result<&'b str, RouteError> {
    std::str::from_utf8(bytes).map_err(|_| RouteError::NotUtf8 { field })
}
