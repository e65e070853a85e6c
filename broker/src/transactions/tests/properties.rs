//! Producers that do anything at any time, a log and markers that are quick, slow or fail, and crashes, against a plain
//! account of what was written down and what producers were told.
//!
//! Each transaction writes to partitions of its own, so that the account can follow its fate by them. Whatever happens:
//! an epoch is given to one producer only, and never after a later one; no answer comes before what it tells of is
//! durable; a fate that is decided stays; and in the end every transaction has ended, and nobody waits.

mod account;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use proptest::prelude::*;

use super::super::event::{ProducerIdentity, Protocol, TopicPartition};
use super::super::state::TransactionState;
use super::harness::{Harness, TIMEOUT_MS};
use super::values::{identity, orders, written};
use crate::hosting::WaiterId;

const CLIENTS: usize = 4;
const PROTOCOLS: [Protocol; CLIENTS] = [Protocol::EpochBump, Protocol::EpochBump, Protocol::Classic, Protocol::Classic];

#[derive(Clone, Copy, Debug)]
enum Step {
    Init(usize),
    Recover(usize),
    Add(usize),
    End(usize, bool),
    /// An EndTxn that was sent before comes once more.
    EndAgain(usize),
    /// A producer that may write to a partition does.
    Write(usize),
    MakeDurable,
    WriteMarkers,
    FailMarkers(bool),
    Pass(u64),
    FailLog,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        4 => client.clone().prop_map(Step::Init),
        2 => client.clone().prop_map(Step::Recover),
        10 => client.clone().prop_map(Step::Add),
        8 => (client.clone(), any::<bool>()).prop_map(|(client, commit)| Step::End(client, commit)),
        4 => client.clone().prop_map(Step::EndAgain),
        6 => client.prop_map(Step::Write),
        16 => Just(Step::MakeDurable),
        8 => Just(Step::WriteMarkers),
        2 => any::<bool>().prop_map(Step::FailMarkers),
        4 => (1_u64..2_000).prop_map(Step::Pass),
        1 => Just(Step::Pass(TIMEOUT_MS as u64)),
        1 => Just(Step::FailLog),
        1 => Just(Step::Crash),
    ]
}

/// An EndTxn as a client sent it, with the partitions it knew to be in its transaction.
#[derive(Clone, Debug)]
struct SentEnd {
    producer: ProducerIdentity,
    commit: bool,
    partitions: BTreeSet<TopicPartition>,
}

/// One client as it sees itself.
#[derive(Clone, Default)]
struct Client {
    producer: Option<ProducerIdentity>,
    /// Partitions it was told are in its transaction.
    added: BTreeSet<TopicPartition>,
    last_end: Option<SentEnd>,
    /// Whether it has not heard yet how its transaction ended: it asks again then, or begins anew.
    is_ending: bool,
}

/// What a waiter asked for.
enum Asked {
    Init(usize),
    Add(usize, ProducerIdentity, TopicPartition),
    End(usize, SentEnd),
}

struct World {
    harness: Harness,
    clients: Vec<Client>,
    asked: HashMap<WaiterId, Asked>,
    /// Who was given which id and epoch.
    owners: BTreeMap<(i64, i16), usize>,
    next_partition: i32,
    /// Records of the log and markers looked at so far.
    records_seen: usize,
    markers_seen: usize,
    /// What is durably in a transaction, and of which producer.
    opened: BTreeMap<TopicPartition, ProducerIdentity>,
    /// The fate of a partition's transaction, once it is durable.
    fates: BTreeMap<TopicPartition, bool>,
    ended: BTreeSet<TopicPartition>,
}

impl World {
    fn new(epoch: Option<i16>) -> Self {
        let mut harness = match epoch {
            Some(epoch) => Harness::reading([written(identity(7, epoch), TransactionState::Empty)]),
            None => Harness::new(),
        };
        (harness.is_log_prompt, harness.are_markers_prompt) = (false, false);
        Self {
            harness,
            clients: vec![Client::default(); CLIENTS],
            asked: HashMap::new(),
            owners: BTreeMap::new(),
            next_partition: 0,
            records_seen: 0,
            markers_seen: 0,
            opened: BTreeMap::new(),
            fates: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Init(client) => self.init(client, None),
            Step::Recover(client) => self.init(client, self.clients[client].producer),
            Step::Add(client) => self.add(client),
            Step::End(client, commit) => self.end(client, commit),
            Step::EndAgain(client) => {
                if let Some(end) = self.clients[client].last_end.clone() {
                    self.send_end(client, end);
                }
            }
            Step::Write(client) => self.write(client),
            Step::MakeDurable => self.harness.flush_one(),
            Step::WriteMarkers => self.report_markers(Vec::new()),
            Step::FailMarkers(all) => {
                let asked = self.harness.markers.front().map(|markers| markers.partitions.clone()).unwrap_or_default();
                let missing = if all { asked } else { asked.into_iter().take(1).collect() };
                self.report_markers(missing);
            }
            Step::Pass(wait_ms) => self.harness.pass(Duration::from_millis(wait_ms)),
            Step::FailLog => {
                self.harness.fail_log();
                self.look();
                assert!(self.asked.is_empty(), "all who wait are told");
                self.harness.restart();
            }
            Step::Crash => {
                self.look();
                self.asked.clear();
                self.harness.restart();
            }
        }
        self.look();
    }

    fn init(&mut self, client: usize, current: Option<ProducerIdentity>) {
        let waiter = self.harness.init_as(current, TIMEOUT_MS);
        self.asked.insert(waiter, Asked::Init(client));
    }

    fn add(&mut self, client: usize) {
        let Some(producer) = self.clients[client].producer.filter(|_| !self.clients[client].is_ending) else { return };
        self.next_partition += 1;
        let partition = orders(self.next_partition);
        let waiter = self.harness.begin_add(producer, PROTOCOLS[client], std::slice::from_ref(&partition));
        self.asked.insert(waiter, Asked::Add(client, producer, partition));
    }

    fn end(&mut self, client: usize, commit: bool) {
        let Some(producer) = self.clients[client].producer else { return };
        let is_busy = self.asked.values().any(|asked| match asked {
            Asked::Init(of) | Asked::Add(of, ..) | Asked::End(of, _) => *of == client,
        });
        if is_busy || self.clients[client].is_ending {
            return;
        }
        let end = SentEnd { producer, commit, partitions: self.clients[client].added.clone() };
        self.clients[client].last_end = Some(end.clone());
        self.clients[client].is_ending = true;
        self.send_end(client, end);
    }

    fn send_end(&mut self, client: usize, end: SentEnd) {
        // A client of the old protocol that is done with a transaction must not ask again: its epoch stays.
        let is_over = self.clients[client].added != end.partitions
            || self.asked.values().any(|asked| matches!(asked, Asked::Add(of, ..) if *of == client));
        if PROTOCOLS[client] == Protocol::Classic && is_over {
            return;
        }
        let waiter = self.harness.begin_end(end.producer, PROTOCOLS[client], end.commit);
        self.asked.insert(waiter, Asked::End(client, end));
    }

    fn write(&mut self, client: usize) {
        let Some(producer) = self.clients[client].producer else { return };
        for number in 1..=self.next_partition {
            let partition = orders(number);
            if self.harness.verify(producer, &partition).is_ok() {
                assert_eq!(self.opened.get(&partition), Some(&producer), "nobody writes before that is durable");
                let under_way = self.harness.in_flight.iter().filter_map(|persist| persist.record.value.as_ref());
                let is_deciding = |value: &&super::super::record_codec::TransactionValue| {
                    value.state.is_prepared() && value.partitions.contains(&partition)
                };
                assert_eq!(under_way.filter(is_deciding).count(), 0, "nor when its end is asked for");
                assert_eq!(self.fates.get(&partition), None);
            }
        }
    }

    fn report_markers(&mut self, missing: Vec<TopicPartition>) {
        let Some(markers) = self.harness.markers.front().cloned() else { return };
        let written = markers.partitions.iter().filter(|partition| !missing.contains(partition));
        self.ended.extend(written.cloned());
        self.harness.report_markers(missing);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn transactions_come_out_right_whatever_producers_and_disks_do(
        epoch in proptest::option::of(i16::MAX - 6..i16::MAX),
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let mut world = World::new(epoch);
        for step in steps {
            world.step(step);
        }
        world.finish();
    }
}
