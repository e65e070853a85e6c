//! What must hold of a log that was opened again.

use super::expected_producers::Expected;
use super::reader::read_all;
use super::run::Simulation;

impl Simulation {
    pub(super) fn check_recovered(&mut self) {
        let log = &self.broker.log;
        let start = log.log_start_offset();
        assert!(
            start >= self.model.start_durable,
            "the log starts at {start}, {} was written down",
            self.model.start_durable
        );
        // Before the first sync of all a crash may take the name of the first segment and leave that of a later one.
        assert!(
            start <= self.model.start_decided || self.model.durable_end == 0,
            "the log starts at {start}, which nobody decided"
        );
        self.model.start_decided = self.model.start_decided.max(start);
        self.model.recovered(start, log.next_offset());
        self.model.start_durable = start;
        self.model.last_stable = if self.broker.is_async { 0 } else { self.model.last_stable_durable };
        self.check_producers(start);
        self.check_step();
        self.check_all();
    }

    /// Whether a batch that no sync had covered came back with another leader epoch: no checksum covers that, and a block
    /// of the disk may end in it.
    pub(super) fn has_torn_epoch(&mut self) -> bool {
        let log = &self.broker.log;
        let visible = read_all(log, log.log_start_offset(), log.end(), &mut self.random);
        let unsynced = visible.iter().filter(|batch| batch.header.base_offset >= self.model.durable_end);
        let mut pairs = unsynced.filter_map(|batch| {
            let base = batch.header.base_offset;
            let in_flight = self.model.in_flight.as_ref().filter(|one| one.header.base_offset == base);
            Some((&batch.bytes, &self.model.batch_at(base).or(in_flight)?.bytes))
        });
        pairs.any(|(found, expected)| {
            found.len() == expected.len()
                && (&found[..12], &found[16..]) == (&expected[..12], &expected[16..])
                && found[12..16] != expected[12..16]
        })
    }

    /// After a power cut and without a recovery point, what was on disk for sure is there, and nothing that was not
    /// appended; behind that a crash may have left holes.
    pub(super) fn check_durable(&mut self) {
        let log = &self.broker.log;
        let (start, end) = (log.log_start_offset(), log.end());
        assert!(end.offset >= self.model.durable_end, "the log ends at {}", end.offset);
        let visible = read_all(log, start, end, &mut self.random);
        self.model.batches.extend(self.model.in_flight.take());
        let durable = visible.iter().filter(|batch| batch.header.next_offset() <= self.model.durable_end);
        durable.for_each(|batch| self.check_batch(batch));
        let from = start.max(self.model.compacted_below());
        for expected in self.model.batches.iter().map(|batch| &batch.header) {
            let is_wanted = expected.base_offset >= from && expected.next_offset() <= self.model.durable_end;
            let is_there = visible.iter().any(|batch| batch.header.base_offset == expected.base_offset);
            assert!(is_there || !is_wanted, "{expected:?} was on disk");
        }
    }

    /// Producers are known with their last batches; those whose records are all deleted may be forgotten.
    fn check_producers(&mut self, start: i64) {
        let known = self.broker.log.producers();
        let snapshot = known.snapshot();
        let open: Vec<_> = known.open_transactions().map(|open| (open.producer_id, open.first_offset)).collect();
        let log_end = self.broker.log.next_offset();
        let compacted_below = self.model.compacted_below();
        let batches: Vec<_> = self.model.batches.iter().map(|batch| batch.header).collect();
        let expired = std::mem::take(&mut self.model.producers.expired);
        self.model.producers.by_id.retain(|producer_id, expected| {
            let expired_below = expired.get(producer_id).copied().unwrap_or(0);
            let Some(found) = snapshot.iter().find(|entry| entry.producer_id == *producer_id) else {
                assert!(expected.last_offset < start.max(expired_below), "producer {producer_id} is forgotten");
                let known_as = |first_offset| *self.model.fronts.get(&first_offset).unwrap_or(&first_offset);
                self.model.forgotten.extend(expected.open.map(|first_offset| (known_as(first_offset), log_end)));
                return false;
            };
            assert_eq!(found.producer_epoch, expected.epoch, "the epoch of producer {producer_id}");
            let coordinator = expected.coordinator.map_or(-1, |(epoch, _)| epoch);
            // A marker may be deleted, or compacted away.
            let gone_below = start.max(compacted_below).max(expired_below);
            let is_gone = expected.coordinator.is_some_and(|(_, marker)| marker < gone_below);
            assert!(found.coordinator_epoch == coordinator || is_gone && found.coordinator_epoch < coordinator);
            expected.coordinator = expected.coordinator.map(|(_, marker)| (found.coordinator_epoch, marker));
            let found_open = open.iter().find(|(open, _)| open == producer_id);
            assert_eq!(found_open.is_some(), expected.open.is_some(), "whether producer {producer_id} has one open");
            if let (Some(open), Some((_, first_offset))) = (&mut expected.open, found_open) {
                // The front of a transaction may be deleted.
                let between = batches.iter().filter(|batch| batch.producer_id == *producer_id && !batch.is_control());
                let mut between = between.filter(|batch| (*open..*first_offset).contains(&batch.base_offset));
                assert!(
                    between.all(|batch| batch.last_offset() < start),
                    "producer {producer_id}: {open}, {first_offset}"
                );
                self.model.fronts.insert(*open, *first_offset);
                *open = *first_offset;
            }
            let last = expected.batches.last().map(|last| last.base_offset);
            expected.batches.retain(|batch| {
                let (base_offset, last_offset) = (batch.base_offset, batch.last_offset());
                let verdict: Expected = known.check(batch).into();
                match verdict {
                    Expected::Duplicate { base_offset: base, last_offset: last } if base == base_offset => {
                        assert_eq!(last, last_offset, "where {batch:?} ends");
                        return true;
                    }
                    // Behind an earlier one of the same sequence numbers, from before the producer was forgotten.
                    Expected::Duplicate { base_offset: base, .. } if base < base_offset => return true,
                    _ => {}
                }
                let is_last = last == Some(base_offset);
                let is_expired = last_offset < expired_below;
                let may_be_gone = last_offset < start || is_expired || !is_last && base_offset < compacted_below;
                assert!(may_be_gone, "{verdict:?} to a retry of {batch:?}");
                let is_twice = verdict == Expected::Append && last_offset >= start && !is_expired;
                assert!(!is_twice, "a retry of {batch:?} would be there twice");
                false
            });
            // What is left of a batch that was compacted may be older.
            let is_same = found.timestamp == expected.last_timestamp;
            assert!(
                is_same || expected.last_offset < gone_below,
                "{found:?}, last seen at {}",
                expected.last_timestamp
            );
            expected.last_timestamp = found.timestamp;
            true
        });
        self.model.producers.expired = expired;
    }
}
