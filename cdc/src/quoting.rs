//! Names and texts as they must stand in SQL, and what the server allows as names.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Postgres cuts longer identifiers (NAMEDATALEN - 1).
pub(crate) const IDENTIFIER_LENGTH_MAX: usize = 63;

/// `name` as an SQL identifier.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` as an SQL string constant; safe with `standard_conforming_strings` on, the default since 9.1.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A table by schema and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
}

/// A text that is not `schema.table`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a table name: expected schema.table, or table for one in the schema public")]
pub struct TableNameError(String);

impl TableName {
    /// `"schema"."name"`.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.name))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

impl FromStr for TableName {
    type Err = TableNameError;

    /// Reads `schema.table` or `table`; letters keep their case, as if quoted.
    fn from_str(text: &str) -> Result<TableName, TableNameError> {
        let (schema, name) = text.trim().split_once('.').unwrap_or(("public", text.trim()));
        let is_name =
            |part: &str| (1..=IDENTIFIER_LENGTH_MAX).contains(&part.len()) && !part.contains(['.', '"', '\0']);
        match is_name(schema) && is_name(name) {
            true => Ok(TableName { schema: schema.to_owned(), name: name.to_owned() }),
            false => Err(TableNameError(text.chars().take(200).collect())),
        }
    }
}

/// Whether Postgres takes `name` for a replication slot: 1 to 63 of `a-z 0-9 _` (PostgreSQL documentation, 27.2.6).
/// It stands unquoted in START_REPLICATION, so nothing else may pass.
pub(crate) fn is_slot_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=IDENTIFIER_LENGTH_MAX).contains(&name.len()) && name.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_quotes() {
        assert_eq!(identifier(r#"a"b"#), r#""a""b""#);
        assert_eq!(literal("o'clock"), "'o''clock'");
    }

    #[test]
    fn table_names_default_to_the_public_schema() {
        let parsed: TableName = "outbox".parse().unwrap();
        assert_eq!(parsed.to_string(), "public.outbox");
        let parsed: TableName = " Orders.outbox ".parse().unwrap();
        assert_eq!((parsed.schema.as_str(), parsed.quoted().as_str()), ("Orders", r#""Orders"."outbox""#));
        for wrong in ["", ".", "a.", ".b", "a.b.c", "a\"b", &"x".repeat(64)] {
            assert!(wrong.parse::<TableName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn slot_names_are_postgres_ones() {
        for good in ["pillion", "a_1", &"x".repeat(63)] {
            assert!(is_slot_name(good), "{good}");
        }
        for bad in ["", "Pillion", "a-b", "a b", "a;drop", &"x".repeat(64)] {
            assert!(!is_slot_name(bad), "{bad}");
        }
    }
}
