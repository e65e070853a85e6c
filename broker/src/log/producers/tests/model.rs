//! A plain account of what producers wrote: the log itself, searched anew for each question.

use pillion_wire::records::advance_sequence;

use super::*;

pub(super) const PRODUCERS: i64 = 4;

/// What stands in the log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    Data { producer_id: i64, epoch: i16, sequence: i32, offset: i64, count: i32, transactional: bool, at: i64 },
    Marker { producer_id: i64, epoch: i16, coordinator_epoch: i32, offset: i64, at: i64 },
}

impl Written {
    pub(super) fn producer_id(&self) -> i64 {
        let (Self::Data { producer_id, .. } | Self::Marker { producer_id, .. }) = self;
        *producer_id
    }

    pub(super) fn epoch(&self) -> i16 {
        let (Self::Data { epoch, .. } | Self::Marker { epoch, .. }) = self;
        *epoch
    }

    pub(super) fn at(&self) -> i64 {
        let (Self::Data { at, .. } | Self::Marker { at, .. }) = self;
        *at
    }
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) log: Vec<Written>,
    pub(super) end: i64,
    pub(super) high_watermark: i64,
    pub(super) log_start: i64,
    pub(super) now: i64,
    /// Entries before these places are forgotten, by producer.
    pub(super) forgotten: [usize; PRODUCERS as usize],
    /// Place of the last restart: of batches before it only each producer's last is known.
    pub(super) restarted: usize,
}

impl Model {
    pub(super) fn known(&self, producer_id: i64) -> Vec<(usize, Written)> {
        let forgotten = self.forgotten[producer_id as usize];
        let log = self.log.iter().copied().enumerate().skip(forgotten);
        log.filter(|(_, written)| written.producer_id() == producer_id).collect()
    }

    pub(super) fn epoch(&self, producer_id: i64) -> Option<i16> {
        self.known(producer_id).last().map(|(_, written)| written.epoch())
    }

    /// (sequence, count, offset) of the batches of the producer's epoch, latest first, with their places.
    pub(super) fn batches(&self, producer_id: i64) -> Vec<(usize, i32, i32, i64)> {
        let epoch = self.epoch(producer_id);
        let known = self.known(producer_id);
        let of_epoch = known.iter().rev().take_while(|(_, written)| Some(written.epoch()) == epoch);
        let data = of_epoch.filter_map(|(place, written)| match *written {
            Written::Data { sequence, count, offset, .. } => Some((*place, sequence, count, offset)),
            Written::Marker { .. } => None,
        });
        data.collect()
    }

    pub(super) fn next_sequence(&self, producer_id: i64) -> i32 {
        let last = self.batches(producer_id).first().copied();
        last.map_or(0, |(_, sequence, count, _)| if sequence < 0 { 0 } else { advance_sequence(sequence, count) })
    }

    /// First offsets of transactions whose marker is not there, or not below `high_watermark`.
    pub(super) fn unstable(&self, high_watermark: i64) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        for producer_id in 0..PRODUCERS {
            let mut first = None;
            for written in self.log.iter().filter(|written| written.producer_id() == producer_id) {
                match *written {
                    Written::Data { offset, transactional: true, .. } => first = first.or(Some(offset)),
                    Written::Marker { offset, .. } => {
                        found.extend(
                            first.take().filter(|_| offset >= high_watermark).map(|first| (first, producer_id)),
                        );
                    }
                    Written::Data { .. } => {}
                }
            }
            found.extend(first.map(|first| (first, producer_id)));
        }
        found.sort_unstable();
        found
    }

    pub(super) fn open(&self) -> Vec<(i64, i64)> {
        self.unstable(i64::MAX)
    }

    pub(super) fn first_unstable(&self) -> Option<i64> {
        self.unstable(self.high_watermark).first().map(|(first, _)| (*first).max(self.log_start))
    }

    pub(super) fn expected(&self, batch: &Batch) -> Result<Verdict, &'static str> {
        let Some(current) = self.epoch(batch.producer_id) else { return Ok(Verdict::Append) };
        if batch.epoch < current {
            return Err("stale");
        }
        if batch.sequence >= 0 {
            let batches = if batch.epoch == current { self.batches(batch.producer_id) } else { Vec::new() };
            let since_restart = batches.iter().filter(|(place, ..)| *place >= self.restarted).count();
            for (_, sequence, count, offset) in batches.iter().take((since_restart + 1).min(5)) {
                if (*sequence, *count) == (batch.sequence, batch.count) {
                    let last_offset = offset + i64::from(count - 1);
                    return Ok(Verdict::Duplicate { base_offset: *offset, last_offset });
                }
            }
            let expected = if batch.epoch == current { self.next_sequence(batch.producer_id) } else { 0 };
            if batch.sequence != expected {
                return Err("out of order");
            }
        }
        let open = self.open().iter().any(|(_, producer_id)| *producer_id == batch.producer_id);
        if open && !batch.transactional { Err("transaction open") } else { Ok(Verdict::Append) }
    }

    pub(super) fn expected_marker(
        &self,
        producer_id: i64,
        epoch: i16,
        coordinator_epoch: i32,
    ) -> Result<(), &'static str> {
        let known = self.known(producer_id);
        if self.epoch(producer_id).is_some_and(|current| epoch < current) {
            return Err("stale");
        }
        let coordinator = known.iter().rev().find_map(|(_, written)| match written {
            Written::Marker { coordinator_epoch, .. } => Some(*coordinator_epoch),
            Written::Data { .. } => None,
        });
        if coordinator.is_some_and(|current| coordinator_epoch < current) { Err("fenced") } else { Ok(()) }
    }
}
