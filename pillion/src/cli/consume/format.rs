//! kcat's format strings: `%o %k %h %s\n`.
//!
//! The escapes are kcat's: `\n`, `\t`, `\r`, `\xHH`, `\65`, and any other character for itself. Bytes of keys and values
//! are written as they are.

use std::io::{self, Write};
use std::iter::Peekable;
use std::str::FromStr;

use pillion_client::ConsumedRecord;

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
    /// The value's length as four bytes, the highest first.
    ValueLengthBinary,
    Headers,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let part = match byte {
                b'%' => directive(bytes.next())?,
                b'\\' => Part::Byte(escape(&mut bytes)?),
                byte => Part::Byte(byte),
            };
            parts.push(part);
        }
        Ok(Self { parts })
    }
}

fn directive(letter: Option<u8>) -> Result<Part, String> {
    Ok(match letter {
        Some(b't') => Part::Topic,
        Some(b'p') => Part::Partition,
        Some(b'o') => Part::Offset,
        Some(b'T') => Part::Timestamp,
        Some(b'k') => Part::Key,
        Some(b'K') => Part::KeyLength,
        Some(b's') => Part::Value,
        Some(b'S') => Part::ValueLength,
        Some(b'R') => Part::ValueLengthBinary,
        Some(b'h') => Part::Headers,
        Some(b'%') => Part::Byte(b'%'),
        Some(other) => return Err(format!("%{} stands for nothing; see --help", char::from(other))),
        None => return Err("a % at the end stands for nothing; see --help".to_owned()),
    })
}

/// What follows a backslash. Numbers are read as C reads them: `\65` is decimal, `\0101` octal, `\x41` hexadecimal, as
/// many digits as there are, and of a larger number its last byte.
fn escape(bytes: &mut Peekable<std::str::Bytes<'_>>) -> Result<u8, String> {
    let digits = |bytes: &mut Peekable<std::str::Bytes<'_>>, radix: u32, first: u32| {
        let mut number = first;
        while let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(radix)) {
            // Only the last byte counts, so nothing above it needs to be kept.
            number = (number * radix + digit) % 256;
            bytes.next();
        }
        u8::try_from(number).unwrap_or_default()
    };
    Ok(match bytes.next() {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'x') => match bytes.peek().is_some_and(u8::is_ascii_hexdigit) {
            true => digits(bytes, 16, 0),
            false => return Err("after \\x come hexadecimal digits".to_owned()),
        },
        Some(b'0') => digits(bytes, 8, 0),
        Some(digit @ b'1'..=b'9') => digits(bytes, 10, u32::from(digit - b'0')),
        Some(other) => other,
        None => return Err("a \\ at the end stands for nothing; see --help".to_owned()),
    })
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
                Part::ValueLengthBinary => out.write_all(&length(record.value.as_deref()).to_be_bytes())?,
                Part::Headers => write_headers(out, record)?,
            }
        }
        Ok(())
    }
}

/// kcat prints −1 for null.
fn length(bytes: Option<&[u8]>) -> i32 {
    bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX))
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

#[cfg(test)]
mod tests;
