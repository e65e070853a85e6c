//! A log's history as a plain list of records and transactions, and its segment files.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchProducer, Compression, Record, STAMPED_BYTES};
use proptest::prelude::*;

use super::super::*;

/// What happens to a log.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A batch of keys and values: `None` is a tombstone, producer 0 writes outside transactions.
    Batch { producer: i64, records: Vec<(u8, Option<u8>)>, codec: u8 },
    /// The producer ends its transaction, or did not have one.
    End { producer: i64, commit: bool },
    /// The segment is closed and the next one begun.
    Roll,
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let value = prop_oneof![2 => (0_u8..9).prop_map(Some), 1 => Just(None)];
    let records = prop::collection::vec((0_u8..6, value), 1..5);
    let batch = (0_i64..4, records, 0_u8..5);
    let event = prop_oneof![
        6 => batch.prop_map(|(producer, records, codec)| Event::Batch { producer, records, codec }),
        2 => (1_i64..4, any::<bool>()).prop_map(|(producer, commit)| Event::End { producer, commit }),
        2 => Just(Event::Roll),
    ];
    prop::collection::vec(event, 1..60)
}

/// A record that was written, or a marker.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) record: Record,
    pub(super) transaction: Option<usize>,
}

/// Segment files by base offset.
pub(super) type Segments = Vec<(i64, Vec<u8>)>;

/// What was done to a log.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) written: Vec<Written>,
    pub(super) segments: Segments,
    /// Whether each transaction was aborted; `None` while it is open.
    pub(super) aborted: Vec<Option<bool>>,
    pub(super) index: Vec<AbortedTransaction>,
    pub(super) last_records: HashMap<i64, LastRecord>,
    /// Offsets of markers and the transactions they ended.
    pub(super) markers: Vec<(i64, usize)>,
    /// Base offset of the first segment that must not be cleaned.
    pub(super) bound: i64,
    open: HashMap<i64, (usize, i64)>,
    sequences: HashMap<i64, i32>,
    next_offset: i64,
}

const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

impl History {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut history = Self { segments: vec![(0, Vec::new())], ..Self::default() };
        for event in events {
            match event {
                Event::Batch { producer, records, codec } => history.batch(*producer, records, CODECS[*codec as usize]),
                Event::End { producer, commit } => history.end(*producer, *commit),
                Event::Roll if history.segments.last().unwrap().1.is_empty() => {}
                Event::Roll => history.segments.push((history.next_offset, Vec::new())),
            }
        }
        let stable = history.open.values().map(|(_, first)| *first).min().unwrap_or(history.next_offset);
        let holds_stable = history.segments.partition_point(|(base, _)| *base <= stable) - 1;
        history.bound = history.segments[holds_stable.min(history.segments.len() - 1)].0;
        history
    }

    /// No history, of which all below `bound` may be cleaned.
    pub(super) fn cleanable_to(bound: i64) -> Self {
        Self { bound, ..Self::default() }
    }

    fn batch(&mut self, producer: i64, records: &[(u8, Option<u8>)], codec: Compression) {
        let base = self.next_offset;
        let transaction = (producer > 0).then(|| {
            let next = self.aborted.len();
            self.open.entry(producer).or_insert((next, base)).0
        });
        self.aborted.resize(self.aborted.len().max(transaction.map_or(0, |at| at + 1)), None);
        let mut builder = BatchBuilder::new(codec);
        for (key, value) in records {
            let record = Record {
                offset: self.next_offset,
                timestamp: 1_000_000 + self.next_offset * 37 % 1000,
                key: Some(Bytes::from(vec![b'k', *key])),
                value: value.map(|value| Bytes::from(vec![value; 20])),
                ..Record::default()
            };
            builder.push(&record);
            self.written.push(Written { record, transaction });
            self.next_offset += 1;
        }
        let sequence = self.sequences.entry(producer).or_default();
        let of = BatchProducer { id: producer, epoch: 0, base_sequence: *sequence, transactional: true };
        *sequence += records.len() as i32;
        if producer > 0 {
            let last = LastRecord { last_data_offset: Some(self.next_offset - 1), producer_epoch: 0 };
            self.last_records.insert(producer, last);
        }
        self.push(builder.build((producer > 0).then_some(of)).unwrap(), base, false);
    }

    fn end(&mut self, producer: i64, commit: bool) {
        let (last_offset, ended) = (self.next_offset, self.open.remove(&producer));
        if let Some((transaction, first_offset)) = ended {
            self.aborted[transaction] = Some(!commit);
            self.markers.push((last_offset, transaction));
            if !commit {
                let last_stable_offset = last_offset + 1;
                let entry = AbortedTransaction { producer_id: producer, first_offset, last_offset, last_stable_offset };
                self.index.push(entry);
            }
        }
        let mut builder = BatchBuilder::new(Compression::None);
        let key = Some(Bytes::from(vec![0, 0, 0, u8::from(commit)]));
        let value = Some(Bytes::from_static(&[0; 6]));
        builder.push(&Record { timestamp: 1_000_000, key, value, ..Record::default() });
        let of = BatchProducer { id: producer, epoch: 0, base_sequence: -1, transactional: true };
        self.next_offset += 1;
        self.push(builder.build(Some(of)).unwrap(), last_offset, true);
        self.last_records.entry(producer).or_insert(LastRecord { last_data_offset: None, producer_epoch: 0 });
    }

    fn push(&mut self, batch: Bytes, base_offset: i64, control: bool) {
        let mut bytes = BatchHeader::parse(&batch).unwrap().stamp(base_offset, 0).to_vec();
        bytes.extend_from_slice(&batch[STAMPED_BYTES..]);
        if control {
            bytes[22] |= 0x20;
            let checksum = crc32c::crc32c(&bytes[21..]);
            bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
        }
        self.segments.last_mut().unwrap().1.extend_from_slice(&bytes);
    }

    /// The transaction of the record at `offset`.
    pub(super) fn transaction_at(&self, offset: i64) -> Option<usize> {
        self.written.iter().find(|written| written.record.offset == offset)?.transaction
    }

    /// Offsets of the records that stay once all is clean: neither aborted nor followed by one of their key.
    pub(super) fn survivors(&self, tombstones: bool) -> Vec<i64> {
        let aborted = |written: &Written| written.transaction.is_some_and(|at| self.aborted[at] == Some(true));
        let (mut keys, mut offsets) = (HashSet::new(), Vec::new());
        for written in self.written.iter().rev() {
            let record = &written.record;
            let mut is_latest = || !aborted(written) && keys.insert(record.key.clone());
            if record.offset >= self.bound || is_latest() && (tombstones || record.value.is_some()) {
                offsets.push(record.offset);
            }
        }
        offsets.reverse();
        offsets
    }
}

/// A plain batch of keys, "" for none, and values, at `base_offset`.
pub(super) fn stamped(records: &[(&str, Option<&str>)], timestamp: i64, base_offset: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Compression::None);
    for (key, value) in records {
        let key = Some(Bytes::copy_from_slice(key.as_bytes())).filter(|key| !key.is_empty());
        let value = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
        builder.push(&Record { timestamp, key, value, ..Record::default() });
    }
    let batch = builder.build(None).unwrap();
    let mut bytes = BatchHeader::parse(&batch).unwrap().stamp(base_offset, 0).to_vec();
    bytes.extend_from_slice(&batch[STAMPED_BYTES..]);
    bytes
}
