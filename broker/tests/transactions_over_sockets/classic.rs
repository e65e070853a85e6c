//! Transactions of clients that add partitions by requests and keep their epoch, as aiokafka, librdkafka and Java before
//! 4.0 do.

use pillion_wire::ErrorCode;
use pillion_wire::messages::TxnOffsetCommitRequest;
use pillion_wire::messages::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};

use super::producer::{
    ID, SETTINGS, add, add_offsets, batch, broker, coordinator, end, end_with, init, init_request, read_committed,
    stable, write,
};
use super::support::{TestBroker, create_topic, eventually, list_offset};

#[test]
fn what_is_committed_is_seen_and_what_is_aborted_is_not() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let producer = init(&mut client, ID, 0);
    // aiokafka produces in version 3, kafkajs up to 7, librdkafka up to 10.
    for (sequence, version) in (0..).zip([3, 5, 7, 9, 10, 11]) {
        let commit = sequence % 2 == 0;
        assert_eq!(add(&mut client, producer, "orders", &[0, 1], 0), [0, 0]);
        let before = stable(&mut client, "orders", 0);
        for partition in [0, 1] {
            let batch = batch(producer, sequence, &[&format!("{version}")]);
            assert_eq!(write(&mut client, "orders", partition, batch, version).0, 0, "version {version}");
        }
        assert_eq!(stable(&mut client, "orders", 0), before, "it is open");
        assert_eq!(end(&mut client, producer, commit, 0), producer);
        assert_eq!(stable(&mut client, "orders", 0), before + 2, "with the answer it is over");
    }
    for partition in [0, 1] {
        assert_eq!(read_committed(&mut client, "orders", partition), ["3", "7", "10"]);
    }
}

#[test]
fn offsets_and_records_are_committed_together() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 0);
    for commit in [false, true] {
        assert_eq!(add_offsets(&mut client, producer, "saga", 0), 0);
        let partition =
            TxnOffsetCommitRequestPartition { partition_index: 0, committed_offset: 7, ..Default::default() };
        let topics = vec![TxnOffsetCommitRequestTopic {
            name: "orders".to_owned(),
            partitions: vec![partition],
            ..Default::default()
        }];
        let request = TxnOffsetCommitRequest {
            transactional_id: ID.to_owned(),
            group_id: "saga".to_owned(),
            producer_id: producer.0,
            producer_epoch: producer.1,
            topics,
            ..TxnOffsetCommitRequest::default()
        };
        assert_eq!(client.call(&request, 0).topics[0].partitions[0].error_code, 0);
        end(&mut client, producer, commit, 0);
        let late = client.call(&request, 0).topics[0].partitions[0].error_code;
        assert_eq!(late, ErrorCode::InvalidTxnState.code(), "the transaction is over");
    }
}

#[test]
fn a_batch_of_a_partition_that_was_not_added_is_refused() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let producer = init(&mut client, ID, 4);
    let refused = |version| if version >= 11 { ErrorCode::TransactionAbortable } else { ErrorCode::InvalidTxnState };
    for version in 3..=11 {
        let code = write(&mut client, "orders", 0, batch(producer, 0, &["x"]), version).0;
        assert_eq!(code, refused(version).code(), "version {version}, before anything is added");
    }
    assert_eq!(add(&mut client, producer, "orders", &[1], 3), [0]);
    for version in 3..=11 {
        let code = write(&mut client, "orders", 0, batch(producer, 0, &["x"]), version).0;
        assert_eq!(code, refused(version).code(), "version {version}");
    }
    assert_eq!(write(&mut client, "orders", 1, batch(producer, 0, &["y"]), 9), (0, 0));
    end(&mut client, producer, true, 3);
    let code = write(&mut client, "orders", 1, batch(producer, 1, &["z"]), 9).0;
    assert_eq!(code, ErrorCode::InvalidTxnState.code(), "that transaction has ended");
    assert_eq!(list_offset(&mut client, "orders", 0, -1).offset, 0, "nothing was written");
}

#[test]
fn a_retried_batch_is_answered_as_the_first_one() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 4);
    assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
    for _ in 0..3 {
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["x", "y"]), 9), (0, 0));
    }
    end(&mut client, producer, true, 3);
    assert_eq!(read_committed(&mut client, "orders", 0), ["x", "y"]);
}

#[test]
fn a_fenced_producer_writes_and_ends_nothing() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let first = init(&mut client, ID, 4);
    assert_eq!(add(&mut client, first, "orders", &[0], 3), [0]);
    assert_eq!(write(&mut client, "orders", 0, batch(first, 0, &["stale"]), 9), (0, 0));
    let second = init(&mut client, ID, 4);
    assert_eq!((second.0, second.1 > first.1), (first.0, true));
    for version in 3..=12 {
        let code = write(&mut client, "orders", 0, batch(first, 1, &["stale"]), version).0;
        assert_eq!(code, ErrorCode::InvalidProducerEpoch.code(), "version {version}");
    }
    for (version, code) in [(0, 47), (1, 47), (2, 90), (4, 90)] {
        assert_eq!(end_with(&mut client, first, true, version).error_code, code, "EndTxn version {version}");
    }
    for (version, code) in [(0, 47), (1, 47), (2, 90), (3, 90), (4, 90), (5, 90)] {
        assert_eq!(add(&mut client, first, "orders", &[0], version), [code], "AddPartitionsToTxn version {version}");
    }
    for (version, code) in [(0, 47), (1, 47), (2, 90), (4, 90)] {
        assert_eq!(add_offsets(&mut client, first, "saga", version), code, "AddOffsetsToTxn version {version}");
    }
    assert_eq!(add(&mut client, second, "orders", &[0], 3), [0]);
    assert_eq!(write(&mut client, "orders", 0, batch(second, 0, &["fresh"]), 9).0, 0);
    end(&mut client, second, true, 3);
    assert_eq!(read_committed(&mut client, "orders", 0), ["fresh"]);
}

#[test]
fn a_producer_that_is_silent_for_too_long_lets_readers_pass() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let mut request = init_request(ID);
    request.transaction_timeout_ms = 200;
    let answer = client.call(&request, 4);
    let producer = (answer.producer_id, answer.producer_epoch);
    assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["lost"]), 9), (0, 0));
    eventually("the abort", || stable(&mut client, "orders", 0) == 2);
    assert!(read_committed(&mut client, "orders", 0).is_empty());
    let code = write(&mut client, "orders", 0, batch(producer, 1, &["late"]), 9).0;
    assert_eq!(code, ErrorCode::InvalidProducerEpoch.code());
    assert_eq!(end_with(&mut client, producer, true, 4).error_code, ErrorCode::ProducerFenced.code());
}

#[test]
fn transactions_go_on_after_clean_stops_and_crashes() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let mut expected = Vec::new();
    for round in 0..4 {
        let broker = TestBroker::start(directory.path(), &SETTINGS);
        let mut client = coordinator(&broker);
        if round == 0 {
            create_topic(&mut client, "orders", 1, &[]);
        }
        let producer = init(&mut client, ID, 4);
        assert_eq!(read_committed(&mut client, "orders", 0), expected, "what was left open is aborted");
        let (kept, lost) = (format!("kept {round}"), format!("lost {round}"));
        assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &[&kept]), 9).0, 0);
        end(&mut client, producer, true, 3);
        expected.push(kept);
        assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 1, &[&lost]), 9).0, 0);
        if round % 2 == 0 { broker.stop() } else { broker.abandon() }
    }
}
