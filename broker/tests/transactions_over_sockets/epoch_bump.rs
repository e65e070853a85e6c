//! Transactions of clients that add partitions by writing to them, each transaction in an epoch of its own (KIP-890), as
//! Java from 4.0 on does.

use pillion_wire::ErrorCode;
use pillion_wire::Records;
use pillion_wire::messages::ProduceRequest;
use pillion_wire::messages::produce::{PartitionProduceData, TopicProduceData};

use super::producer::{
    ID, batch, broker, end, end_with, init, init_request, read_committed, stable, write, write_request,
};
use super::support::{create_topic, eventually, list_offset, produce_with};

#[test]
fn what_is_committed_is_seen_and_what_is_aborted_is_not() {
    let (_broker, mut client) = broker();
    let topic_id = create_topic(&mut client, "orders", 2, &[]);
    let mut producer = init(&mut client, ID, 5);
    for (round, version) in [12, 13, 12, 13].into_iter().enumerate() {
        let before = stable(&mut client, "orders", 0);
        for partition in [0, 1] {
            for sequence in 0..2 {
                let batch = batch(producer, sequence, &[&format!("{round}.{sequence}")]);
                let mut request = write_request("orders", partition, batch);
                request.topic_data[0].topic_id = topic_id;
                assert_eq!(produce_with(&mut client, &request, version).error_code, 0, "version {version}");
            }
        }
        assert_eq!(stable(&mut client, "orders", 0), before, "it is open");
        let next = end(&mut client, producer, round % 2 == 0, 5);
        assert_eq!(next, (producer.0, producer.1 + 1));
        assert_eq!(stable(&mut client, "orders", 0), before + 3, "with the answer it is over");
        producer = next;
    }
    for partition in [0, 1] {
        assert_eq!(read_committed(&mut client, "orders", partition), ["0.0", "0.1", "2.0", "2.1"]);
    }
}

#[test]
fn one_request_takes_part_with_all_its_partitions() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 4, &[]);
    create_topic(&mut client, "events", 4, &[]);
    let producer = init(&mut client, ID, 5);
    let topic_data = ["orders", "events"].map(|name| TopicProduceData {
        name: name.to_owned(),
        partition_data: (0..4)
            .map(|index| PartitionProduceData { index, records: Some(Records::Bytes(batch(producer, 0, &["x"]))) })
            .collect(),
        ..TopicProduceData::default()
    });
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 1_000,
        topic_data: topic_data.to_vec(),
        transactional_id: Some(ID.to_owned()),
    };
    let answer = client.call(&request, 12);
    let codes = answer.responses.iter().flat_map(|topic| &topic.partition_responses).map(|answer| answer.error_code);
    assert_eq!(codes.collect::<Vec<_>>(), [0; 8]);
    end(&mut client, producer, true, 5);
    for topic in ["orders", "events"] {
        assert!((0..4).all(|index| stable(&mut client, topic, index) == 2), "each has its marker");
    }
}

#[test]
fn a_batch_of_another_producer_in_the_same_request_is_refused() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let producer = init(&mut client, ID, 5);
    for stranger in [(producer.0 + 500, 0), (producer.0, producer.1 + 1)] {
        let data = |index, of| PartitionProduceData { index, records: Some(Records::Bytes(batch(of, 0, &["x"]))) };
        let mut request = write_request("orders", 0, batch(producer, 0, &["x"]));
        request.topic_data[0].partition_data = vec![data(0, producer), data(1, stranger)];
        let answer = client.call(&request, 12);
        let codes: Vec<_> = answer.responses[0].partition_responses.iter().map(|answer| answer.error_code).collect();
        assert_eq!(codes[0], 0);
        assert_ne!(codes[1], 0, "{stranger:?}");
    }
    end(&mut client, producer, true, 5);
    assert_eq!((stable(&mut client, "orders", 0), stable(&mut client, "orders", 1)), (2, 0));
    assert_eq!(list_offset(&mut client, "orders", 1, -1).offset, 0);
}

#[test]
fn a_client_that_keeps_its_epoch_all_the_same_leaves_no_transaction_open() {
    let (broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    // It adds by writing, as the new protocol has it, and ends as the old one has it: the epoch of a late batch is right.
    let mut other = broker.client();
    for sequence in 0..200 {
        client.send(&write_request("orders", 0, batch(producer, sequence, &["x"])), 12);
        let ended = end_with(&mut other, producer, true, 4).error_code;
        assert!([0, 48].contains(&ended), "{ended}");
        let answer = client.receive::<ProduceRequest>(12);
        let code = answer.responses[0].partition_responses[0].error_code;
        assert!([0, 51, 120].contains(&code), "{code}");
        let _ = end_with(&mut other, producer, true, 4);
        let end = list_offset(&mut client, "orders", 0, -1).offset;
        assert_eq!(stable(&mut client, "orders", 0), end, "round {sequence}");
        if code != 0 {
            return;
        }
    }
}

#[test]
fn a_fenced_producer_writes_and_ends_nothing() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 2, &[]);
    let first = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(first, 0, &["stale"]), 12), (0, 0));
    let second = init(&mut client, ID, 5);
    for partition in [0, 1] {
        let code = write(&mut client, "orders", partition, batch(first, 1, &["stale"]), 12).0;
        assert_eq!(code, ErrorCode::InvalidProducerEpoch.code());
    }
    for commit in [true, false] {
        assert_eq!(end_with(&mut client, first, commit, 5).error_code, ErrorCode::ProducerFenced.code());
    }
    assert_eq!(write(&mut client, "orders", 1, batch(second, 0, &["fresh"]), 12), (0, 0));
    end(&mut client, second, true, 5);
    assert_eq!(read_committed(&mut client, "orders", 0), Vec::<String>::new());
    assert_eq!(read_committed(&mut client, "orders", 1), ["fresh"]);
}

#[test]
fn a_producer_that_recovers_goes_on_in_the_next_epoch() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["given up"]), 12), (0, 0));
    let mut request = init_request(ID);
    (request.producer_id, request.producer_epoch) = producer;
    let answer = client.call(&request, 5);
    assert_eq!((answer.error_code, answer.producer_id), (0, producer.0));
    assert!(answer.producer_epoch > producer.1);
    let recovered = (answer.producer_id, answer.producer_epoch);
    assert_eq!(write(&mut client, "orders", 0, batch(recovered, 0, &["kept"]), 12).0, 0);
    end(&mut client, recovered, true, 5);
    assert_eq!(read_committed(&mut client, "orders", 0), ["kept"]);
    assert_eq!(
        client.call(&request, 5).error_code,
        ErrorCode::ProducerFenced.code(),
        "it is not the last one any more"
    );
    assert_eq!(client.call(&request, 3).error_code, ErrorCode::InvalidProducerEpoch.code());
}

#[test]
fn a_producer_that_is_silent_for_too_long_lets_readers_pass() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let mut request = init_request(ID);
    request.transaction_timeout_ms = 200;
    let answer = client.call(&request, 5);
    let producer = (answer.producer_id, answer.producer_epoch);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["lost"]), 12), (0, 0));
    eventually("the abort", || stable(&mut client, "orders", 0) == 2);
    assert!(read_committed(&mut client, "orders", 0).is_empty());
    assert_eq!(
        write(&mut client, "orders", 0, batch(producer, 1, &["late"]), 12).0,
        ErrorCode::InvalidProducerEpoch.code()
    );
    assert_ne!(end_with(&mut client, producer, true, 5).error_code, 0);
}

#[test]
fn an_end_that_is_sent_again_is_answered_as_before() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 5);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["x"]), 12), (0, 0));
    let next = end(&mut client, producer, true, 5);
    for _ in 0..3 {
        assert_eq!(end(&mut client, producer, true, 5), next);
    }
    assert_eq!(end_with(&mut client, producer, false, 5).error_code, ErrorCode::InvalidTxnState.code());
    assert_eq!(stable(&mut client, "orders", 0), 2, "one marker");
    let after = end(&mut client, next, false, 5);
    assert_eq!(after, (next.0, next.1 + 1), "an abort of nothing");
}

#[test]
fn many_transactions_in_flight_on_one_connection_are_answered_in_order() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let (id, first) = init(&mut client, ID, 5);
    for round in 0..50_i16 {
        let producer = (id, first + round);
        client.send(&write_request("orders", 0, batch(producer, 0, &[&format!("{round}")])), 12);
        client.send(&super::producer::end_request(producer, true), 5);
        let answer = client.receive::<ProduceRequest>(12);
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
        let ended = client.receive::<pillion_wire::messages::EndTxnRequest>(5);
        assert_eq!((ended.error_code, ended.producer_epoch), (0, producer.1 + 1));
    }
    assert_eq!(read_committed(&mut client, "orders", 0).len(), 50);
}
