//! Commits in and outside of transactions, deletions, expiry and restarts in any order, against what the log says.
//!
//! The account is no state machine: at every step it works out from all that is written what must be seen. A record
//! counts once it was reported durable; one of a transaction once the producer's next marker commits it; a deletion ends
//! all before it; of what is left the last in the log is seen.

use std::collections::HashMap;
use std::time::Duration;

use pillion_wire::ErrorCode;
use proptest::prelude::*;

use super::super::action::Answer;
use super::super::event::{Producer, WaiterId};
use super::super::record::GroupRecord;
use super::harness::{Entry, GROUP, Harness, partition_offset};

const PARTITIONS: [(&str, i32); 3] = [("orders", 0), ("orders", 1), ("stock", 0)];
const PRODUCERS: i64 = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Commit(usize),
    CommitInTransaction(i64, usize),
    /// As that, by a producer that a newer one has replaced.
    CommitFenced(i64, usize),
    EndTransaction(i64, bool),
    DeleteOffsets(usize),
    DeleteGroup,
    ForgetTopic(usize),
    ExpireOffsets(u64),
    MakeDurable,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let (partition, producer) = (0..PARTITIONS.len(), 0..PRODUCERS);
    prop_oneof![
        4 => partition.clone().prop_map(Step::Commit),
        8 => (producer.clone(), partition.clone()).prop_map(|(id, at)| Step::CommitInTransaction(id, at)),
        1 => (producer.clone(), partition.clone()).prop_map(|(id, at)| Step::CommitFenced(id, at)),
        4 => (producer, any::<bool>()).prop_map(|(id, is_committed)| Step::EndTransaction(id, is_committed)),
        1 => partition.clone().prop_map(Step::DeleteOffsets),
        1 => Just(Step::DeleteGroup),
        1 => partition.prop_map(Step::ForgetTopic),
        1 => (1_u64..9).prop_map(Step::ExpireOffsets),
        10 => Just(Step::MakeDurable),
        1 => Just(Step::Restart),
    ]
}

/// What must be seen of a partition.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    committed: Option<i64>,
    is_pending: bool,
}

#[derive(Default)]
struct World {
    harness: Harness,
    next_offset: i64,
    /// Offsets asked to be committed and not answered; they are all different.
    commits: HashMap<WaiterId, i64>,
    deletions: Vec<WaiterId>,
}

impl Default for Harness {
    fn default() -> Self {
        let mut harness = Self::new();
        harness.is_log_prompt = false;
        harness
    }
}

impl World {
    fn step(&mut self, step: Step) {
        match step {
            Step::Commit(at) => self.commit(None, at),
            Step::CommitInTransaction(id, at) => self.commit(Some(id), at),
            Step::CommitFenced(id, at) => {
                self.harness.is_producer_fenced = true;
                self.commit(Some(id), at);
                self.harness.is_producer_fenced = false;
            }
            Step::EndTransaction(id, is_committed) => self.harness.end_transaction(id, is_committed),
            Step::DeleteOffsets(at) => {
                self.harness.delete_offsets(&[PARTITIONS[at]]);
            }
            Step::DeleteGroup => {
                let waiter = self.harness.delete_group();
                self.deletions.push(waiter);
            }
            Step::ForgetTopic(at) => self.forget_topic(PARTITIONS[at].0),
            Step::ExpireOffsets(days) => self.expire_offsets(days),
            Step::MakeDurable => self.harness.flush_one(),
            Step::Restart => {
                self.harness.restart();
                self.commits.clear();
                self.deletions.clear();
            }
        }
        self.check();
    }

    fn commit(&mut self, producer_id: Option<i64>, at: usize) {
        let (topic, partition) = PARTITIONS[at];
        let mut commit = self.harness.commit_request("", -1, 0);
        commit.offsets = vec![partition_offset(topic, partition, self.next_offset, "")];
        commit.producer = producer_id.map(|id| Producer { id, epoch: 0, guard: None });
        let waiter = self.harness.commit_with(commit);
        self.commits.insert(waiter, self.next_offset);
        self.next_offset += 1;
    }

    /// The coordinator calls it once what is on its way is durable.
    fn forget_topic(&mut self, topic: &str) {
        self.harness.flush();
        let mut actions = Vec::new();
        self.harness.shard.forget_topic(topic, &mut actions);
        self.harness.settle(actions);
    }

    fn expire_offsets(&mut self, days: u64) {
        self.harness.pass(Duration::from_secs(days * 24 * 60 * 60));
        let before = self.harness.journal.len();
        let pending = PARTITIONS.map(|at| self.expected(at).is_pending);
        self.harness.expire_offsets();
        for (at, is_pending) in PARTITIONS.into_iter().zip(pending) {
            let is_deleted = self.harness.journal[before..].iter().any(|entry| is_deletion(entry, at));
            assert!(!(is_pending && is_deleted), "{at:?} expires though a transaction may yet change it");
        }
    }

    fn check(&mut self) {
        for at in PARTITIONS {
            assert_eq!(self.seen(at), self.expected(at), "{at:?} in {:?}", self.harness.journal);
        }
        let is_anything_there = PARTITIONS.iter().any(|at| self.expected(*at) != Seen::default());
        if self.harness.in_flight.is_empty() {
            assert_eq!(!self.harness.shard.list().is_empty(), is_anything_there, "a group is what it has committed");
        }
        for waiter in std::mem::take(&mut self.deletions) {
            match self.harness.answer(waiter) {
                None => self.deletions.push(waiter),
                Some(Answer::DeleteGroup(ErrorCode::None)) => assert!(!is_anything_there, "something is left"),
                Some(Answer::DeleteGroup(ErrorCode::GroupIdNotFound)) => {}
                Some(other) => panic!("unexpected answer to a deletion: {other:?}"),
            }
        }
        for (waiter, offset) in std::mem::take(&mut self.commits) {
            match self.harness.commit_results(waiter).as_deref() {
                None => {
                    self.commits.insert(waiter, offset);
                }
                Some([ErrorCode::None]) => assert!(self.is_durable(offset), "{offset} is confirmed too early"),
                Some([ErrorCode::InvalidProducerEpoch | ErrorCode::CoordinatorNotAvailable]) => {
                    assert!(!self.harness.journal.iter().any(|entry| offset_of(entry) == Some(offset)));
                }
                Some(other) => panic!("unexpected results of a commit: {other:?}"),
            }
        }
    }

    fn seen(&self, (topic, partition): (&str, i32)) -> Seen {
        Seen {
            committed: self.harness.shard.committed(GROUP, topic, partition).map(|committed| committed.offset),
            is_pending: self.harness.shard.is_pending(GROUP, topic, partition),
        }
    }

    fn expected(&self, at: (&str, i32)) -> Seen {
        let journal = &self.harness.journal;
        let deleted_to =
            (0..journal.len()).rfind(|place| self.is_reported(*place) && is_deletion(&journal[*place], at));
        let mut seen = Seen::default();
        for place in deleted_to.unwrap_or(0)..journal.len() {
            let Some(offset) = offset_of(&journal[place]).filter(|_| is_about(&journal[place], at)) else { continue };
            if !self.is_reported(place) {
                continue;
            }
            match fate(journal, place) {
                Some(true) => seen.committed = Some(offset),
                Some(false) => {}
                None => seen.is_pending = true,
            }
        }
        seen
    }

    fn is_reported(&self, place: usize) -> bool {
        let unreported = self.harness.in_flight.iter().map(|(offset, persist)| {
            let start = usize::try_from(*offset).unwrap();
            start..start + persist.records.len()
        });
        !unreported.into_iter().any(|places| places.contains(&place))
    }

    fn is_durable(&self, offset: i64) -> bool {
        let place = self.harness.journal.iter().position(|entry| offset_of(entry) == Some(offset));
        place.is_some_and(|place| place < self.harness.durable)
    }
}

/// Whether a record counts: always outside of transactions, else as the producer's next marker says, if there is one.
fn fate(journal: &[Entry], place: usize) -> Option<bool> {
    let Entry::Record { producer_id: Some(producer), .. } = &journal[place] else { return Some(true) };
    journal[place..].iter().find_map(|entry| match entry {
        Entry::Marker { producer_id, is_committed } if producer_id == producer => Some(*is_committed),
        _ => None,
    })
}

fn is_about(entry: &Entry, (topic, partition): (&str, i32)) -> bool {
    matches!(
        entry,
        Entry::Record { record: GroupRecord::Offset { topic: of, partition: at, .. }, .. }
            if **of == *topic && *at == partition
    )
}

fn is_deletion(entry: &Entry, at: (&str, i32)) -> bool {
    let is_tombstone = matches!(entry, Entry::Record { record: GroupRecord::Offset { committed: None, .. }, .. });
    is_tombstone && is_about(entry, at)
}

fn offset_of(entry: &Entry) -> Option<i64> {
    match entry {
        Entry::Record { record: GroupRecord::Offset { committed: Some(committed), .. }, .. } => Some(committed.offset),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_fetched_is_what_the_log_says(steps in proptest::collection::vec(step(), 0..80)) {
        let mut world = World::default();
        for step in steps {
            world.step(step);
        }
        world.harness.flush();
        world.check();
        world.step(Step::Restart);
        prop_assert!(world.commits.is_empty());
    }
}
