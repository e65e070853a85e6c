mod kafka;
mod model;
mod properties;

use super::*;

/// A header of `count` records as it stands in the log.
#[derive(Clone, Copy)]
struct Batch {
    producer_id: i64,
    epoch: i16,
    sequence: i32,
    base_offset: i64,
    count: i32,
    transactional: bool,
    timestamp: i64,
}

const FIRST: Batch =
    Batch { producer_id: 7, epoch: 1, sequence: 0, base_offset: 0, count: 2, transactional: false, timestamp: 1000 };
const TRANSACTIONAL: Batch = Batch { transactional: true, ..FIRST };
const COMMIT: EndTransactionMarker = EndTransactionMarker { commit: true, coordinator_epoch: 3 };

impl Batch {
    fn header(self) -> BatchHeader {
        BatchHeader {
            base_offset: self.base_offset,
            batch_length: 100,
            leader_epoch: 0,
            magic: 2,
            checksum: 0,
            attributes: if self.transactional { 0x10 } else { 0 },
            last_offset_delta: self.count - 1,
            base_timestamp: self.timestamp,
            max_timestamp: self.timestamp,
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            base_sequence: self.sequence,
            record_count: self.count,
        }
    }

    /// The header of a marker at this offset.
    fn marker(self) -> BatchHeader {
        BatchHeader { attributes: 0x30, ..Self { count: 1, sequence: -1, ..self }.header() }
    }

    fn at(self, base_offset: i64, sequence: i32) -> Self {
        Self { base_offset, sequence, ..self }
    }
}

fn noted(batches: &[Batch]) -> ProducerStates {
    let mut states = ProducerStates::default();
    batches.iter().for_each(|batch| states.note(&batch.header()));
    states
}

#[test]
fn a_partition_without_producers_costs_a_pointer() {
    assert_eq!(size_of::<ProducerStates>(), size_of::<usize>());
    let mut states = noted(&[Batch { producer_id: -1, ..FIRST }]);
    states.high_watermark_moved(10);
    states.truncate(10);
    assert!(states.known.is_none());
    assert!(ProducerStates::restore(Vec::new()).known.is_none());
    let mut states = noted(&[FIRST]);
    states.expire(2000, 1000);
    assert!(states.known.is_none(), "and again once all have expired");
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    let states = noted(&[FIRST]);
    let other = Batch { producer_id: 8, ..FIRST }.at(0, 500);
    assert_eq!(states.check(&other.header()), Ok(Verdict::Append));
}

#[test]
fn the_last_five_batches_are_known_again() {
    let batches: Vec<_> = (0..6).map(|number| FIRST.at(number * 2, number as i32 * 2)).collect();
    let states = noted(&batches);
    for batch in &batches[1..] {
        let verdict = Verdict::Duplicate { base_offset: batch.base_offset, last_offset: batch.base_offset + 1 };
        assert_eq!(states.check(&FIRST.at(0, batch.sequence).header()), Ok(verdict));
    }
    let check = |batch: Batch| states.check(&batch.header());
    assert_eq!(check(FIRST), Err(SequenceError::OutOfOrder { sequence: 0, expected: 12 }));
    assert_eq!(
        check(Batch { count: 3, ..FIRST.at(0, 10) }),
        Err(SequenceError::OutOfOrder { sequence: 10, expected: 12 }),
        "of another length it is no retry"
    );
    assert_eq!(check(FIRST.at(0, 12)), Ok(Verdict::Append));
}

#[test]
fn sequences_go_on_at_zero_behind_the_largest() {
    let states = noted(&[FIRST.at(0, i32::MAX - 1)]);
    assert_eq!(states.check(&FIRST.at(2, 0).header()), Ok(Verdict::Append));
    let states = noted(&[FIRST.at(0, i32::MAX)]);
    assert_eq!(states.check(&FIRST.at(2, 1).header()), Ok(Verdict::Append));
    let retry = states.check(&FIRST.at(2, i32::MAX).header());
    assert_eq!(retry, Ok(Verdict::Duplicate { base_offset: 0, last_offset: 1 }));
}

#[test]
fn a_new_epoch_begins_at_sequence_zero_and_fences_the_old() {
    let mut states = noted(&[FIRST]);
    let newer = Batch { epoch: 2, base_offset: 2, ..FIRST };
    assert_eq!(states.check(&newer.at(2, 2).header()), Err(SequenceError::OutOfOrder { sequence: 2, expected: 0 }));
    assert_eq!(states.check(&newer.header()), Ok(Verdict::Append), "sequence 0 again, but of another epoch");
    states.note(&newer.header());
    let stale = states.check(&FIRST.at(4, 2).header());
    assert_eq!(stale, Err(SequenceError::StaleEpoch { epoch: 1, current: 2 }));
}

#[test]
fn a_batch_without_a_sequence_is_held_to_its_epoch_only() {
    let mut states = noted(&[TRANSACTIONAL.at(0, -1)]);
    assert_eq!(states.check(&TRANSACTIONAL.at(2, -1).header()), Ok(Verdict::Append));
    states.note(&TRANSACTIONAL.at(2, -1).header());
    let stale = Batch { epoch: 0, ..TRANSACTIONAL }.at(4, -1);
    assert!(matches!(states.check(&stale.header()), Err(SequenceError::StaleEpoch { .. })));
    assert_eq!((states.snapshot()[0].last_sequence, states.snapshot()[0].last_offset), (-1, 3));
}

#[test]
fn a_transaction_is_open_from_its_first_batch_to_its_marker() {
    let mut states = noted(&[TRANSACTIONAL.at(10, 0), TRANSACTIONAL.at(12, 2)]);
    assert_eq!(states.first_unstable_offset(), Some(10));
    let open = OpenTransaction { producer_id: 7, producer_epoch: 1, first_offset: 10, last_timestamp: 1000 };
    assert_eq!(states.open_transactions().collect::<Vec<_>>(), [open]);
    assert_eq!(states.check(&FIRST.at(14, 4).header()), Err(SequenceError::TransactionOpen { first_offset: 10 }));
    let abort = EndTransactionMarker { commit: false, ..COMMIT };
    let completed = states.note_marker(&FIRST.at(14, 0).marker(), &abort).expect("one was open");
    let expected = CompletedTransaction { producer_id: 7, first_offset: 10, last_offset: 14, aborted: true };
    assert_eq!(completed, expected);
    assert_eq!(states.open_transactions().count(), 0);
    states.high_watermark_moved(14);
    assert_eq!(states.first_unstable_offset(), Some(10), "the marker is not below the high watermark");
    states.high_watermark_moved(15);
    assert_eq!(states.first_unstable_offset(), None);
}

#[test]
fn the_index_notes_the_oldest_transaction_still_open() {
    let other = Batch { producer_id: 8, ..TRANSACTIONAL };
    let mut states = noted(&[TRANSACTIONAL.at(0, 0), other.at(2, 0), TRANSACTIONAL.at(4, 2)]);
    let completed = states.note_marker(&FIRST.at(6, 0).marker(), &COMMIT).expect("one was open");
    assert_eq!(states.last_stable_offset_after(&completed, 7), 2);
    let completed = states.note_marker(&other.at(7, 0).marker(), &COMMIT).expect("one was open");
    assert_eq!(states.last_stable_offset_after(&completed, 8), 8);
}

#[test]
fn a_marker_of_a_higher_epoch_starts_the_producers_sequence_over() {
    let mut states = noted(&[TRANSACTIONAL]);
    let bumped = Batch { epoch: 2, ..TRANSACTIONAL };
    states.note_marker(&bumped.at(2, 0).marker(), &COMMIT).expect("one was open");
    assert_eq!(states.check(&bumped.at(3, 0).header()), Ok(Verdict::Append));
    assert_eq!(states.check(&bumped.at(3, 2).header()), Err(SequenceError::OutOfOrder { sequence: 2, expected: 0 }));
    assert!(matches!(states.check(&TRANSACTIONAL.at(3, 2).header()), Err(SequenceError::StaleEpoch { .. })));
}

#[test]
fn a_marker_of_the_same_epoch_leaves_the_sequence() {
    let mut states = noted(&[TRANSACTIONAL]);
    states.note_marker(&TRANSACTIONAL.at(2, 0).marker(), &COMMIT).expect("one was open");
    assert_eq!(states.check(&TRANSACTIONAL.at(3, 2).header()), Ok(Verdict::Append));
    let retry = states.check(&TRANSACTIONAL.at(3, 0).header());
    assert_eq!(retry, Ok(Verdict::Duplicate { base_offset: 0, last_offset: 1 }));
}

#[test]
fn what_compaction_left_of_a_marker_still_fences_its_producers_older_epochs() {
    let mut states = ProducerStates::default();
    states.note_spent_marker(&Batch { epoch: 2, ..TRANSACTIONAL }.marker());
    assert_eq!(states.first_unstable_offset(), None);
    let late = states.check(&TRANSACTIONAL.header());
    assert_eq!(late, Err(SequenceError::StaleEpoch { epoch: 1, current: 2 }));
}

#[test]
fn a_marker_without_a_transaction_completes_nothing_but_is_known() {
    let mut states = ProducerStates::default();
    assert_eq!(states.note_marker(&Batch { epoch: 5, ..FIRST }.marker(), &COMMIT), None);
    assert_eq!(states.first_unstable_offset(), None);
    assert!(matches!(states.check(&FIRST.header()), Err(SequenceError::StaleEpoch { epoch: 1, current: 5 })));
    let metadata_quorum = Batch { producer_id: -1, ..FIRST };
    assert_eq!(states.note_marker(&metadata_quorum.marker(), &COMMIT), None);
    assert_eq!(states.len(), 1);
}

#[test]
fn markers_of_replaced_producers_and_coordinators_are_fenced() {
    let mut states = noted(&[TRANSACTIONAL]);
    assert_eq!(states.check_marker(7, 0, false, 9), Err(MarkerError::StaleEpoch { epoch: 0, current: 1 }));
    assert_eq!(states.check_marker(7, 1, false, 0), Ok(()));
    assert_eq!(states.check_marker(99, 0, false, 0), Ok(()), "nothing is known of it");
    states.note_marker(&TRANSACTIONAL.at(2, 0).marker(), &COMMIT);
    let fenced = MarkerError::CoordinatorFenced { coordinator_epoch: 2, current: 3 };
    assert_eq!(states.check_marker(7, 2, false, 2), Err(fenced));
    assert_eq!(states.check_marker(7, 1, false, 3), Ok(()), "the same coordinator may repeat itself");
}

#[test]
fn silent_producers_expire_but_not_with_an_open_transaction() {
    let open = Batch { producer_id: 8, ..TRANSACTIONAL };
    let later = Batch { producer_id: 9, timestamp: 1001, ..FIRST };
    let mut states = noted(&[FIRST, open.at(2, 0), later.at(4, 0)]);
    states.expire(1999, 1000);
    assert_eq!(states.len(), 3);
    states.expire(2000, 1000);
    let left: Vec<_> = states.snapshot().iter().map(|entry| entry.producer_id).collect();
    assert_eq!(left, [8, 9]);
}

#[test]
fn deleted_records_leave_producers_and_move_what_is_unstable() {
    let mut states = noted(&[FIRST, Batch { producer_id: 8, ..TRANSACTIONAL }.at(2, 0)]);
    states.truncate(3);
    assert_eq!(states.first_unstable_offset(), Some(3), "the transaction is open, but its first record is gone");
    let retry = states.check(&FIRST.header());
    assert_eq!(retry, Ok(Verdict::Duplicate { base_offset: 0, last_offset: 1 }));
    states.note_marker(&Batch { producer_id: 8, ..FIRST }.at(4, 0).marker(), &COMMIT).expect("it was open");
    states.truncate(5);
    assert_eq!(states.first_unstable_offset(), None);
}

#[test]
fn the_number_of_producers_is_bounded_and_the_longest_silent_go() {
    let mut states = ProducerStates::default();
    let open = Batch { timestamp: 0, ..TRANSACTIONAL };
    states.note(&open.header());
    let last = bound::PRODUCERS_MAX as i64 + 1000;
    for producer_id in 1000..=last {
        states.note(&Batch { producer_id, timestamp: producer_id, ..FIRST }.at(producer_id, 0).header());
        assert!(states.len() <= bound::PRODUCERS_MAX);
    }
    assert!(states.producer(7).is_some(), "its transaction is open");
    assert!(states.producer(1000).is_none());
    assert!(states.producer(last).is_some() && states.len() > bound::PRODUCERS_MAX / 2);
}
