//! What is wrong in requests about transactions, and what it is answered with.

use pillion_wire::frame::{decode_response, encode_request};
use pillion_wire::messages::{
    AddOffsetsToTxnRequest, DescribeTransactionsRequest, EndTxnRequest, InitProducerIdRequest, ListTransactionsRequest,
    ProduceRequest, ProduceResponse,
};
use pillion_wire::{Chunk, ErrorCode};

use super::producer::{
    ID, add, add_offsets, add_request, add_several, batch, broker, end, end_request, end_with, find_coordinator, init,
    init_request, init_with, read_committed, write, write_request,
};
use super::support::{TestBroker, altered, create_topic, list_offset, produce_request};

#[test]
fn before_anyone_asked_for_the_coordinator_this_is_none() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "orders", 1, &[]);
    let not_coordinator = ErrorCode::NotCoordinator.code();
    assert_eq!(client.call(&init_request(ID), 5).error_code, not_coordinator);
    assert_eq!(add(&mut client, (1, 0), "orders", &[0], 3), [not_coordinator]);
    assert_eq!(add_offsets(&mut client, (1, 0), "saga", 3), not_coordinator);
    assert_eq!(end_with(&mut client, (1, 0), true, 5).error_code, not_coordinator);
    let describe = DescribeTransactionsRequest { transactional_ids: vec![ID.to_owned()] };
    assert_eq!(client.call(&describe, 0).transaction_states[0].error_code, not_coordinator);
    assert_eq!(client.call(&ListTransactionsRequest::default(), 2).error_code, 0);
    find_coordinator(&mut client);
    assert_eq!(init_with(&mut client, &init_request(ID), 5).error_code, 0);
}

#[test]
fn timeouts_and_identities_that_are_none_are_refused() {
    let (_broker, mut client) = broker();
    let of = |transaction_timeout_ms| InitProducerIdRequest { transaction_timeout_ms, ..init_request(ID) };
    for (timeout_ms, code) in [(900_001, 50), (i32::MAX, 50), (0, 50), (-1, 50), (900_000, 0)] {
        assert_eq!(init_with(&mut client, &of(timeout_ms), 5).error_code, code, "{timeout_ms} ms");
    }
    for (producer_id, producer_epoch) in [(5, -1), (-1, 0)] {
        let request = InitProducerIdRequest { producer_id, producer_epoch, ..init_request(ID) };
        assert_eq!(client.call(&request, 5).error_code, ErrorCode::InvalidRequest.code());
    }
}

#[test]
fn without_a_transactional_id_nothing_is_asked_for() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let invalid = ErrorCode::InvalidRequest.code();
    assert_eq!(init_with(&mut client, &init_request(""), 5).error_code, invalid);
    let mut request = add_request((1, 0), "orders", &[0]);
    request.v3_and_below_transactional_id.clear();
    let answer = client.call(&request, 3);
    assert_eq!(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code, invalid);
    for version in [3, 5] {
        let end = EndTxnRequest { transactional_id: String::new(), ..end_request((1, 0), true) };
        assert_eq!(client.call(&end, version).error_code, invalid);
    }
    let offsets = AddOffsetsToTxnRequest { producer_id: 1, group_id: "saga".to_owned(), ..Default::default() };
    assert_eq!(client.call(&offsets, 3).error_code, invalid);
    let describe = DescribeTransactionsRequest { transactional_ids: vec![String::new()] };
    assert_eq!(client.call(&describe, 0).transaction_states[0].error_code, invalid);
}

#[test]
fn strangers_are_told_that_the_id_is_not_theirs() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let mapping = ErrorCode::InvalidProducerIdMapping.code();
    for stranger in [(99, 0), (-1, -1), (i64::MAX, i16::MAX)] {
        for version in 0..=5 {
            assert_eq!(add(&mut client, stranger, "orders", &[0], version), [mapping]);
            assert_eq!(end_with(&mut client, stranger, true, version).error_code, mapping);
        }
        assert_eq!(add_offsets(&mut client, stranger, "saga", 4), mapping);
    }
    let producer = init(&mut client, ID, 5);
    assert_eq!(add(&mut client, (producer.0 + 1, 0), "orders", &[0], 3), [mapping]);
    let code = write(&mut client, "orders", 0, batch((producer.0 + 1, 0), 0, &["x"]), 12).0;
    assert_eq!(code, mapping);
    assert_eq!(list_offset(&mut client, "orders", 0, -1).offset, 0);
}

#[test]
fn none_is_added_if_one_partition_does_not_exist() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let producer = init(&mut client, ID, 5);
    for version in [0, 3, 4, 5] {
        let codes = add(&mut client, producer, "orders", &[0, 9, -1], version);
        assert_eq!(codes, [55, 3, 3], "version {version}");
        assert_eq!(add(&mut client, producer, "missing", &[0], version), [3]);
    }
    assert_eq!(
        end_with(&mut client, producer, true, 4).error_code,
        ErrorCode::InvalidTxnState.code(),
        "nothing is open"
    );
}

#[test]
fn who_only_verifies_adds_nothing() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let producer = init(&mut client, ID, 5);
    let verify = |client: &mut super::support::Client| {
        let answer = client.call(&add_several(producer, "orders", &[0, 1], true), 5);
        let topics = answer.results_by_transaction.into_iter().flat_map(|result| result.topic_results);
        let results = topics.flat_map(|topic| topic.results_by_partition);
        results.map(|partition| partition.partition_error_code).collect::<Vec<_>>()
    };
    assert_eq!(verify(&mut client), [120, 120]);
    assert_eq!(add(&mut client, producer, "orders", &[1], 5), [0]);
    assert_eq!(verify(&mut client), [120, 0]);
}

#[test]
fn a_transactional_batch_without_an_id_or_in_a_bad_shape_is_refused() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    let good = batch(producer, 0, &["x"]);
    for version in [9, 12] {
        let answer = client.call(&produce_request("orders", 0, good.clone()), version);
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 53, "version {version}");
    }
    let shapes = [
        (good.slice(..good.len() - 1), 87),
        (altered(&good, 21, &[0, 0x30]), 87),
        (altered(&good, 53, &[0xff, 0xff, 0xff, 0xff]), 87),
        (altered(&good, 51, &[0xff, 0xff]), 87),
    ];
    for (bad, code) in shapes {
        for version in [9, 12] {
            assert_eq!(write(&mut client, "orders", 0, bad.clone(), version).0, code, "version {version}");
        }
    }
    // Without an answer an error closes the connection.
    let mut silent = write_request("orders", 0, batch((producer.0, producer.1 + 1), 0, &["x"]));
    silent.acks = 0;
    client.send_unanswered::<ProduceRequest>(&silent, 12);
    client.expect_closed();
}

#[test]
fn a_list_is_not_made_by_what_is_no_expression() {
    let (_broker, mut client) = broker();
    init(&mut client, ID, 5);
    for pattern in ["(", "*", "[a", &"a".repeat(10_000)] {
        let request =
            ListTransactionsRequest { transactional_id_pattern: Some(pattern.to_owned()), ..Default::default() };
        assert_eq!(client.call(&request, 2).error_code, ErrorCode::InvalidRegularExpression.code(), "{pattern:.20}");
    }
    let request = ListTransactionsRequest { state_filters: vec!["Begun".to_owned()], ..Default::default() };
    let answer = client.call(&request, 2);
    assert_eq!((answer.error_code, answer.unknown_state_filters), (0, vec!["Begun".to_owned()]));
}

#[test]
fn clients_do_not_write_to_the_brokers_own_topics() {
    let (_broker, mut client) = broker();
    for topic in ["__transaction_state", "__consumer_offsets"] {
        // Kafka lets the second one.
        for client_id in ["tests", "__admin_client"] {
            let request = produce_request(topic, 0, super::support::batch(&["x"]));
            for chunk in encode_request(&request, 9, 1, Some(client_id)).unwrap() {
                let Chunk::Bytes(bytes) = chunk else { panic!("requests carry their bytes") };
                client.send_bytes(&bytes);
            }
            let (_, answer) = decode_response::<ProduceResponse>(&client.receive_frame().unwrap(), 9).unwrap();
            let code = answer.responses[0].partition_responses[0].error_code;
            assert_eq!(code, ErrorCode::InvalidTopicException.code(), "{topic} {client_id}");
        }
    }
}

#[test]
fn a_gap_in_a_transactions_sequence_is_out_of_order_and_the_transaction_may_still_be_aborted() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["first"]), 12).0, 0);
    let gap = write(&mut client, "orders", 0, batch(producer, 2, &["third"]), 12).0;
    assert_eq!(gap, ErrorCode::OutOfOrderSequenceNumber.code());
    let producer = end(&mut client, producer, false, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["again"]), 12).0, 0);
    end(&mut client, producer, true, 5);
    assert_eq!(read_committed(&mut client, "orders", 0), ["again"]);
}
