//! What a file is taken apart into: one item a line of output.

use pillion_wire::records::Record;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::{Batch, ControlMarker, FileKind, Finding};

/// One thing in a file. Serialized, `type` says which.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Item {
    /// A file begins.
    File {
        /// What it is.
        kind: FileKind,
        /// Its length.
        bytes: u64,
    },
    /// A batch of a segment.
    Batch(Batch),
    /// A record of the batch before.
    Record(RecordItem),
    /// A control record of the batch before.
    Marker {
        /// Its offset.
        offset: i64,
        /// Milliseconds since 1970.
        timestamp: i64,
        /// What it says.
        marker: ControlMarker,
        /// Epoch of the coordinator that ended the transaction.
        coordinator_epoch: Option<i32>,
    },
    /// Zeroes at a segment's end: room that it was given ahead.
    Zeroes {
        /// Where they begin.
        position: u64,
        /// How many.
        bytes: u64,
    },
    /// An entry of an offset index.
    OffsetIndexEntry {
        /// Offset of a batch's last record.
        offset: i64,
        /// Where the batch begins.
        position: u64,
    },
    /// An entry of a time index.
    TimeIndexEntry {
        /// Milliseconds since 1970.
        timestamp: i64,
        /// Offset of the record that has it.
        offset: i64,
    },
    /// An entry of a transaction index.
    AbortedTransaction {
        /// Whose it was.
        producer_id: i64,
        /// Offset of its first record.
        first_offset: i64,
        /// Offset of its marker.
        last_offset: i64,
        /// Last stable offset once it had ended.
        last_stable_offset: i64,
    },
    /// A producer in a snapshot.
    Producer(ProducerItem),
    /// A leader epoch.
    LeaderEpoch {
        /// The epoch.
        epoch: i32,
        /// Offset of its first record.
        start_offset: i64,
    },
    /// A partition's offset in a checkpoint.
    PartitionOffset {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// Offset.
        offset: i64,
    },
    /// The topic that a partition belongs to.
    Topic {
        /// Its id, as Kafka writes it.
        topic_id: String,
    },
    /// A line of text.
    Line {
        /// Without its end.
        text: String,
    },
    /// Something to be said about the file.
    Finding(Finding),
}

/// A record of data. Bytes that are not UTF-8 are serialized as `{"hex": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordItem {
    /// Its offset.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Its sequence; −1 when its producer is not idempotent.
    pub sequence: i32,
    /// Its key.
    #[serde(serialize_with = "bytes")]
    pub key: Option<Vec<u8>>,
    /// Its value.
    #[serde(serialize_with = "bytes")]
    pub value: Option<Vec<u8>>,
    /// Its headers, in order.
    #[serde(serialize_with = "headers")]
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

/// A producer as a snapshot knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the format's own names")]
pub struct ProducerItem {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub last_sequence: i32,
    pub last_offset: i64,
    pub offset_delta: i32,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    pub coordinator_epoch: i32,
    /// −1 when no transaction is open.
    pub current_transaction_first_offset: i64,
}

impl RecordItem {
    /// A record of `batch`.
    pub(super) fn new(batch: &Batch, record: Record) -> Self {
        let delta = record.offset.saturating_sub(batch.base_offset);
        let sequence = match (batch.base_sequence, i32::try_from(delta)) {
            (0.., Ok(delta)) => pillion_wire::records::advance_sequence(batch.base_sequence, delta),
            _ => batch.base_sequence,
        };
        let owned = |bytes: bytes::Bytes| bytes.to_vec();
        Self {
            offset: record.offset,
            timestamp: record.timestamp,
            sequence,
            key: record.key.map(owned),
            value: record.value.map(owned),
            headers: record
                .headers
                .into_iter()
                .map(|header| (header.key.to_string(), header.value.map(owned)))
                .collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Text<'a> {
    Utf8(&'a str),
    Other { hex: String },
}

fn text(bytes: &[u8]) -> Text<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Text::Utf8(text),
        Err(_) => Text::Other { hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect() },
    }
}

#[allow(clippy::ref_option, reason = "what serde calls it with")]
fn bytes<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.as_deref().map(text).serialize(serializer)
}

fn headers<S: Serializer>(headers: &[(String, Option<Vec<u8>>)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Header<'a> {
        key: &'a str,
        value: Option<Text<'a>>,
    }
    let mut list = serializer.serialize_seq(Some(headers.len()))?;
    for (key, value) in headers {
        list.serialize_element(&Header { key, value: value.as_deref().map(text) })?;
    }
    list.end()
}
