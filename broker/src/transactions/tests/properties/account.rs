//! What was written down and what producers were told, held against what was promised.

use std::time::Duration;

use super::super::super::action::Answer;
use super::super::super::event::ProducerIdentity;
use super::super::super::state::TransactionState;
use super::super::harness::{ID, TIMEOUT_MS};
use super::super::values::identity;
use super::{Asked, World};

impl World {
    /// Takes account of what became durable, of markers asked for, and of answers.
    pub(super) fn look(&mut self) {
        for record in &self.harness.log[self.records_seen..] {
            let Some(value) = &record.value else { continue };
            for partition in &value.partitions {
                match value.state {
                    TransactionState::Ongoing => {
                        assert_eq!(self.fates.get(partition), None, "what has ended is not open again");
                        let producer = identity(value.producer_id, value.epoch);
                        self.opened.insert(partition.clone(), producer);
                    }
                    TransactionState::PrepareCommit | TransactionState::PrepareAbort => {
                        let commit = value.state == TransactionState::PrepareCommit;
                        let before = self.fates.insert(partition.clone(), commit);
                        assert!(before.is_none_or(|before| before == commit), "{partition:?} has another fate");
                    }
                    state => panic!("partitions in {state:?}"),
                }
            }
        }
        self.records_seen = self.harness.log.len();
        for markers in &self.harness.all_markers[self.markers_seen..] {
            for partition in &markers.partitions {
                assert_eq!(self.fates.get(partition), Some(&markers.commit), "markers say what was decided");
            }
        }
        self.markers_seen = self.harness.all_markers.len();
        for (waiter, answer) in self.harness.take_answers() {
            let asked = self.asked.remove(&waiter);
            self.answered(asked.expect("somebody asked"), answer);
        }
    }

    fn answered(&mut self, asked: Asked, answer: Answer) {
        match (asked, answer) {
            (_, Answer::Refused(_)) => {}
            // The handler asks again.
            (Asked::Init(_) | Asked::End(..), Answer::NeedsProducerId) => {}
            (Asked::Init(client), Answer::Producer(producer)) => {
                let is_durable = self.harness.log.iter().filter_map(|record| record.value.as_ref());
                let is_durable =
                    is_durable.filter(|value| identity(value.producer_id, value.epoch) == producer).count() > 0;
                assert!(is_durable, "{producer:?} is told of and not written down");
                self.given(client, producer);
            }
            (Asked::Add(client, producer, partition), Answer::Added) => {
                assert_eq!(self.opened.get(&partition), Some(&producer));
                if self.clients[client].producer == Some(producer) {
                    self.clients[client].added.insert(partition);
                }
            }
            (Asked::End(client, end), Answer::Producer(producer)) => {
                for partition in &end.partitions {
                    assert_eq!(self.fates.get(partition), Some(&end.commit), "{partition:?} ended otherwise");
                    assert!(self.ended.contains(partition), "{partition:?} has no marker");
                }
                // A late answer to a retry concerns nobody.
                if self.clients[client].producer == Some(end.producer) {
                    self.given(client, producer);
                }
            }
            (_, answer) => panic!("{answer:?} is an answer to another request"),
        }
    }

    fn given(&mut self, client: usize, producer: ProducerIdentity) {
        let owner = *self.owners.entry((producer.id, producer.epoch)).or_insert(client);
        assert_eq!(owner, client, "{producer:?} is given to two");
        self.clients[client].producer = Some(producer);
        self.clients[client].added.clear();
        self.clients[client].is_ending = false;
    }

    /// From here on all goes well: whatever is open ends.
    pub(super) fn finish(&mut self) {
        for _ in 0..200 {
            self.harness.flush();
            self.look();
            while !self.harness.markers.is_empty() {
                self.report_markers(Vec::new());
                self.look();
            }
            if self.harness.in_flight.is_empty() {
                self.harness.pass(Duration::from_millis(TIMEOUT_MS as u64));
            }
            self.look();
        }
        assert!(self.asked.is_empty(), "somebody waits for ever");
        if let Some(value) = self.harness.shard.describe(ID) {
            assert!(value.state.is_idle(), "{value:?}");
        }
        assert_eq!(self.harness.shard.next_deadline(), None);
        for partition in self.opened.keys() {
            assert!(self.ended.contains(partition), "{partition:?} is open for ever");
        }
        let highest = self.owners.keys().next_back().copied();
        if let Some(highest) = highest {
            self.harness.is_log_prompt = true;
            let next = self.harness.init();
            assert!((next.id, next.epoch) > highest, "{next:?} after {highest:?}");
        }
    }
}
