//! A consumer: reads a log batch by batch, and sees what the protocol's reader of committed records sees.

use std::collections::HashSet;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, HEADER_BYTES, Record, read_batch, read_marker};
use rand::rngs::StdRng;

use super::operations::pick;
use crate::log::{AbortedTransaction, Log, LogPosition, LogSlice, ReadFrom};

/// A batch as a reader got it.
pub(super) struct Visible {
    pub(super) header: BatchHeader,
    pub(super) bytes: Bytes,
    pub(super) records: Vec<Record>,
}

/// The bytes of a slice.
pub(super) fn bytes_of(slice: &LogSlice) -> Bytes {
    let mut bytes = vec![0; slice.length];
    let read = slice.file.read_at(slice.position, &mut bytes).expect("reads");
    assert_eq!(read, slice.length, "a slice is whole");
    bytes.into()
}

/// The batches in what one read answered; the last may be cut.
pub(super) fn batches_of(bytes: &Bytes, offset: i64, bytes_max: usize) -> Vec<Visible> {
    let first = BatchHeader::verify(bytes).expect("the first batch is whole");
    assert!(first.last_offset() >= offset, "asked for {offset}, got {first:?}");
    assert!(bytes.len() <= bytes_max.max(first.size()));
    let (mut found, mut rest, mut least) = (Vec::new(), bytes.clone(), first.base_offset);
    while !rest.is_empty() {
        if rest.len() < HEADER_BYTES || BatchHeader::parse(&rest).expect("a header").size() > rest.len() {
            assert_eq!(bytes.len(), bytes_max, "only a limit cuts a batch");
            break;
        }
        let (header, records) = read_batch(&rest).expect("a whole batch");
        assert!(header.base_offset >= least, "{header:?} comes behind {least}");
        least = header.next_offset();
        found.push(Visible { header, bytes: rest.split_to(header.size()), records });
    }
    found
}

/// All batches from the one that holds `offset` to `end`, in reads of several sizes.
pub(super) fn read_all(log: &Log, mut offset: i64, end: LogPosition, random: &mut StdRng) -> Vec<Visible> {
    let mut found: Vec<Visible> = Vec::new();
    loop {
        let bytes_max = pick(random, &[1, 300, 4_000, 1 << 20]);
        let slice = log
            .read(offset, end, bytes_max, ReadFrom::Disk)
            .unwrap_or_else(|error| panic!("cannot read at {offset}: {error} {:?}", std::error::Error::source(&error)));
        let Some(slice) = slice else { break };
        found.extend(batches_of(&bytes_of(&slice), offset, bytes_max));
        offset = found.last().map_or(offset, |last| last.header.next_offset());
        assert!(offset <= end.offset, "read up to {offset}, beyond {}", end.offset);
    }
    assert!(offset >= end.offset, "nothing between {offset} and the end at {}", end.offset);
    found
}

/// The records from `from` on that a reader of committed records sees, as Kafka's consumer finds them.
pub(super) fn committed(batches: &[Visible], mut aborted: Vec<AbortedTransaction>, from: i64) -> Vec<&Record> {
    aborted.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
    let mut skipped = HashSet::new();
    let mut seen = Vec::new();
    for batch in batches {
        let header = &batch.header;
        while let Some(next) = aborted.pop_if(|next| next.first_offset <= header.last_offset()) {
            skipped.insert(next.producer_id);
        }
        if header.is_control() {
            if read_marker(&batch.bytes).expect("readable").is_some_and(|marker| !marker.commit) {
                skipped.remove(&header.producer_id);
            }
        } else if !(header.is_transactional() && skipped.contains(&header.producer_id)) {
            seen.extend(batch.records.iter().filter(|record| record.offset >= from));
        }
    }
    seen
}
