//! Appends in a story: batches of several producers, and markers.

use bytes::Bytes;
use pillion_wire::records::{
    BatchBuilder, BatchHeader, BatchProducer, EndTransactionMarker, HEADER_BYTES, Record, control_batch,
};

use super::expected_producers::Expected;
use super::model::StoredBatch;
use super::operations::{Draft, Sequence};
use super::run::{End, Simulation};

impl Simulation {
    /// Appends the batch, if its producer's sequence allows it.
    pub(super) fn append(&mut self, draft: &Draft) {
        let Some(batch) = self.batch_of(draft) else { return };
        let header = BatchHeader::verify(&batch).expect("a whole batch");
        let verdict: Expected = self.broker.log.producers().check(&header).into();
        assert_eq!(verdict, self.model.producers.check(&header), "of {header:?}");
        if verdict != Expected::Append {
            return;
        }
        let end = self.broker.log.next_offset();
        assert_eq!(end, self.model.end());
        let stored = StoredBatch::new(&batch, end, self.broker.leader_epoch);
        match self.broker.log.append(&batch, header, self.broker.leader_epoch, self.broker.now_ms) {
            Ok(appended) => {
                assert_eq!((appended.base_offset, appended.next_offset), (end, stored.header.next_offset()));
                self.story.lock().push(format!("  at {end} up to {}", appended.next_offset));
                self.appended(stored);
            }
            Err(_) if self.disk.is_cut() => self.model.in_flight = Some(stored),
            Err(_) => assert_eq!(self.broker.log.next_offset(), end, "a failed append adds nothing"),
        }
    }

    fn appended(&mut self, batch: StoredBatch) {
        self.model.append(batch);
        self.broker.appended();
        self.model.high_watermark = self.broker.high_watermark.offset;
    }

    /// The batch, or none where its producer has no such batch.
    fn batch_of(&self, draft: &Draft) -> Option<Bytes> {
        let known = self.model.producers.by_id.get(&draft.producer_id);
        let epoch = known.map_or(0, |known| known.epoch);
        let next = known.and_then(|known| known.batches.last()).map_or(0, |last| last.last_sequence() + 1);
        let transactional = draft.producer_id >= 0 && draft.producer_id % 2 == 0;
        let (epoch, base_sequence) = match draft.sequence {
            Sequence::Retry(back) => {
                let known = known.filter(|_| draft.producer_id >= 0)?;
                let retried = known.batches.len().checked_sub(1 + back).map(|place| known.batches[place])?;
                return Some(self.model.batch_at(retried.base_offset)?.bytes.clone());
            }
            Sequence::NewEpoch if known.is_none_or(|known| known.open.is_none()) => (epoch + 1, 0),
            Sequence::OldEpoch if epoch > 0 => (epoch - 1, next),
            Sequence::Gap => (epoch, next + 1),
            _ => (epoch, next),
        };
        let producer = (draft.producer_id >= 0).then_some(BatchProducer {
            id: draft.producer_id,
            epoch,
            base_sequence,
            transactional,
        });
        let mut builder = BatchBuilder::new(draft.codec);
        let first = draft.ahead_ms.map(|ahead| self.broker.now_ms + ahead);
        for (place, (key, length)) in draft.records.iter().enumerate() {
            // Never twice the same value, and nothing that compresses to nothing.
            let number = self.model.end() + place as i64;
            let value: Vec<u8> = (0..*length as i64).map(|at| (at * 31 * (number + 7) % 251) as u8).collect();
            builder.push(&Record {
                timestamp: first.map_or(-1, |first| first + place as i64 * 7),
                key: (*key > 0).then(|| Bytes::from(vec![*key])),
                value: (*key == 0 || *length > 0).then(|| value.into()),
                ..Record::default()
            });
        }
        let batch = builder.build(producer).expect("builds");
        if !draft.append_time {
            return Some(batch);
        }
        let header = BatchHeader::verify(&batch).expect("a whole batch").with_append_time(self.broker.now_ms);
        Some(header.seal(&batch[HEADER_BYTES..]).1)
    }

    /// Appends a marker, if its epochs allow it; a failed one ends the process, as it takes a partition offline.
    pub(super) fn end_transaction(
        &mut self,
        producer_id: i64,
        commit: bool,
        epoch_ahead: i16,
        coordinator_ahead: i32,
    ) -> Option<End> {
        let known = self.model.producers.by_id.get(&producer_id);
        let epoch = (known.map_or(0, |known| known.epoch) + epoch_ahead).max(0);
        let coordinator = known.and_then(|known| known.coordinator).map_or(0, |(epoch, _)| epoch);
        let marker = EndTransactionMarker { commit, coordinator_epoch: (coordinator + coordinator_ahead).max(0) };
        let is_late = self.model.producers.refuses_marker(producer_id, epoch, marker.coordinator_epoch);
        let checked = self.broker.log.producers().check_marker(producer_id, epoch, false, marker.coordinator_epoch);
        assert_eq!(checked.is_err(), is_late, "{checked:?} to {marker:?} of epoch {epoch}");
        if is_late {
            return None;
        }
        let batch = control_batch(producer_id, epoch, self.broker.now_ms, marker);
        let header = BatchHeader::verify(&batch).expect("a whole batch");
        let end = self.broker.log.next_offset();
        let stored = StoredBatch::new(&batch, end, self.broker.leader_epoch);
        let (leader_epoch, now_ms) = (self.broker.leader_epoch, self.broker.now_ms);
        match self.broker.log.append_marker(&batch, header, &marker, leader_epoch, now_ms) {
            Ok(_) => self.appended(stored),
            Err(_) => {
                self.model.in_flight = Some(stored);
                return Some(End::Killed);
            }
        }
        None
    }
}
