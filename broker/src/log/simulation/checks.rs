//! What must hold after every step, and of everything a reader can ask for.

use std::collections::HashMap;

use bytes::Bytes;
use pillion_wire::records::Record;
use rand::Rng;

use super::model::Fate;
use super::operations::pick;
use super::reader::{Visible, batches_of, bytes_of, committed, read_all};
use super::run::Simulation;
use crate::log::{LogPosition, LogSlice, LogView, ReadFrom, Viewed};

/// What a reader holds while the log goes on.
pub(super) enum Held {
    /// Bytes that must stay as they are, whatever becomes of their segment.
    Slice { slice: LogSlice, bytes: Bytes },
    /// Segments to look in later.
    View { view: LogView, offset: i64, end: LogPosition },
}

impl Simulation {
    /// What is checked after every step, and by chance more.
    pub(super) fn check_step(&mut self) {
        self.check_offsets();
        self.check_held();
        if self.random.random_ratio(1, 16) {
            self.check_all();
        }
    }

    /// Log start ≤ last stable ≤ high watermark ≤ log end, none of which goes back.
    fn check_offsets(&mut self) {
        let log = &self.broker.log;
        let (start, high_watermark) = (log.log_start_offset(), self.broker.high_watermark.offset);
        let last_stable = self.broker.last_stable_offset();
        assert!(start <= last_stable && last_stable <= high_watermark && high_watermark <= log.next_offset());
        assert!(log.recovery_point() <= self.model.durable_end, "the recovery point is {}", log.recovery_point());
        assert_eq!(high_watermark, self.model.high_watermark);
        assert_eq!(log.next_offset(), self.model.end());
        assert_eq!(last_stable, self.model.last_stable_offset(start), "the last stable offset");
        assert!(last_stable >= self.model.last_stable, "the last stable offset went back");
        self.model.last_stable = last_stable;
        self.model.last_stable_durable = self.model.last_stable_offset(self.model.start_durable);
    }

    /// Takes something to be looked at later.
    pub(super) fn hold(&mut self) {
        let (log, end) = (&self.broker.log, self.broker.high_watermark);
        if log.log_start_offset() >= end.offset {
            return;
        }
        let offset = self.random.random_range(log.log_start_offset()..end.offset);
        if self.held.len() == 4 {
            self.held.remove(0);
        }
        if self.random.random() {
            let view = log.view(offset).expect("in range");
            return self.held.push(Held::View { view, offset, end });
        }
        let slice = log.read(offset, end, 1_000, ReadFrom::Disk).expect("reads").expect("has bytes");
        let bytes = bytes_of(&slice);
        self.held.push(Held::Slice { slice, bytes });
    }

    fn check_held(&mut self) {
        for held in &self.held {
            match held {
                Held::Slice { slice, bytes } => assert_eq!(bytes_of(slice), bytes, "a slice stays as it is"),
                Held::View { view, offset, end } => {
                    let found = view.read(*offset, *end, 1_000);
                    let is_missing = found.as_ref().is_err_and(crate::log::LogError::is_missing_file);
                    if is_missing || !view.is_current(&self.broker.log) {
                        continue;
                    }
                    match found {
                        Ok(Viewed::Found(slice)) => {
                            let batches = batches_of(&bytes_of(&slice), *offset, 1_000);
                            batches.iter().for_each(|batch| self.check_batch(batch));
                        }
                        Ok(Viewed::GoOn(next)) => assert!(next > *offset),
                        Ok(Viewed::Nothing) => panic!("nothing at {offset} in a view"),
                        Err(error) => panic!("a view cannot be read at {offset}: {error}"),
                    }
                }
            }
        }
    }

    /// Everything a reader can ask for.
    pub(super) fn check_all(&mut self) {
        let log = &self.broker.log;
        let (start, end) = (log.log_start_offset(), log.end());
        let visible = read_all(log, start, end, &mut self.random);
        visible.iter().for_each(|batch| self.check_batch(batch));
        self.check_complete(&visible, start);
        self.check_compacted(&visible, start);
        self.check_committed();
        self.check_timestamps(&visible, start);
        self.check_epochs(&visible, start);
    }

    /// A batch is one that was appended; where nothing was compacted, to the byte.
    pub(super) fn check_batch(&self, batch: &Visible) {
        let header = &batch.header;
        let expected = self.model.batch_at(header.base_offset).unwrap_or_else(|| panic!("{header:?} is nobody's"));
        if header.base_offset >= self.model.compacted_below() {
            assert_eq!(batch.bytes, expected.bytes, "the batch at {}", header.base_offset);
            return;
        }
        let kept = |header: &pillion_wire::records::BatchHeader| {
            let producer = (header.producer_id, header.producer_epoch, header.base_sequence);
            let kind = (header.is_control(), header.is_transactional());
            (header.last_offset(), header.leader_epoch, producer, kind)
        };
        assert_eq!(kept(header), kept(&expected.header), "the compacted batch at {}", header.base_offset);
        for record in &batch.records {
            assert!(expected.records.contains(record), "{record:?} was never appended");
        }
    }

    /// Where nothing was compacted no batch is missing.
    fn check_complete(&self, visible: &[Visible], start: i64) {
        let from = self.model.compacted_below();
        let found = visible.iter().map(|batch| batch.header.base_offset).filter(|base| *base >= from);
        let wanted = self.model.batches.iter().filter(|batch| batch.header.last_offset() >= start);
        let wanted = wanted.map(|batch| batch.header.base_offset).filter(|base| *base >= from);
        assert!(found.eq(wanted), "batches are missing from {start} on");
    }

    /// Where compaction was, the latest record of every key stays, and none comes back that was deleted.
    fn check_compacted(&self, visible: &[Visible], start: i64) {
        let fates = self.model.fates();
        let bound = self.model.compacted_below();
        let mut latest_below: HashMap<&Bytes, (&Record, i64)> = HashMap::new();
        let (mut expected, mut found): (HashMap<&Bytes, &Record>, HashMap<&Bytes, &Record>) = Default::default();
        for (batch, _) in self.model.batches.iter().zip(&fates).filter(|(_, fate)| **fate == Fate::Seen) {
            for record in batch.records.iter().filter(|record| record.offset >= start) {
                let Some(key) = &record.key else { continue };
                expected.insert(key, record);
                if record.offset < bound {
                    latest_below.insert(key, (record, batch.header.base_offset));
                }
            }
        }
        let fate_of = |base_offset: i64| {
            let place = self.model.batches.partition_point(|batch| batch.header.base_offset < base_offset);
            fates[place]
        };
        let seen = visible.iter().filter(|batch| fate_of(batch.header.base_offset) == Fate::Seen);
        let seen: Vec<_> = seen.flat_map(|batch| &batch.records).filter(|record| record.offset >= start).collect();
        for (record, base_offset) in latest_below.values() {
            let expired = record.value.is_none() && self.model.tombstone_horizon_ms(*base_offset) <= self.broker.now_ms;
            assert!(expired || seen.contains(record), "{record:?} is the latest of its key and gone");
        }
        for record in seen {
            if let Some(key) = &record.key {
                found.insert(key, record);
            }
        }
        expected.retain(|_, record| record.value.is_some());
        found.retain(|_, record| record.value.is_some());
        assert_eq!(found, expected, "what the keys stand for");
    }

    /// A reader of committed records sees them, and no others.
    fn check_committed(&mut self) {
        let log = &self.broker.log;
        let last_stable = self.broker.last_stable_offset();
        if log.log_start_offset() >= last_stable {
            return;
        }
        let from = self.random.random_range(log.log_start_offset()..last_stable);
        let end = match last_stable == self.broker.high_watermark.offset {
            true => self.broker.high_watermark,
            false => log.position_of(last_stable, ReadFrom::Disk).expect("reads"),
        };
        let visible = read_all(log, from, end, &mut self.random);
        let aborted = log.view_aborted(from).aborted(from, last_stable).expect("reads");
        let transactions = self.model.transactions();
        for entry in &aborted {
            let is_true = transactions.iter().any(|one| {
                one.producer_id == entry.producer_id
                    && one.ended == Some((entry.last_offset, false))
                    && (one.first_offset..=one.last_data_offset).contains(&entry.first_offset)
            });
            assert!(is_true, "{entry:?} is no aborted transaction");
        }
        let found = committed(&visible, aborted, from);
        let fates = self.model.fates();
        let seen = self.model.batches.iter().zip(fates).filter(|(_, fate)| *fate == Fate::Seen);
        let expected: Vec<_> = seen
            .flat_map(|(batch, _)| &batch.records)
            .filter(|record| (from..last_stable).contains(&record.offset))
            .collect();
        if from >= self.model.compacted_below() {
            assert_eq!(found, expected, "committed records from {from} to {last_stable}");
        } else {
            for record in found {
                assert!(expected.contains(&record), "{record:?} was not committed");
            }
        }
    }

    /// A lookup by timestamp finds the first record that is not older.
    fn check_timestamps(&mut self, visible: &[Visible], start: i64) {
        let end = self.broker.high_watermark.offset;
        let records: Vec<_> = visible
            .iter()
            .filter(|batch| !batch.header.is_control())
            .flat_map(|batch| &batch.records)
            .filter(|record| (start..end).contains(&record.offset))
            .collect();
        for _ in 0..4 {
            let Some(base) = records.get(self.random.random_range(0..records.len().max(1))) else { return };
            let timestamp = base.timestamp + pick(&mut self.random, &[-1, 0, 1]);
            if timestamp < 0 {
                continue;
            }
            let view = self.broker.log.view_timestamp(timestamp);
            let found = view.first_at_or_after(timestamp, start, end).expect("reads");
            // Markers have timestamps too, and count.
            let all = visible.iter().flat_map(|batch| &batch.records);
            let mut all = all.filter(|record| (start..end).contains(&record.offset));
            let expected = all.find(|record| record.timestamp >= timestamp).map(|record| record.offset);
            let found = found.map(|found| found.offset);
            let is_compacted = start < self.model.compacted_below();
            // An emptied batch keeps its largest timestamp: a reader begins earlier than it needs to.
            let is_early = found.is_some() && expected.is_none_or(|expected| found < Some(expected));
            assert!(found == expected || is_compacted && is_early, "{timestamp}: {found:?}, expected {expected:?}");
        }
    }

    /// Leader epochs are those the batches were written in.
    fn check_epochs(&self, visible: &[Visible], start: i64) {
        let log = &self.broker.log;
        let Some(last) = visible.last() else { return };
        assert_eq!(log.latest_epoch(), last.header.leader_epoch, "the latest epoch");
        for batch in visible {
            let offset = batch.header.base_offset.max(start);
            assert_eq!(log.epoch_at(offset), batch.header.leader_epoch, "the epoch at {offset}");
        }
        if start < self.model.compacted_below() {
            return;
        }
        for epoch in visible[0].header.leader_epoch..=last.header.leader_epoch + 1 {
            let in_it = visible.iter().rfind(|batch| batch.header.leader_epoch <= epoch).expect("the first is");
            let next = visible.iter().find(|batch| batch.header.leader_epoch > epoch);
            let end = next.map_or(log.next_offset(), |next| next.header.base_offset);
            assert_eq!(log.end_of_epoch(epoch), Some((in_it.header.leader_epoch, end)), "the end of epoch {epoch}");
        }
    }

    /// Retention deletes nothing that is to stay.
    pub(super) fn check_retention(&self, start: i64) {
        let (config, log) = (&self.broker.config, &self.broker.log);
        let before = log.log_start_offset();
        assert!(before <= start && start <= self.broker.high_watermark.offset);
        if start == before {
            return;
        }
        assert!(config.delete);
        let gone = self.model.batches.iter().map(|batch| &batch.header);
        // A segment of which compaction left nothing goes whatever its records were.
        let from = before.max(self.model.compacted_below());
        let mut gone = gone.filter(|header| header.base_offset >= from && header.last_offset() < start);
        let youngest = self.broker.now_ms - config.retention_ms;
        let expired = |timestamp: i64| config.retention_ms >= 0 && timestamp < youngest;
        let is_larger = config.retention_bytes >= 0 && log.size() >= config.retention_bytes.cast_unsigned();
        assert!(is_larger || gone.all(|header| expired(header.max_timestamp) || header.max_timestamp < 0));
    }
}
