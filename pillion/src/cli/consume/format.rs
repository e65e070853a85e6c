//! How a record is printed: kcat's format strings, or JSON.

use std::io::{self, Write};
use std::str::FromStr;

use pillion_client::ConsumedRecord;
use serde_json::{Value, json};

/// A parsed format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Byte(u8),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Key,
    KeyLength,
    Value,
    ValueLength,
    Headers,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            let part = match byte {
                b'%' => match bytes.next() {
                    Some(b't') => Part::Topic,
                    Some(b'p') => Part::Partition,
                    Some(b'o') => Part::Offset,
                    Some(b'T') => Part::Timestamp,
                    Some(b'k') => Part::Key,
                    Some(b'K') => Part::KeyLength,
                    Some(b's') => Part::Value,
                    Some(b'S') => Part::ValueLength,
                    Some(b'h') => Part::Headers,
                    Some(b'%') => Part::Byte(b'%'),
                    Some(other) => return Err(format!("%{} stands for nothing; see --help", char::from(other))),
                    None => return Err("a % at the end stands for nothing; see --help".to_owned()),
                },
                b'\\' => match bytes.next() {
                    Some(b'n') => Part::Byte(b'\n'),
                    Some(b't') => Part::Byte(b'\t'),
                    Some(b'r') => Part::Byte(b'\r'),
                    Some(b'\\') => Part::Byte(b'\\'),
                    _ => return Err("after \\ comes n, t, r or another \\".to_owned()),
                },
                byte => Part::Byte(byte),
            };
            parts.push(part);
        }
        Ok(Self { parts })
    }
}

impl Format {
    /// Writes one record.
    pub(super) fn write(&self, out: &mut impl Write, record: &ConsumedRecord) -> io::Result<()> {
        for part in &self.parts {
            match part {
                Part::Byte(byte) => out.write_all(&[*byte])?,
                Part::Topic => out.write_all(record.topic.as_bytes())?,
                Part::Partition => write!(out, "{}", record.partition)?,
                Part::Offset => write!(out, "{}", record.offset)?,
                Part::Timestamp => write!(out, "{}", record.timestamp_ms)?,
                Part::Key => out.write_all(record.key.as_deref().unwrap_or_default())?,
                Part::KeyLength => write!(out, "{}", length(record.key.as_deref()))?,
                Part::Value => out.write_all(record.value.as_deref().unwrap_or_default())?,
                Part::ValueLength => write!(out, "{}", length(record.value.as_deref()))?,
                Part::Headers => write_headers(out, record)?,
            }
        }
        Ok(())
    }
}

/// kcat prints −1 for null.
fn length(bytes: Option<&[u8]>) -> i64 {
    bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX))
}

fn write_headers(out: &mut impl Write, record: &ConsumedRecord) -> io::Result<()> {
    for (index, header) in record.headers.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        write!(out, "{}=", header.key)?;
        out.write_all(header.value.as_deref().unwrap_or(b"NULL"))?;
    }
    Ok(())
}

/// One record as JSON. Bytes that are not UTF-8 become `{"hex": "…"}`; headers keep their order and may repeat.
pub(super) fn json(record: &ConsumedRecord) -> Value {
    let headers =
        record.headers.iter().map(|header| json!({ "key": &*header.key, "value": text(header.value.as_deref()) }));
    json!({
        "topic": &*record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": text(record.key.as_deref()),
        "value": text(record.value.as_deref()),
        "headers": headers.collect::<Vec<_>>(),
    })
}

fn text(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
    }
}

#[cfg(test)]
mod tests;
