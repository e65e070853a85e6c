//! Items and findings as text for people. What a record holds is anyone's: control characters are escaped, so that no
//! record writes to the terminal's controls.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use pillion_broker::inspect::{Batch, ControlMarker, Finding, Item, ProducerItem, RecordItem, Severity};

use crate::cli::text::{escaped, instant as time};

/// Writes an item as one line; items of a file are indented below it.
pub(super) fn write_item(out: &mut impl Write, file: &Path, item: &Item) -> io::Result<()> {
    match item {
        Item::File { kind, bytes } => writeln!(out, "{}: {}, {bytes} bytes", path(file), kind.words()),
        Item::Batch(batch) => writeln!(out, "  {}", batch_line(batch)),
        Item::Record(record) => writeln!(out, "    {}", record_line(record)),
        Item::Marker { offset, timestamp, marker, coordinator_epoch } => {
            let epoch = coordinator_epoch.map(|epoch| format!(", coordinator epoch {epoch}")).unwrap_or_default();
            writeln!(out, "    {offset}  {}  {}{epoch}", time(*timestamp), marker_words(*marker))
        }
        Item::Zeroes { position, bytes } => {
            writeln!(out, "  at {position}: {bytes} zeroes up to the file's end, which was grown ahead")
        }
        Item::OffsetIndexEntry { offset, position } => writeln!(out, "  offset {offset} at {position}"),
        Item::TimeIndexEntry { timestamp, offset } => writeln!(out, "  {}  offset {offset}", time(*timestamp)),
        Item::AbortedTransaction { producer_id, first_offset, last_offset, last_stable_offset } => writeln!(
            out,
            "  producer {producer_id} aborted offsets {first_offset} to {last_offset}, last stable offset {last_stable_offset}"
        ),
        Item::Producer(producer) => writeln!(out, "  {}", producer_line(producer)),
        Item::LeaderEpoch { epoch, start_offset } => writeln!(out, "  leader epoch {epoch} from offset {start_offset}"),
        Item::PartitionOffset { topic, partition, offset } => {
            writeln!(out, "  {}-{partition}: offset {offset}", escaped(topic))
        }
        Item::Topic { topic_id } => writeln!(out, "  topic id {topic_id}"),
        Item::Line { text } => writeln!(out, "  {}", escaped(text)),
        Item::Finding(finding) => write_finding(out, file, finding),
        other => writeln!(out, "  {other:?}"),
    }
}

/// Writes a finding, and below it what to do.
pub(super) fn write_finding(out: &mut impl Write, file: &Path, finding: &Finding) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Repairable => "REPAIRABLE",
        Severity::Damage => "DAMAGE",
    };
    let position = finding.position.map(|position| format!(" at {position}")).unwrap_or_default();
    writeln!(out, "{severity}: {}{position}: {}", path(file), escaped(&finding.what))?;
    writeln!(out, "  to do: {}", finding.advice)
}

/// A path, without what would move the cursor.
pub(super) fn path(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

fn batch_line(batch: &Batch) -> String {
    let mut line = format!(
        "at {}: offsets {} to {}, {} record{}, {} bytes",
        batch.position,
        batch.base_offset,
        batch.last_offset,
        batch.count,
        if batch.count == 1 { "" } else { "s" },
        batch.size,
    );
    let mut add = |part: String| line.push_str(&part);
    if batch.compression != "none" {
        add(format!(" {}", batch.compression));
    }
    add(format!(", {} up to {}, leader epoch {}", batch.timestamp_type, time(batch.max_timestamp), batch.leader_epoch));
    if batch.producer_id >= 0 {
        add(format!(", producer {} epoch {}", batch.producer_id, batch.producer_epoch));
    }
    if batch.base_sequence >= 0 {
        add(format!(" sequences {} to {}", batch.base_sequence, batch.last_sequence));
    }
    if batch.transactional {
        add(", transactional".to_owned());
    }
    if batch.control {
        add(", control".to_owned());
    }
    if let Some(horizon) = batch.delete_horizon_ms {
        add(format!(", delete horizon {}", time(horizon)));
    }
    let verdict = if batch.checksum_valid { "right" } else { "WRONG" };
    add(format!(", checksum {:08x} {verdict}", batch.checksum));
    line
}

fn record_line(record: &RecordItem) -> String {
    let mut line = format!("{}  {}", record.offset, time(record.timestamp));
    let mut add = |name: &str, value: Option<&[u8]>| {
        write!(line, "  {name} {}", bytes(value)).expect("a string takes all that is written to it");
    };
    add("key", record.key.as_deref());
    add("value", record.value.as_deref());
    for (key, value) in &record.headers {
        write!(line, "  {}={}", escaped(key), bytes(value.as_deref()))
            .expect("a string takes all that is written to it");
    }
    line
}

fn producer_line(producer: &ProducerItem) -> String {
    let ProducerItem { producer_id, producer_epoch, last_sequence, last_offset, offset_delta, .. } = producer;
    let mut line = format!("producer {producer_id} epoch {producer_epoch}");
    if *last_offset >= 0 {
        let first = last_offset.saturating_sub((*offset_delta).into());
        let _ = write!(line, ", last batch offsets {first} to {last_offset} up to sequence {last_sequence}");
    }
    let _ = write!(line, ", {}", time(producer.timestamp));
    if producer.coordinator_epoch >= 0 {
        let _ = write!(line, ", coordinator epoch {}", producer.coordinator_epoch);
    }
    if producer.current_transaction_first_offset >= 0 {
        let _ = write!(line, ", transaction open from offset {}", producer.current_transaction_first_offset);
    }
    line
}

fn marker_words(marker: ControlMarker) -> &'static str {
    match marker {
        ControlMarker::Abort => "abort of a transaction",
        ControlMarker::Commit => "commit of a transaction",
        ControlMarker::LeaderChange => "KRaft: new leader",
        ControlMarker::SnapshotHeader => "KRaft: snapshot begins",
        ControlMarker::SnapshotFooter => "KRaft: snapshot ends",
        ControlMarker::KraftVersion => "KRaft: version",
        ControlMarker::KraftVoters => "KRaft: voters",
        ControlMarker::Unknown => "control record of an unknown type",
    }
}

/// Bytes in quotation marks where they are text, else in hexadecimal.
fn bytes(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("\"{}\"", text.escape_debug()),
        Err(_) => bytes.iter().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02x}")),
    }
}

#[cfg(test)]
mod tests;
