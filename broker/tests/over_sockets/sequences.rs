//! Idempotent producers: retries, gaps, and producers that were replaced.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{IncrementalAlterConfigsRequest, ProduceRequest};
use pillion_wire::records::{BatchProducer, Compression};

use crate::support::{
    Client, TestBroker, batch_of, create_topic, eventually, idempotent, list_offset, produce, produce_request,
    producer_id, record,
};

fn topic() -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[]);
    (broker, client)
}

#[test]
fn a_duplicate_is_answered_with_the_original_offset() {
    let (_broker, mut client) = topic();
    let batches: Vec<_> = (0..5).map(|number| idempotent(&["a", "b"], 3, 0, 2 * number)).collect();
    for (batch, offset) in batches.iter().zip((0..).step_by(2)) {
        let answer = produce(&mut client, "t", 0, batch.clone());
        assert_eq!((answer.error_code, answer.base_offset), (0, offset));
    }
    for (batch, offset) in batches.iter().zip((0..).step_by(2)) {
        let answer = produce(&mut client, "t", 0, batch.clone());
        assert_eq!((answer.error_code, answer.base_offset), (0, offset), "each of the last five is known");
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 10);
}

#[test]
fn a_gap_in_the_sequence_is_out_of_order() {
    let (_broker, mut client) = topic();
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["a", "b"], 3, 0, 0)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["d"], 3, 0, 3)).error_code, 45);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["b"], 3, 0, 1)).error_code, 45, "part of a batch");
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["c"], 3, 0, 2)).error_code, 0);
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 3);
}

#[test]
fn a_producer_that_was_replaced_is_fenced() {
    let (_broker, mut client) = topic();
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["a"], 3, 1, 0)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["b"], 3, 0, 1)).error_code, 47);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["b"], 3, 2, 4)).error_code, 45, "a new epoch begins at 0");
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["b"], 3, 2, 0)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["c"], 3, 1, 1)).error_code, 47);
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    let (_broker, mut client) = topic();
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["a"], 3, 4, 1_000)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["b"], 3, 4, 1_001)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 1, idempotent(&["b"], 3, 4, 5)).error_code, 0, "each partition by itself");
}

#[test]
fn sequences_wrap_from_the_largest_to_zero() {
    let (_broker, mut client) = topic();
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["a", "b", "c"], 3, 0, i32::MAX - 1)).error_code, 0);
    assert_eq!(produce(&mut client, "t", 0, idempotent(&["d"], 3, 0, 1)).error_code, 0);
    let again = produce(&mut client, "t", 0, idempotent(&["a", "b", "c"], 3, 0, i32::MAX - 1));
    assert_eq!((again.error_code, again.base_offset), (0, 0));
}

#[test]
fn a_pipelined_duplicate_is_answered_like_the_original() {
    let (_broker, mut client) = topic();
    let batch = idempotent(&["a", "b"], 3, 0, 0);
    for _ in 0..4 {
        client.send(&produce_request("t", 0, batch.clone()), 9);
    }
    for _ in 0..4 {
        let answer = client.receive::<ProduceRequest>(9);
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, 0));
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 2);
}

#[test]
fn every_producer_gets_an_id_of_its_own() {
    let (_broker, mut client) = topic();
    let mut ids: Vec<_> = (0..50).map(|_| producer_id(&mut client)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 50);
}

/// A batch of one record, made now.
fn young(base_sequence: i32) -> Bytes {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64;
    let producer = BatchProducer { id: 3, epoch: 0, base_sequence, transactional: false };
    batch_of(&[record("x", now)], Compression::None, Some(producer))
}

#[test]
fn a_producer_forgotten_for_its_silence_goes_on_where_it_was_or_anywhere() {
    let broker = TestBroker::fresh(&[("log.flush.offset.checkpoint.interval.ms", "20")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[]);
    for partition in [0, 1] {
        assert_eq!(produce(&mut client, "t", partition, young(0)).error_code, 0);
    }
    assert_eq!(produce(&mut client, "t", 0, young(5)).error_code, 45, "it is remembered");
    let config = AlterableConfig {
        name: "producer.id.expiration.ms".to_owned(),
        config_operation: 0,
        value: Some("1".to_owned()),
    };
    let resource = AlterConfigsResource { resource_type: 4, resource_name: String::new(), configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert_eq!(client.call(&request, 1).responses[0].error_code, 0);
    eventually("forgetting", || produce(&mut client, "t", 0, young(5)).error_code == 0);
    let answer = produce(&mut client, "t", 1, young(1));
    assert_eq!((answer.error_code, answer.base_offset), (0, 1), "it has not noticed");
}
