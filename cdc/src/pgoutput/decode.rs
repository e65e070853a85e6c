//! One received message → one [`Message`].
//!
//! ```text
//! Begin     B  commit_lsn:i64  commit_time:i64  xid:i32
//! Commit    C  flags:i8  commit_lsn:i64  end_lsn:i64  commit_time:i64
//! Origin    O  commit_lsn:i64  name:cstring
//! Relation  R  id:i32  schema:cstring  name:cstring  replica_identity:i8
//!              columns:i16 × { flags:i8  name:cstring  type:i32  modifier:i32 }
//! Type      Y  id:i32  schema:cstring  name:cstring
//! Insert    I  relation:i32  'N' row
//! Update    U  relation:i32  [ 'K' row | 'O' row ]  'N' row
//! Delete    D  relation:i32  'K' row | 'O' row
//! Truncate  T  relations:i32  options:i8  × { relation:i32 }
//! Message   M  flags:i8  lsn:i64  prefix:cstring  length:i32  content
//! row       columns:i16 × { 'n' | 'u' | 't' length:i32 bytes | 'b' length:i32 bytes }
//! ```
//!
//! Numbers are big-endian, times microseconds since 2000-01-01. The messages of protocol version 2 and later
//! (streamed and prepared transactions) are refused by their tag: we ask for version 1, so they cannot come.

use bytes::{Buf, Bytes};
use thiserror::Error;

use super::message::{Cell, Column, Message, Operation, Relation};
use crate::lsn::Lsn;

/// Microseconds from the Unix epoch to Postgres' (2000-01-01).
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A message that is not `pgoutput` version 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It ends in the middle of a field.
    #[error("pgoutput message `{tag}` ends before its {field}")]
    Truncated {
        /// The message's tag.
        tag: char,
        /// What was being read.
        field: &'static str,
    },
    /// It goes on after its last field.
    #[error("pgoutput message `{tag}` has {count} bytes after its end")]
    TrailingBytes {
        /// The message's tag.
        tag: char,
        /// How many.
        count: usize,
    },
    /// A length or count is negative, or a marker is not one of those the format has.
    #[error("pgoutput message `{tag}` has the impossible {field} {value}")]
    Impossible {
        /// The message's tag.
        tag: char,
        /// What was being read.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// A name is not UTF-8, although the session asked for it.
    #[error("pgoutput message `{tag}` has a {field} that is not UTF-8")]
    NotUtf8 {
        /// The message's tag.
        tag: char,
        /// What was being read.
        field: &'static str,
    },
    /// A tag that protocol version 1 does not have.
    #[error("pgoutput message with the unknown tag 0x{0:02x}; the session asked for protocol version 1")]
    UnknownTag(u8),
    /// No bytes at all.
    #[error("empty pgoutput message")]
    Empty,
}

/// Decodes one message. Values in the result are slices of `bytes`.
///
/// # Errors
/// [`DecodeError`] when the bytes are not exactly one message of protocol version 1.
pub fn decode(mut bytes: Bytes) -> Result<Message, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    let tag = bytes.get_u8();
    let mut reader = Reader { bytes, tag: char::from(tag) };
    let message = match tag {
        b'B' => reader.begin()?,
        b'C' => reader.commit()?,
        b'O' => Message::Origin { commit_lsn: reader.lsn("commit LSN")?, name: reader.text("name")? },
        b'R' => reader.relation()?,
        b'Y' => Message::Type { id: reader.id("id")?, schema: reader.text("schema")?, name: reader.text("name")? },
        b'I' => reader.insert()?,
        b'U' => reader.update()?,
        b'D' => reader.delete()?,
        b'T' => reader.truncate()?,
        b'M' => reader.emitted()?,
        unknown => return Err(DecodeError::UnknownTag(unknown)),
    };
    match reader.bytes.len() {
        0 => Ok(message),
        count => Err(DecodeError::TrailingBytes { tag: reader.tag, count }),
    }
}

struct Reader {
    bytes: Bytes,
    tag: char,
}

impl Reader {
    fn begin(&mut self) -> Result<Message, DecodeError> {
        Ok(Message::Begin {
            commit_lsn: self.lsn("commit LSN")?,
            commit_time_micros: self.time("commit time")?,
            transaction_id: self.id("transaction id")?,
        })
    }

    fn commit(&mut self) -> Result<Message, DecodeError> {
        self.byte("flags")?;
        Ok(Message::Commit {
            commit_lsn: self.lsn("commit LSN")?,
            end_lsn: self.lsn("end LSN")?,
            commit_time_micros: self.time("commit time")?,
        })
    }

    fn relation(&mut self) -> Result<Message, DecodeError> {
        let id = self.id("id")?;
        let mut schema = self.text("schema")?;
        if schema.is_empty() {
            schema.push_str("pg_catalog");
        }
        let name = self.text("name")?;
        self.byte("replica identity")?;
        let count = self.count("number of columns")?;
        // Each column takes ten bytes or more, so a larger count is a lie.
        let mut columns = Vec::with_capacity(count.min(self.bytes.len() / 10));
        for _ in 0..count {
            self.byte("column flags")?;
            let name = self.text("column name")?;
            let type_id = self.id("column type")?;
            let type_modifier = self.id("column type modifier")?.cast_signed();
            columns.push(Column { name, type_id, type_modifier });
        }
        Ok(Message::Relation(Relation { id, schema, name, columns }))
    }

    fn insert(&mut self) -> Result<Message, DecodeError> {
        let relation_id = self.id("relation")?;
        self.marker("row marker", b"N")?;
        Ok(Message::Insert { relation_id, row: self.row()? })
    }

    fn update(&mut self) -> Result<Message, DecodeError> {
        let relation_id = self.id("relation")?;
        if self.marker("row marker", b"KON")? != b'N' {
            self.row()?;
            self.marker("row marker", b"N")?;
        }
        self.row()?;
        Ok(Message::Other { operation: Operation::Update, relation_ids: vec![relation_id] })
    }

    fn delete(&mut self) -> Result<Message, DecodeError> {
        let relation_id = self.id("relation")?;
        self.marker("row marker", b"KO")?;
        self.row()?;
        Ok(Message::Other { operation: Operation::Delete, relation_ids: vec![relation_id] })
    }

    fn truncate(&mut self) -> Result<Message, DecodeError> {
        let count = self.length("number of relations")?;
        self.byte("options")?;
        let mut relation_ids = Vec::with_capacity(count.min(self.bytes.len() / 4));
        for _ in 0..count {
            relation_ids.push(self.id("relation")?);
        }
        Ok(Message::Other { operation: Operation::Truncate, relation_ids })
    }

    fn emitted(&mut self) -> Result<Message, DecodeError> {
        let transactional = self.byte("flags")? & 1 == 1;
        let lsn = self.lsn("LSN")?;
        let prefix = self.text("prefix")?;
        Ok(Message::Emitted { transactional, lsn, prefix, content: self.value("content")? })
    }

    fn row(&mut self) -> Result<Vec<Cell>, DecodeError> {
        let count = self.count("number of values")?;
        let mut row = Vec::with_capacity(count.min(self.bytes.len()));
        for _ in 0..count {
            row.push(match self.marker("value kind", b"nutb")? {
                b'n' => Cell::Null,
                b'u' => Cell::Unchanged,
                b't' => Cell::Text(self.value("value")?),
                _ => Cell::Binary(self.value("value")?),
            });
        }
        Ok(row)
    }

    fn value(&mut self, field: &'static str) -> Result<Bytes, DecodeError> {
        let length = self.length(field)?;
        self.need(length, field)?;
        Ok(self.bytes.split_to(length))
    }

    fn text(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let length = self.bytes.iter().position(|byte| *byte == 0).ok_or_else(|| self.truncated(field))?;
        let text = self.bytes.split_to(length);
        self.bytes.advance(1);
        match std::str::from_utf8(&text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(DecodeError::NotUtf8 { tag: self.tag, field }),
        }
    }

    fn marker(&mut self, field: &'static str, allowed: &[u8]) -> Result<u8, DecodeError> {
        let byte = self.byte(field)?;
        match allowed.contains(&byte) {
            true => Ok(byte),
            false => Err(DecodeError::Impossible { tag: self.tag, field, value: i64::from(byte) }),
        }
    }

    fn length(&mut self, field: &'static str) -> Result<usize, DecodeError> {
        self.need(4, field)?;
        let value = self.bytes.get_i32();
        usize::try_from(value).map_err(|_| DecodeError::Impossible { tag: self.tag, field, value: i64::from(value) })
    }

    fn count(&mut self, field: &'static str) -> Result<usize, DecodeError> {
        self.need(2, field)?;
        let value = self.bytes.get_i16();
        usize::try_from(value).map_err(|_| DecodeError::Impossible { tag: self.tag, field, value: i64::from(value) })
    }

    fn byte(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.need(1, field)?;
        Ok(self.bytes.get_u8())
    }

    fn id(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.need(4, field)?;
        Ok(self.bytes.get_u32())
    }

    fn lsn(&mut self, field: &'static str) -> Result<Lsn, DecodeError> {
        self.need(8, field)?;
        Ok(Lsn::new(self.bytes.get_u64()))
    }

    fn time(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        self.need(8, field)?;
        Ok(unix_micros(self.bytes.get_i64()))
    }

    fn need(&self, length: usize, field: &'static str) -> Result<(), DecodeError> {
        if self.bytes.len() < length { Err(self.truncated(field)) } else { Ok(()) }
    }

    fn truncated(&self, field: &'static str) -> DecodeError {
        DecodeError::Truncated { tag: self.tag, field }
    }
}

/// Postgres' microseconds since 2000-01-01 as microseconds since the Unix epoch.
pub(crate) fn unix_micros(postgres_micros: i64) -> i64 {
    postgres_micros.saturating_add(POSTGRES_EPOCH_MICROS)
}
