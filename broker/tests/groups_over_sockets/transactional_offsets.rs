use pillion_wire::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponsePartitions,
};
use pillion_wire::messages::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use pillion_wire::messages::{
    AddOffsetsToTxnRequest, EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, OffsetFetchRequest,
    TxnOffsetCommitRequest,
};
use pillion_wire::{ErrorCode, Message};
use uuid::Uuid;

use super::member::{commit, coordinator};
use super::support::{Client, TestBroker, create_topic, eventually};

const GROUP: &str = "saga";
/// The leader epoch a consumer commits: its own, whatever the broker's is.
const EPOCH: i32 = 7;
/// The first version with which the group's partition needs no adding.
const ADDS: i16 = 5;

/// A producer of one transactional id, and how it commits.
struct Producer {
    transactional_id: String,
    id: i64,
    epoch: i16,
    version: i16,
    topic_id: Uuid,
}

impl Producer {
    fn init(client: &mut Client, version: i16, topic_id: Uuid) -> Self {
        let transactional_id = format!("producer-{version}");
        let key = transactional_id.clone();
        let found = client.call(&FindCoordinatorRequest { key, key_type: 1, ..Default::default() }, 3);
        assert_eq!(found.error_code, 0);
        let request = InitProducerIdRequest {
            transactional_id: Some(transactional_id.clone()),
            transaction_timeout_ms: 60_000,
            ..InitProducerIdRequest::default()
        };
        let mut given = client.call(&request, 4);
        eventually("loading the transactional id", || {
            if given.error_code == 0 {
                return true;
            }
            given = client.call(&request, 4);
            false
        });
        Self { transactional_id, id: given.producer_id, epoch: given.producer_epoch, version, topic_id }
    }

    fn add(&self, client: &mut Client) -> i16 {
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            group_id: GROUP.to_owned(),
        };
        client.call(&request, 3).error_code
    }

    fn commit(&self, client: &mut Client, offset: i64) -> i16 {
        self.commit_noting(client, offset, "noted")
    }

    fn commit_noting(&self, client: &mut Client, offset: i64, metadata: &str) -> i16 {
        let partition = TxnOffsetCommitRequestPartition {
            committed_offset: offset,
            committed_leader_epoch: EPOCH,
            committed_metadata: Some(metadata.to_owned()),
            ..TxnOffsetCommitRequestPartition::default()
        };
        let topic = TxnOffsetCommitRequestTopic {
            name: "orders".to_owned(),
            topic_id: self.topic_id,
            partitions: vec![partition],
        };
        let request = TxnOffsetCommitRequest {
            transactional_id: self.transactional_id.clone(),
            group_id: GROUP.to_owned(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            topics: vec![topic],
            ..TxnOffsetCommitRequest::default()
        };
        client.call(&request, self.version).topics[0].partitions[0].error_code
    }

    /// Begins a transaction with an offset in it.
    fn begin(&self, client: &mut Client, offset: i64) {
        if self.version < ADDS {
            assert_eq!(self.add(client), 0);
        }
        assert_eq!(self.commit(client, offset), 0, "version {}", self.version);
    }

    fn end(&mut self, client: &mut Client, committed: bool) {
        let request = EndTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed,
        };
        let version = if self.version < ADDS { 3 } else { 5 };
        let mut ended = client.call(&request, version);
        eventually("ending the transaction", || {
            let is_done = ended.error_code == 0;
            if !is_done {
                ended = client.call(&request, version);
            }
            is_done
        });
        if version >= 5 {
            (self.id, self.epoch) = (ended.producer_id, ended.producer_epoch);
        }
    }
}

fn fetch(client: &mut Client, require_stable: bool) -> OffsetFetchResponsePartitions {
    let topics =
        OffsetFetchRequestTopics { name: "orders".to_owned(), partition_indexes: vec![0], ..Default::default() };
    let group = OffsetFetchRequestGroup {
        group_id: GROUP.to_owned(),
        topics: Some(vec![topics]),
        ..OffsetFetchRequestGroup::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], require_stable, ..OffsetFetchRequest::default() };
    let mut group = client.call(&request, 9).groups.remove(0);
    eventually("loading the group", || {
        let is_loaded = group.error_code == 0;
        if !is_loaded {
            group = client.call(&request, 9).groups.remove(0);
        }
        is_loaded
    });
    group.topics.remove(0).partitions.remove(0)
}

#[test]
fn in_every_version_offsets_are_fetched_once_their_transaction_is_committed() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(commit(&mut client, GROUP, "orders", 0, 1), 0);
    let mut expected = 1;
    for version in TxnOffsetCommitRequest::VERSIONS {
        let mut producer = Producer::init(&mut client, version, topic_id);
        for is_committed in [true, false, true] {
            let offset = expected + 10;
            producer.begin(&mut client, offset);
            assert_eq!(fetch(&mut client, false).committed_offset, expected, "version {version}");
            let unstable = fetch(&mut client, true);
            assert_eq!(unstable.error_code, ErrorCode::UnstableOffsetCommit.code());
            assert_eq!((unstable.committed_offset, unstable.committed_leader_epoch), (-1, -1));
            producer.end(&mut client, is_committed);
            expected = if is_committed { offset } else { expected };
            let fetched = fetch(&mut client, true);
            assert_eq!((fetched.error_code, fetched.committed_offset), (0, expected), "version {version}");
            // Epochs are committed from version 2 on.
            assert_eq!(fetched.committed_leader_epoch, if version >= 2 { EPOCH } else { -1 });
            assert_eq!(fetched.metadata.as_deref(), Some("noted"));
        }
    }
}

#[test]
fn metadata_beyond_the_limit_is_too_large_and_the_transaction_goes_on() {
    let broker = TestBroker::fresh(&[("offset.metadata.max.bytes", "8")]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    for version in TxnOffsetCommitRequest::VERSIONS {
        let mut producer = Producer::init(&mut client, version, topic_id);
        producer.begin(&mut client, 5);
        let refused = producer.commit_noting(&mut client, 6, "123456789");
        assert_eq!(refused, ErrorCode::OffsetMetadataTooLarge.code(), "version {version}");
        producer.end(&mut client, true);
        assert_eq!(fetch(&mut client, true).committed_offset, 5, "version {version}");
    }
}

#[test]
fn before_the_group_is_part_of_the_transaction_its_offsets_are_refused_as_the_version_knows_it() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    for (version, error) in [(3, ErrorCode::InvalidTxnState), (4, ErrorCode::TransactionAbortable)] {
        let producer = Producer::init(&mut client, version, topic_id);
        assert_eq!(producer.commit(&mut client, 7), error.code(), "version {version}");
        assert_eq!(producer.add(&mut client), 0);
        assert_eq!(producer.commit(&mut client, 7), 0, "version {version}");
    }
}

#[test]
fn a_replaced_producer_commits_no_more_offsets_and_what_it_left_open_is_aborted() {
    let broker = TestBroker::fresh(&[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    for version in [3, 5] {
        let old = Producer::init(&mut client, version, topic_id);
        old.begin(&mut client, 7);
        let mut new = Producer::init(&mut client, version, topic_id);
        assert_eq!(old.commit(&mut client, 8), ErrorCode::InvalidProducerEpoch.code(), "version {version}");
        let fetched = fetch(&mut client, true);
        assert_eq!((fetched.error_code, fetched.committed_offset), (0, -1), "version {version}");
        new.begin(&mut client, 9);
        new.end(&mut client, false);
    }
}

#[test]
fn an_open_transactions_offsets_are_still_open_after_a_kill_and_end_with_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut broker = TestBroker::start(directory.path(), &[]);
    let mut client = coordinator(&broker);
    let topic_id = create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(commit(&mut client, GROUP, "orders", 0, 1), 0);
    let mut expected = 1;
    for version in [3, 5] {
        for is_committed in [true, false] {
            let mut producer = Producer::init(&mut client, version, topic_id);
            producer.begin(&mut client, expected + 10);
            broker.abandon();
            broker = TestBroker::start(directory.path(), &[]);
            client = coordinator(&broker);
            assert_eq!(fetch(&mut client, false).committed_offset, expected, "version {version}");
            assert_eq!(fetch(&mut client, true).error_code, ErrorCode::UnstableOffsetCommit.code());
            producer.end(&mut client, is_committed);
            expected = if is_committed { expected + 10 } else { expected };
            assert_eq!(fetch(&mut client, true).committed_offset, expected, "version {version}, {is_committed}");
        }
    }
    broker.stop();
}
