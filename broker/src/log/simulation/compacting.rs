//! Compaction in a story: a round, with something else done to the log in the middle of it.

use pillion_wire::records::Compression;

use super::model::BegunRound;
use super::operations::{Draft, Sequence};
use super::run::{End, Simulation};
use crate::log::compaction::CompactionError;

impl Simulation {
    /// Compacts what is due; answers how the process ended, if it did.
    pub(super) fn compact(&mut self, dedupe_buffer_bytes: usize, disturbed_at: usize, appends: bool) -> Option<End> {
        let (high_watermark, now_ms) = (self.broker.high_watermark.offset, self.broker.now_ms);
        self.broker.log.cleanable(high_watermark, now_ms)?;
        if !self.write_checkpoint_files() {
            return None;
        }
        let cleanable = self.broker.log.cleanable(high_watermark, now_ms).expect("is due");
        let round = self.broker.log.begin_round(high_watermark, now_ms).expect("is due");
        assert!(cleanable.bound <= self.broker.last_stable_offset(), "{cleanable:?} holds what is not stable");
        self.check_lag(cleanable.first_dirty_offset, cleanable.bound);
        let horizon_ms = now_ms + self.broker.config.delete_retention_ms;
        self.model.rounds.push(BegunRound { bound: cleanable.bound, horizon_ms });
        let (mut place, mut failed) = (0, false);
        let done = round.run(dedupe_buffer_bytes, &|| true, &mut |group| {
            if place == disturbed_at {
                self.disturb(appends);
            }
            place += 1;
            self.broker.log.swap_in(group, now_ms).map_err(|error| {
                failed = true;
                CompactionError::Write { source: std::io::Error::other(error) }
            })
        });
        match done {
            Ok((end, _)) => self.broker.log.cleaned_to(end),
            Err(CompactionError::Stopped | CompactionError::Write { .. } | CompactionError::Read { .. }) => {}
            Err(_) if self.disk.is_cut() => {}
            Err(error) => panic!("compaction finds {error} {:?}", std::error::Error::source(&error)),
        }
        // What a swap that failed left only a start can put right.
        failed.then_some(End::Killed)
    }

    fn disturb(&mut self, appends: bool) {
        if !appends {
            return self.retain();
        }
        let records = vec![(1, 50), (2, 0)];
        let (producer_id, sequence, codec) = (-1, Sequence::Next, Compression::None);
        self.append(&Draft { producer_id, sequence, records, codec, ahead_ms: Some(0), append_time: false });
    }

    /// Nothing younger than `min.compaction.lag.ms` is compacted.
    fn check_lag(&self, first_dirty: i64, bound: i64) {
        let lag = self.broker.config.min_compaction_lag_ms;
        // What is young may be gone already from what was compacted before the setting came.
        let first_dirty = first_dirty.max(self.model.compacted_below());
        let dirty = self.model.batches.iter().map(|batch| &batch.header);
        let mut dirty = dirty.filter(|header| (first_dirty..bound).contains(&header.base_offset));
        assert!(lag == 0 || dirty.all(|header| header.max_timestamp <= self.broker.now_ms - lag), "too young");
    }
}
