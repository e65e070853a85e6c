//! What administrators are told, and the markers their tools write (KIP-664).

use pillion_wire::messages::describe_producers::TopicRequest;
use pillion_wire::messages::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic};
use pillion_wire::messages::{
    DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest, WriteTxnMarkersRequest,
};

use super::producer::{ID, Identity, add, batch, broker, end, init, read_committed, stable, write};
use super::support::{Client, create_topic};

fn describe(client: &mut Client, id: &str) -> (i16, String, Vec<(String, Vec<i32>)>) {
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.to_owned(); 3] };
    let mut answer = client.call(&request, 0);
    assert_eq!(answer.transaction_states.len(), 1, "what is named again is told once");
    let state = answer.transaction_states.remove(0);
    let topics = state.topics.into_iter().map(|topic| (topic.topic, topic.partitions)).collect();
    (state.error_code, state.transaction_state, topics)
}

fn list(client: &mut Client, request: &ListTransactionsRequest) -> Vec<(String, String)> {
    let answer = client.call(request, 2);
    assert_eq!(answer.error_code, 0);
    let mut listed: Vec<_> =
        answer.transaction_states.into_iter().map(|state| (state.transactional_id, state.transaction_state)).collect();
    listed.sort();
    listed
}

/// Epoch and first offset of the open transaction of each producer of a partition.
fn producers(client: &mut Client, topic: &str, partition: i32) -> Vec<(Identity, i64)> {
    let topic = TopicRequest { name: topic.to_owned(), partition_indexes: vec![partition; 3] };
    let mut answer = client.call(&DescribeProducersRequest { topics: vec![topic; 2] }, 0);
    let told = answer.topics.iter().map(|topic| topic.partitions.len()).sum::<usize>();
    assert_eq!(told, 1, "what is named again is told once");
    let partition = answer.topics.remove(0).partitions.remove(0);
    assert_eq!(partition.error_code, 0);
    let of = |producer: &pillion_wire::messages::describe_producers::ProducerState| {
        ((producer.producer_id, producer.producer_epoch as i16), producer.current_txn_start_offset)
    };
    partition.active_producers.iter().map(of).collect()
}

#[test]
fn a_transaction_is_described_as_it_goes() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 3, &[]);
    assert_eq!(describe(&mut client, ID).0, 105);
    let producer = init(&mut client, ID, 4);
    assert_eq!(describe(&mut client, ID), (0, "Empty".to_owned(), vec![]));
    assert_eq!(add(&mut client, producer, "orders", &[2, 0], 3), [0, 0]);
    assert_eq!(describe(&mut client, ID), (0, "Ongoing".to_owned(), vec![("orders".to_owned(), vec![0, 2])]));
    end(&mut client, producer, true, 3);
    assert_eq!(describe(&mut client, ID), (0, "CompleteCommit".to_owned(), vec![]));
}

#[test]
fn transactions_are_listed_as_asked_for() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let ids: Vec<i64> = ["a-1", "a-2", "b"].iter().map(|id| init(&mut client, id, 4).0).collect();
    let producer = init(&mut client, ID, 4);
    assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
    let all = ListTransactionsRequest { duration_filter: -1, ..ListTransactionsRequest::default() };
    assert_eq!(list(&mut client, &all).len(), 4);
    let ongoing = ListTransactionsRequest { state_filters: vec!["Ongoing".to_owned()], ..all.clone() };
    assert_eq!(list(&mut client, &ongoing), [(ID.to_owned(), "Ongoing".to_owned())]);
    let of_producers = ListTransactionsRequest { producer_id_filters: vec![ids[0], ids[2]], ..all.clone() };
    assert_eq!(list(&mut client, &of_producers).len(), 2);
    let pattern = ListTransactionsRequest { transactional_id_pattern: Some("a-.*".to_owned()), ..all.clone() };
    assert_eq!(list(&mut client, &pattern).len(), 2);
    let idle = ListTransactionsRequest { duration_filter: 3_600_000, ..all.clone() };
    assert_eq!(list(&mut client, &idle).len(), 3, "who has begun nothing is older than anything, as in Kafka");
    let long = ListTransactionsRequest { duration_filter: 3_600_000, state_filters: vec!["Ongoing".to_owned()], ..all };
    assert!(list(&mut client, &long).is_empty());
}

#[test]
fn a_tool_ends_a_transaction_that_hangs_and_its_producer_is_not_held_up() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let producer = init(&mut client, ID, 4);
    assert_eq!(add(&mut client, producer, "orders", &[0], 3), [0]);
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 0, &["hangs"]), 9), (0, 0));
    assert_eq!(producers(&mut client, "orders", 0), [(producer, 0)]);
    for version in [1, 2] {
        let marker = |epoch, coordinator_epoch| WriteTxnMarkersRequest {
            markers: vec![WritableTxnMarker {
                producer_id: producer.0,
                producer_epoch: epoch,
                transaction_result: false,
                topics: vec![
                    WritableTxnMarkerTopic { name: "orders".to_owned(), partition_indexes: vec![0, 7] },
                    WritableTxnMarkerTopic { name: "missing".to_owned(), partition_indexes: vec![0] },
                ],
                coordinator_epoch,
                transaction_version: 0,
            }],
        };
        let codes = |client: &mut Client, epoch, coordinator_epoch| {
            let answer = client.call(&marker(epoch, coordinator_epoch), version);
            let topics = answer.markers[0].topics.iter();
            topics.flat_map(|topic| &topic.partitions).map(|partition| partition.error_code).collect::<Vec<_>>()
        };
        assert_eq!(codes(&mut client, producer.1 - 1, 1_000), [47, 3, 3], "version {version}");
        assert_eq!(codes(&mut client, producer.1, 1_000), [0, 3, 3], "version {version}");
        assert_eq!(codes(&mut client, producer.1, 5), [52, 3, 3], "another coordinator has written since");
    }
    assert_eq!(producers(&mut client, "orders", 0), [(producer, -1)]);
    // The producer writes on, as far as it knows in the same transaction, and ends it.
    assert_eq!(write(&mut client, "orders", 0, batch(producer, 1, &["goes on"]), 9).0, 0);
    end(&mut client, producer, true, 3);
    let end = super::support::list_offset(&mut client, "orders", 0, -1).offset;
    assert_eq!(stable(&mut client, "orders", 0), end);
    assert_eq!(read_committed(&mut client, "orders", 0), ["goes on"]);
}
