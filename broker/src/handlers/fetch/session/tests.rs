use std::collections::BTreeMap;
use std::sync::Arc;

use pillion_wire::messages::fetch::ForgottenTopic;
use proptest::prelude::*;
use uuid::Uuid;

use super::super::wanted::{WantedTopic, forgotten};
use super::*;

const NOTHING_FORGOTTEN: [PartitionKey<'_>; 0] = [];
const STILL: Report = report(0);

const fn report(high_watermark: i64) -> Report {
    let marks = Marks { high_watermark, last_stable_offset: high_watermark, log_start_offset: 0 };
    Report { marks, has_records: false, has_error: false }
}

fn want(topic: usize, partition: i32, fetch_offset: i64) -> Wanted {
    Wanted {
        topic: Arc::new(WantedTopic::new(Uuid::nil(), format!("topic-{topic}"), false)),
        partition,
        current_leader_epoch: -1,
        fetch_offset,
        last_fetched_epoch: -1,
        bytes_max: 1,
    }
}

fn forget(topic: usize, partition: i32) -> ForgottenTopic {
    ForgottenTopic { topic: format!("topic-{topic}"), partitions: vec![partition], ..ForgottenTopic::default() }
}

fn places(session: &FetchSession) -> Vec<(String, i32, i64)> {
    let place = |wanted: Wanted| (wanted.topic.name.clone(), wanted.partition, wanted.fetch_offset);
    session.wanted().into_iter().map(place).collect()
}

#[test]
fn every_request_counts_the_epoch_up() {
    let mut session = FetchSession::new(7, false, &[want(0, 0, 0)]);
    for epoch in 1..5 {
        for wrong in [epoch - 1, epoch + 1, -2, i32::MAX] {
            let refused = session.go_on(wrong, false, Vec::new(), NOTHING_FORGOTTEN.into_iter());
            assert_eq!(refused, Err(ErrorCode::InvalidFetchSessionEpoch), "{wrong} instead of {epoch}");
        }
        assert_eq!(session.go_on(epoch, false, Vec::new(), NOTHING_FORGOTTEN.into_iter()), Ok(()));
        assert!(session.is_answering(epoch) && !session.is_answering(epoch - 1) && !session.is_answering(epoch + 1));
    }
}

#[test]
fn the_epoch_after_the_largest_is_one() {
    let mut session = FetchSession::new(7, false, &[want(0, 0, 0)]);
    session.epoch = i32::MAX;
    assert_eq!(session.go_on(i32::MAX, false, Vec::new(), NOTHING_FORGOTTEN.into_iter()), Ok(()));
    assert!(session.is_answering(i32::MAX));
    assert_eq!(session.go_on(1, false, Vec::new(), NOTHING_FORGOTTEN.into_iter()), Ok(()));
}

#[test]
fn names_do_not_become_ids() {
    for by_id in [false, true] {
        let mut session = FetchSession::new(7, by_id, &[want(0, 0, 0)]);
        let refused = session.go_on(1, !by_id, vec![want(0, 1, 0)], NOTHING_FORGOTTEN.into_iter());
        assert_eq!(refused, Err(ErrorCode::FetchSessionTopicIdError));
        assert_eq!(session.len(), 1);
        assert_eq!(session.go_on(1, by_id, Vec::new(), NOTHING_FORGOTTEN.into_iter()), Ok(()));
    }
}

#[test]
fn partitions_are_added_changed_and_forgotten() {
    let mut session = FetchSession::new(7, false, &[want(1, 0, 10), want(0, 1, 20), want(1, 0, 11)]);
    let named = |topic: usize, partition, offset| (format!("topic-{topic}"), partition, offset);
    assert_eq!(places(&session), [named(0, 1, 20), named(1, 0, 11)], "of two the last counts");
    let gone = [forget(0, 1), forget(5, 5), forget(0, 1)];
    session.go_on(1, false, vec![want(1, 0, 12), want(0, 0, 30), want(0, 0, 31)], forgotten(&gone)).expect("goes on");
    assert_eq!(places(&session), [named(0, 0, 31), named(1, 0, 12)]);
    let gone = [forget(1, 0), forget(0, 0), forget(0, 7)];
    session.go_on(2, false, vec![want(0, 7, 0)], forgotten(&gone)).expect("goes on");
    assert_eq!(session.len(), 0, "what is added and forgotten in one request is forgotten");
}

#[test]
fn what_is_looked_at_first_stays_so_through_changes() {
    let mut session = FetchSession::new(7, false, &[want(0, 0, 0), want(0, 2, 0), want(0, 4, 0)]);
    assert_eq!(session.first(), 0);
    session.begin_with(Some(&want(0, 2, 99)));
    assert_eq!(session.first(), 1);
    session.go_on(1, false, vec![want(0, 1, 0)], NOTHING_FORGOTTEN.into_iter()).expect("goes on");
    assert_eq!(session.first(), 2);
    session.go_on(2, false, Vec::new(), forgotten(&[forget(0, 2)])).expect("goes on");
    assert_eq!(session.first(), 2, "the one behind it");
    session.go_on(3, false, Vec::new(), forgotten(&[forget(0, 4)])).expect("goes on");
    assert_eq!(session.first(), 0, "after the last comes the first");
    session.begin_with(None);
    assert_eq!(session.first(), 0);
}

#[test]
fn a_partition_is_spoken_of_when_there_is_something_to_say() {
    let mut session = FetchSession::new(7, false, &[want(0, 0, 0)]);
    let wanted = want(0, 0, 0);
    let marks = |high_watermark, last_stable_offset, log_start_offset| Report {
        marks: Marks { high_watermark, last_stable_offset, log_start_offset },
        ..STILL
    };
    let cases = [
        ("is new", STILL, true),
        ("rests", STILL, false),
        ("has records", Report { has_records: true, ..STILL }, true),
        ("rests again", STILL, false),
        ("has a new high watermark", marks(3, 0, 0), true),
        ("has a new last stable offset", marks(3, 2, 0), true),
        ("has a new log start offset", marks(3, 2, 1), true),
        ("rests", marks(3, 2, 1), false),
        ("fails", Report { has_error: true, ..marks(3, 2, 1) }, true),
        ("still fails", Report { has_error: true, ..marks(3, 2, 1) }, true),
        ("fails no more", marks(3, 2, 1), true),
        ("rests", marks(3, 2, 1), false),
    ];
    for (what, report, told) in cases {
        // Where it is supposed to be only makes it quicker.
        for place in [9, 0] {
            assert_eq!(session.tell(place, &wanted, report), told, "it {what}");
            if told && !report.has_records && !report.has_error {
                break;
            }
        }
    }
}

/// What happens between two fetches.
#[derive(Debug, Clone)]
enum Step {
    /// Records are appended to a partition.
    Append { topic: usize, partition: i32 },
    /// A partition's log start moves up to its end.
    Delete { topic: usize, partition: i32 },
    /// A partition begins, or stops, to fail.
    Fail { topic: usize, partition: i32 },
    /// The client reads on in a partition it wants, or begins to want it.
    Want { topic: usize, partition: i32 },
    /// The client wants no more of it.
    Forget { topic: usize, partition: i32 },
    /// The client fetches what has changed.
    Fetch,
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0..3_usize, 0..3_i32);
    (0..8_u8, place).prop_map(|(kind, (topic, partition))| match kind {
        0 | 1 => Step::Append { topic, partition },
        2 => Step::Delete { topic, partition },
        3 => Step::Fail { topic, partition },
        4 => Step::Want { topic, partition },
        5 => Step::Forget { topic, partition },
        _ => Step::Fetch,
    })
}

/// What an answer says of a partition: its marks, or that it fails.
type Said = Result<Marks, ()>;

/// A broker's partitions and a client that keeps what it has been told.
#[derive(Default)]
struct Model {
    partitions: BTreeMap<(usize, i32), (Option<Marks>, bool)>,
    /// Wanted partitions, the offset wanted, and what was said of them last.
    client: BTreeMap<(usize, i32), (i64, Option<Said>)>,
    /// What was said of partitions that the broker has not been told to forget yet.
    set_aside: BTreeMap<(usize, i32), Option<Said>>,
    changed: Vec<Wanted>,
    forgotten: Vec<ForgottenTopic>,
}

impl Model {
    fn marks(&self, key: (usize, i32)) -> (Marks, bool) {
        let (marks, fails) = self.partitions.get(&key).copied().unwrap_or_default();
        (marks.unwrap_or(STILL.marks), fails)
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Append { topic, partition } => {
                let (marks, fails) = self.marks((topic, partition));
                let (high_watermark, last_stable_offset) = (marks.high_watermark + 2, marks.high_watermark + 1);
                let marks = Marks { high_watermark, last_stable_offset, ..marks };
                self.partitions.insert((topic, partition), (Some(marks), fails));
            }
            Step::Delete { topic, partition } => {
                let (marks, fails) = self.marks((topic, partition));
                let marks = Marks { log_start_offset: marks.high_watermark, ..marks };
                self.partitions.insert((topic, partition), (Some(marks), fails));
            }
            Step::Fail { topic, partition } => {
                let (marks, fails) = self.marks((topic, partition));
                self.partitions.insert((topic, partition), (Some(marks), !fails));
            }
            Step::Want { topic, partition } => {
                let key = (topic, partition);
                let offset = self.marks(key).0.high_watermark;
                let known = self.set_aside.remove(&key).flatten();
                self.client.entry(key).or_insert((offset, known)).0 = offset;
                self.changed.push(want(topic, partition, offset));
                self.forgotten.retain(|gone| *gone != forget(topic, partition));
            }
            Step::Forget { topic, partition } => {
                if let Some((_, known)) = self.client.remove(&(topic, partition)) {
                    self.set_aside.insert((topic, partition), known);
                    self.changed.retain(|wanted| wanted.key() != want(topic, partition, 0).key());
                    self.forgotten.push(forget(topic, partition));
                }
            }
            Step::Fetch => {}
        }
    }

    /// What a whole fetch would say of a partition, and whether there are records for it.
    fn truth(&self, wanted: &Wanted) -> (Said, bool) {
        let topic = wanted.topic.name.trim_start_matches("topic-").parse().expect("a number");
        let (marks, fails) = self.marks((topic, wanted.partition));
        (if fails { Err(()) } else { Ok(marks) }, !fails && wanted.fetch_offset < marks.high_watermark)
    }

    /// Fetches within a session; the client ends up knowing what a whole fetch would have told it.
    fn fetch(&mut self, session: &mut FetchSession, epoch: i32) -> Result<(), TestCaseError> {
        let changed = std::mem::take(&mut self.changed);
        let gone = std::mem::take(&mut self.forgotten);
        self.set_aside.clear();
        prop_assert_eq!(session.go_on(epoch, false, changed, forgotten(&gone)), Ok(()));
        let wanted = session.wanted();
        prop_assert_eq!(wanted.len(), self.client.len(), "the session holds what the client wants");
        for (wanted, place) in wanted.iter().zip(0..) {
            let (truth, has_records) = self.truth(wanted);
            let marks = truth.unwrap_or(Marks { high_watermark: -1, last_stable_offset: -1, log_start_offset: -1 });
            let is_told = session.tell(place, wanted, Report { marks, has_records, has_error: truth.is_err() });
            let key = self.client.keys().nth(place).copied().expect("in the same order");
            let (offset, known) = self.client.get_mut(&key).expect("it is wanted");
            prop_assert_eq!(wanted.fetch_offset, *offset);
            let must = has_records || truth.is_err() || *known != Some(truth);
            prop_assert_eq!(is_told, must, "{:?} was {:?} and is {:?}", key, known, truth);
            if is_told {
                *known = Some(truth);
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_client_of_a_session_knows_what_whole_fetches_would_tell(steps in prop::collection::vec(step(), 1..120)) {
        let mut model = Model::default();
        let mut session = FetchSession::new(7, false, &[]);
        let mut epoch = 1;
        for step in steps.iter().chain([&Step::Fetch, &Step::Fetch]) {
            model.apply(step);
            if matches!(step, Step::Fetch) {
                model.fetch(&mut session, epoch)?;
                epoch += 1;
            }
        }
    }
}
