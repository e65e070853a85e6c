//! Transactions: of a producer nobody knows, over partitions that exist and that do not.

use pillion_wire::messages::add_partitions_to_txn::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use pillion_wire::messages::describe_producers::TopicRequest;
use pillion_wire::messages::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic};
use pillion_wire::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, DescribeProducersRequest, DescribeTransactionsRequest,
    EndTxnRequest, ListTransactionsRequest, WriteTxnMarkersRequest,
};

use super::World;

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
/// Of a producer that nothing is known of; or while what is on disk is being read, or before anyone asked for it.
const REFUSALS: [i16; 4] = [49, 14, 16, 105];

pub(super) fn ask(world: &mut World) {
    adding(world);
    ending(world);
    looking(world);
}

fn is_refused(what: &str, version: i16, code: i16) {
    assert!(REFUSALS.contains(&code), "{what} version {version}: {code}");
}

fn adding(world: &mut World) {
    let topics = |name: &str| vec![AddPartitionsToTxnTopic { name: name.to_owned(), partitions: vec![0, 1] }];
    for name in ["held", "missing"] {
        let request = |version| {
            let transaction = AddPartitionsToTxnTransaction {
                transactional_id: "nobody".to_owned(),
                producer_id: 5,
                topics: topics(name),
                ..Default::default()
            };
            match version {
                4.. => AddPartitionsToTxnRequest { transactions: vec![transaction; 2], ..Default::default() },
                _ => AddPartitionsToTxnRequest {
                    v3_and_below_transactional_id: "nobody".to_owned(),
                    v3_and_below_topics: topics(name),
                    ..Default::default()
                },
            }
        };
        world.ask(request, |version, answer: pillion_wire::messages::AddPartitionsToTxnResponse| {
            let several = answer.results_by_transaction.into_iter().flat_map(|result| result.topic_results);
            let results: Vec<_> = several.chain(answer.results_by_topic_v3_and_below).collect();
            assert_eq!(results.len(), if version >= 4 { 2 } else { 1 });
            for partition in results.iter().flat_map(|topic| &topic.results_by_partition) {
                match name {
                    "held" => is_refused("AddPartitionsToTxn", version, partition.partition_error_code),
                    _ => assert_eq!(partition.partition_error_code, UNKNOWN_TOPIC_OR_PARTITION),
                }
            }
        });
    }
    let offsets = |_| AddOffsetsToTxnRequest {
        transactional_id: "nobody".to_owned(),
        group_id: "saga".to_owned(),
        ..Default::default()
    };
    world.ask(offsets, |version, answer| is_refused("AddOffsetsToTxn", version, answer.error_code));
}

fn ending(world: &mut World) {
    for committed in [true, false] {
        let end = |_| EndTxnRequest { transactional_id: "nobody".to_owned(), committed, ..Default::default() };
        world.ask(end, |version, answer| is_refused("EndTxn", version, answer.error_code));
    }
    let topic = |name: &str| WritableTxnMarkerTopic { name: name.to_owned(), partition_indexes: vec![0, 9] };
    let markers = |_| WriteTxnMarkersRequest {
        markers: vec![WritableTxnMarker {
            producer_id: 5,
            producer_epoch: 3,
            topics: vec![topic("held"), topic("missing")],
            ..Default::default()
        }],
    };
    world.ask(markers, |version, answer| {
        let topics = answer.markers[0].topics.iter().flat_map(|topic| &topic.partitions);
        let codes: Vec<_> = topics.map(|partition| partition.error_code).collect();
        assert_eq!(codes, [0, 3, 3, 3], "version {version}");
    });
}

fn looking(world: &mut World) {
    let topic = |name: &str| TopicRequest { name: name.to_owned(), partition_indexes: vec![0, 9] };
    let producers = |_| DescribeProducersRequest { topics: vec![topic("held"), topic("missing")] };
    world.ask(producers, |version, answer| {
        let codes = answer.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
        assert_eq!(codes.collect::<Vec<_>>(), [0, 3, 3, 3], "version {version}");
    });
    let describe = |_| DescribeTransactionsRequest { transactional_ids: vec!["nobody".to_owned()] };
    world.ask(describe, |version, answer| {
        is_refused("DescribeTransactions", version, answer.transaction_states[0].error_code);
    });
    world.ask(|_| ListTransactionsRequest::default(), |_, answer| assert!([0, 14].contains(&answer.error_code)));
}
