//! Producers and coordinators that do anything, against the plain account of [`super::model`].

use proptest::prelude::*;

use super::model::{Model, PRODUCERS, Written};
use super::*;

const EXPIRATION_MS: i64 = 50;

#[derive(Clone, Copy, Debug)]
enum Sequence {
    Next,
    Zero,
    Ahead(i32),
    Back(usize),
    None,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Data { producer_id: i64, epoch_change: i16, sequence: Sequence, count: i32, transactional: bool },
    Marker { producer_id: i64, epoch_change: i16, coordinator_epoch: i32, commit: bool },
    HighWatermark(i64),
    DeleteRecords(i64),
    Pass(i64),
    Expire,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let producer_id = 0..PRODUCERS;
    let sequence = prop_oneof![
        8 => Just(Sequence::Next),
        2 => Just(Sequence::Zero),
        1 => (1..4).prop_map(Sequence::Ahead),
        3 => (0_usize..8).prop_map(Sequence::Back),
        1 => Just(Sequence::None),
    ];
    let epoch_change = prop_oneof![8 => Just(0_i16), 1 => Just(1), 1 => Just(-1)];
    prop_oneof![
        12 => (producer_id.clone(), epoch_change.clone(), sequence, 1..4, any::<bool>()).prop_map(
            |(producer_id, epoch_change, sequence, count, transactional)| Step::Data {
                producer_id, epoch_change, sequence, count, transactional
            }
        ),
        4 => (producer_id, epoch_change, 0..3, any::<bool>()).prop_map(
            |(producer_id, epoch_change, coordinator_epoch, commit)| Step::Marker {
                producer_id, epoch_change, coordinator_epoch, commit
            }
        ),
        4 => (0_i64..6).prop_map(Step::HighWatermark),
        1 => (0_i64..6).prop_map(Step::DeleteRecords),
        2 => (0_i64..40).prop_map(Step::Pass),
        1 => Just(Step::Expire),
        1 => Just(Step::Restart),
    ]
}

fn of_sequence(error: SequenceError) -> &'static str {
    match error {
        SequenceError::StaleEpoch { .. } => "stale",
        SequenceError::OutOfOrder { .. } => "out of order",
        SequenceError::TransactionOpen { .. } => "transaction open",
    }
}

fn of_marker(error: MarkerError) -> &'static str {
    match error {
        MarkerError::StaleEpoch { .. } => "stale",
        MarkerError::CoordinatorFenced { .. } => "fenced",
    }
}

/// Both, and what they must agree on.
#[derive(Default)]
struct Both {
    states: ProducerStates,
    model: Model,
    last_stable_offset: i64,
}

impl Both {
    fn data(&mut self, producer_id: i64, epoch_change: i16, sequence: Sequence, count: i32, transactional: bool) {
        let model = &mut self.model;
        let epoch = (model.epoch(producer_id).unwrap_or(0) + epoch_change).max(0);
        let next = model.next_sequence(producer_id);
        let batches = model.batches(producer_id);
        let (sequence, count) = match sequence {
            Sequence::Next => (next, count),
            Sequence::Zero => (0, count),
            Sequence::Ahead(by) => (next + by, count),
            Sequence::Back(back) => {
                batches.get(back).map_or((next, count), |(_, sequence, count, _)| (*sequence, *count))
            }
            // Only the group coordinator leaves the sequence out, always in transactions.
            Sequence::None => (if transactional { -1 } else { next }, count),
        };
        let base_offset = model.end;
        let batch = Batch { producer_id, epoch, sequence, base_offset, count, transactional, timestamp: model.now };
        let verdict = self.states.check(&batch.header()).map_err(of_sequence);
        assert_eq!(verdict, model.expected(&batch), "{producer_id} in epoch {epoch} at {sequence}");
        if verdict == Ok(Verdict::Append) {
            self.states.note(&batch.header());
            let (offset, at) = (base_offset, model.now);
            model.log.push(Written::Data { producer_id, epoch, sequence, offset, count, transactional, at });
            model.end += i64::from(count);
        }
    }

    fn marker(&mut self, producer_id: i64, epoch_change: i16, coordinator_epoch: i32, commit: bool) {
        let model = &mut self.model;
        let epoch = (model.epoch(producer_id).unwrap_or(0) + epoch_change).max(0);
        let verdict = self.states.check_marker(producer_id, epoch, false, coordinator_epoch).map_err(of_marker);
        assert_eq!(verdict, model.expected_marker(producer_id, epoch, coordinator_epoch));
        if verdict.is_err() {
            return;
        }
        let (offset, at) = (model.end, model.now);
        let open = model.open().into_iter().find(|(_, id)| *id == producer_id);
        let expected = open.map(|(first_offset, _)| CompletedTransaction {
            producer_id,
            first_offset,
            last_offset: offset,
            aborted: !commit,
        });
        let batch = Batch { producer_id, epoch, base_offset: offset, timestamp: at, ..FIRST };
        let completed = self.states.note_marker(&batch.marker(), &EndTransactionMarker { commit, coordinator_epoch });
        assert_eq!(completed, expected);
        model.log.push(Written::Marker { producer_id, epoch, coordinator_epoch, offset, at });
        model.end += 1;
        if let Some(completed) = completed {
            let expected = model.open().first().map_or(model.end, |(first, _)| *first);
            assert_eq!(self.states.last_stable_offset_after(&completed, model.end), expected);
        }
    }

    fn apply(&mut self, step: Step) {
        let model = &mut self.model;
        match step {
            Step::Data { producer_id, epoch_change, sequence, count, transactional } => {
                self.data(producer_id, epoch_change, sequence, count, transactional);
            }
            Step::Marker { producer_id, epoch_change, coordinator_epoch, commit } => {
                self.marker(producer_id, epoch_change, coordinator_epoch, commit);
            }
            Step::HighWatermark(by) => {
                model.high_watermark = (model.high_watermark + by).min(model.end);
                self.states.high_watermark_moved(model.high_watermark);
            }
            Step::DeleteRecords(by) => {
                model.log_start = (model.log_start + by).min(model.high_watermark);
                self.states.truncate(model.log_start);
            }
            Step::Pass(by) => model.now += by,
            Step::Expire => {
                for producer_id in 0..PRODUCERS {
                    let silent =
                        model.known(producer_id).last().is_some_and(|(_, last)| last.at() <= model.now - EXPIRATION_MS);
                    if silent && !model.open().iter().any(|(_, id)| *id == producer_id) {
                        model.forgotten[producer_id as usize] = model.log.len();
                    }
                }
                self.states.expire(model.now, EXPIRATION_MS);
            }
            Step::Restart => {
                self.states = ProducerStates::restore(self.states.snapshot());
                self.states.truncate(model.log_start);
                (model.restarted, model.high_watermark) = (model.log.len(), model.end);
            }
        }
    }

    fn agree(&mut self) {
        let model = &self.model;
        assert_eq!(self.states.first_unstable_offset(), model.first_unstable());
        let open: Vec<_> = self.states.open_transactions().map(|open| (open.first_offset, open.producer_id)).collect();
        assert_eq!(open, model.open());
        let known = (0..PRODUCERS).filter(|producer_id| !model.known(*producer_id).is_empty()).count();
        assert_eq!(self.states.len(), known);
        let last_stable_offset =
            self.states.first_unstable_offset().map_or(model.high_watermark, |first| first.min(model.high_watermark));
        assert!(last_stable_offset >= self.last_stable_offset, "the last stable offset went back");
        self.last_stable_offset = last_stable_offset;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_producers_do_the_state_is_what_the_log_says(steps in prop::collection::vec(step(), 0..80)) {
        let mut both = Both::default();
        for step in steps {
            both.apply(step);
            both.agree();
        }
    }
}
