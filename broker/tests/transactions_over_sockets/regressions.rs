//! What went wrong with transactions in other brokers, once each.

use std::sync::atomic::{AtomicBool, Ordering};

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use pillion_wire::messages::{DeleteRecordsRequest, EndTxnRequest, InitProducerIdRequest};

use super::producer::{
    ID, SETTINGS, add, batch, batch_at, broker, coordinator, end, end_request, end_with, fetch_committed, init,
    init_request, list_committed, read_committed, read_committed_from, stable, write,
};
use super::support::{Client, Fetched, TestBroker, create_topic, delete_topic, fetch, list_offset, produce};

fn delete_records(client: &mut Client, topic: &str, offset: i64) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: topic.to_owned(), partitions }];
    let answer = client.call(&DeleteRecordsRequest { topics, timeout_ms: 1_000 }, 2);
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
}

#[test]
fn a_delayed_end_does_not_commit_a_later_transaction() {
    let (broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let first = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(first, 0, &["first"]), 12).0, 0);
    let second = end(&mut client, first, true, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(second, 0, &["second"]), 12).0, 0);
    // The network brings the first one's EndTxn once more.
    let mut late = broker.client();
    assert_eq!(end_with(&mut late, first, true, 5).error_code, ErrorCode::ProducerFenced.code());
    assert_eq!(stable(&mut client, "orders", 0), 2, "the second is open still");
    end(&mut client, second, false, 5);
    assert_eq!(read_committed(&mut client, "orders", 0), ["first"]);
}

#[test]
fn a_late_batch_does_not_begin_a_transaction_that_nobody_ends() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    for (produce_version, end_version) in [(9, 3), (11, 4), (12, 5)] {
        let producer = init(&mut client, ID, 5);
        if produce_version < 12 {
            assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
        }
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["x"]), produce_version).0, 0);
        end(&mut client, producer, true, end_version);
        let (code, _) = write(&mut client, "orders", 0, batch(producer, 1, &["late"]), produce_version);
        assert_ne!(code, 0, "version {produce_version}");
        let end = list_offset(&mut client, "orders", 0, -1).offset;
        assert_eq!(stable(&mut client, "orders", 0), end, "version {produce_version}");
    }
}

#[test]
fn an_abort_that_races_with_a_produce_leaves_the_last_stable_offset_free() {
    let (broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    for version in [9, 12] {
        for round in 0..20 {
            let producer = init(&mut client, ID, 5);
            if version == 9 {
                assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
            }
            let is_over = AtomicBool::new(false);
            let mut other = broker.client();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for sequence in 0.. {
                        let (code, _) = write(&mut other, "orders", 0, batch(producer, sequence, &["x"]), version);
                        if code != 0 || is_over.load(Ordering::Acquire) {
                            break;
                        }
                    }
                });
                // A new producer: the old one's transaction is aborted.
                init(&mut client, ID, 5);
                is_over.store(true, Ordering::Release);
            });
            let end = list_offset(&mut client, "orders", 0, -1).offset;
            assert_eq!(stable(&mut client, "orders", 0), end, "version {version}, round {round}");
        }
    }
    assert!(read_committed(&mut client, "orders", 0).is_empty());
}

#[test]
fn aborted_records_are_told_of_wherever_a_fetch_begins() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let mut producer = init(&mut client, ID, 5);
    for round in 0..6 {
        for sequence in 0..3 {
            let value = format!("{round}");
            assert_eq!(write(&mut client, "orders", 0, batch(producer, 2 * sequence, &[&value, &value]), 12).0, 0);
        }
        producer = end(&mut client, producer, round % 2 == 0, 5);
    }
    let all = read_committed(&mut client, "orders", 0);
    assert_eq!(all.len(), 18);
    // Each transaction is six records and a marker.
    for offset in 0..42_u64 {
        // A fetch inside a batch brings the whole batch.
        let is_inside = offset % 7 < 6 && offset % 7 % 2 == 1;
        let from = offset - u64::from(is_inside);
        let (transactions, within) = (from / 7, (from % 7).min(6));
        let skipped = transactions.div_ceil(2) * 6 + if transactions % 2 == 0 { within } else { 0 };
        let seen = read_committed_from(&mut client, "orders", 0, offset as i64);
        assert_eq!(seen, all[skipped as usize..], "from {offset}");
    }
}

#[test]
fn the_last_stable_offset_does_not_go_back_over_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    let mut producer = init(&mut client, ID, 5);
    for _ in 0..3 {
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["x"]), 12).0, 0);
        producer = end(&mut client, producer, true, 5);
    }
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["open"]), 12).0, 0);
    assert_eq!(stable(&mut client, "orders", 0), 6);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    assert_eq!(stable(&mut client, "orders", 0), 6);
    broker.stop();
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    assert_eq!(stable(&mut client, "orders", 0), 6);
    init(&mut client, ID, 5);
    assert_eq!(stable(&mut client, "orders", 0), 8);
}

#[test]
fn a_log_with_only_a_marker_left_is_read_through() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["x", "y"]), 12).0, 0);
    let producer = end(&mut client, producer, false, 5);
    delete_records(&mut client, "orders", 2);
    let check = |client: &mut Client| {
        assert_eq!((list_offset(client, "orders", 0, -2).offset, list_offset(client, "orders", 0, -1).offset), (2, 3));
        assert_eq!(stable(client, "orders", 0), 3);
        assert!(read_committed_from(client, "orders", 0, 2).is_empty());
        assert!(!fetch(client, "orders", 0, 2).bytes().is_empty(), "the marker");
        assert!(fetch_committed(client, "orders", 0, 3).bytes().is_empty());
        assert_eq!(list_committed(client, "orders", 0, 0), (2, 0), "a marker has its time");
    };
    check(&mut client);
    broker.stop();
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    check(&mut client);
    let _ = init(&mut client, ID, 5);
    assert_eq!(
        write(&mut client, "orders", 0, batch(producer, 0, &["z"]), 12).0,
        ErrorCode::InvalidProducerEpoch.code()
    );
}

#[test]
fn records_deleted_under_an_open_transaction_do_not_hold_readers_up_for_ever() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["a", "b"]), 12).0, 0);
    delete_records(&mut client, "orders", 2);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 2, &["c"]), 12).0, 0);
    assert_eq!(stable(&mut client, "orders", 0), 2);
    end(&mut client, producer, true, 5);
    assert_eq!(stable(&mut client, "orders", 0), 4);
    assert_eq!(read_committed_from(&mut client, "orders", 0, 2), ["c"]);
}

#[test]
fn a_question_by_time_does_not_tell_of_what_the_reader_cannot_see() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    assert_eq!(produce(&mut client, "orders", 0, super::support::batch(&["early"])).error_code, 0);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch_at(producer, 0, &["open"], 5_000), 12).0, 0);
    assert_eq!(list_offset(&mut client, "orders", 0, 5_000).offset, 1);
    assert_eq!(list_committed(&mut client, "orders", 0, 5_000), (-1, 0));
    assert_eq!(list_committed(&mut client, "orders", 0, 1_000), (0, 0));
    assert_eq!(list_committed(&mut client, "orders", 0, -1), (1, 0));
    end(&mut client, producer, true, 5);
    assert_eq!(list_committed(&mut client, "orders", 0, 5_000), (1, 0));
}

#[test]
fn a_deleted_topic_does_not_hold_its_transactions_up() {
    let (_broker, mut client) = broker();
    for (name, produce_version, end_version) in [("classic", 9, 3), ("bumped", 12, 5)] {
        create_topic(&mut client, name, 1, &[]);
        let producer = init(&mut client, ID, 5);
        if produce_version == 9 {
            assert_eq!(add(&mut client, producer, name, &[0], 3), [0]);
        }
        assert_eq!(write(&mut client, name, 0, batch(producer, 0, &["x"]), produce_version).0, 0);
        delete_topic(&mut client, name);
        end(&mut client, producer, true, end_version);
        // One of the same name is another.
        create_topic(&mut client, name, 1, &[]);
        assert_eq!(stable(&mut client, name, 0), 0);
    }
}

#[test]
fn a_stop_answers_producers_that_wait_and_what_they_left_is_ended_afterwards() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    create_topic(&mut client, "orders", 1, &[]);
    let mut producer = init(&mut client, ID, 5);
    let mut sent = Vec::new();
    // Requests on many connections, some of which the stop overtakes.
    for round in 0..20 {
        let mut other = broker.client();
        assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &[&format!("{round}")]), 12).0, 0);
        other.send(&end_request(producer, true), 5);
        if round < 19 {
            let answer = other.receive::<EndTxnRequest>(5);
            producer = (answer.producer_id, answer.producer_epoch);
        }
        let mut another = broker.client();
        another.send(&init_request(&format!("other {round}")), 5);
        sent.push((other, another));
    }
    broker.stop();
    let broker = TestBroker::start(directory.path(), &SETTINGS);
    let mut client = coordinator(&broker);
    init(&mut client, ID, 5);
    let end = list_offset(&mut client, "orders", 0, -1).offset;
    assert_eq!(stable(&mut client, "orders", 0), end);
    assert!(read_committed(&mut client, "orders", 0).len() >= 19);
}

#[test]
fn an_id_whose_epochs_run_out_goes_on_under_another_producer_id() {
    const LAST_EPOCH: i16 = i16::MAX - 1;
    let (broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let (id, epoch) = init(&mut client, ID, 5);
    let missing = usize::from(LAST_EPOCH.unsigned_abs() - epoch.unsigned_abs());
    let request = init_request(ID);
    for chunk in vec![(); missing].chunks(500) {
        chunk.iter().for_each(|()| client.send(&request, 5));
        for () in chunk {
            assert_eq!(client.receive::<InitProducerIdRequest>(5).error_code, 0);
        }
    }
    let last = (id, LAST_EPOCH);
    assert_eq!(add(&mut client, last, "orders", &[0], 3), [0]);
    assert_eq!(write(&mut client, "orders", 0, batch(last, 0, &["old"]), 9).0, 0);
    // One takes over while the other's transaction ends: the id is asked for when the markers are durable.
    let mut other = broker.client();
    client.send(&end_request(last, true), 4);
    other.send(&request, 5);
    let ended = client.receive::<EndTxnRequest>(4).error_code;
    let taken_over = other.receive::<InitProducerIdRequest>(5);
    assert!([0, ErrorCode::ProducerFenced.code()].contains(&ended), "whichever came first: {ended}");
    assert_eq!((taken_over.error_code, taken_over.producer_epoch), (0, 0));
    assert_ne!(taken_over.producer_id, id);
    let producer = (taken_over.producer_id, 0);
    assert_eq!(write(&mut client, "orders", 0, batch(last, 1, &["stale"]), 12).0, 49, "the id is not its own any more");
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["new"]), 12).0, 0);
    end(&mut client, producer, true, 5);
    let seen = read_committed(&mut client, "orders", 0);
    assert_eq!(seen, if ended == 0 { vec!["old", "new"] } else { vec!["new"] });
}
