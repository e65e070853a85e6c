//! Leader epochs: they rise with every unclean start, and tell clients whose knowledge is old (KIP-320).

use pillion_wire::messages::fetch::{EpochEndOffset as DivergingEpoch, LeaderIdAndEpoch};
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::offset_for_leader_epoch::{EpochEndOffset, OffsetForLeaderPartition, OffsetForLeaderTopic};
use pillion_wire::messages::{ListOffsetsRequest, OffsetForLeaderEpochRequest};

use crate::support::{
    Client, Fetched, TestBroker, batch, create_topic, fetch, fetch_request, list_offset, metadata, produce, split,
};

fn end_of_epoch(client: &mut Client, current_leader_epoch: i32, leader_epoch: i32) -> EpochEndOffset {
    let partition = OffsetForLeaderPartition { partition: 0, current_leader_epoch, leader_epoch };
    let topics = vec![OffsetForLeaderTopic { topic: "t".to_owned(), partitions: vec![partition] }];
    let request = OffsetForLeaderEpochRequest { topics, ..OffsetForLeaderEpochRequest::default() };
    client.call(&request, 4).topics.remove(0).partitions.remove(0)
}

/// Three records in epoch 0 and two in epoch 1, told apart by an unclean start.
fn two_epochs(directory: &std::path::Path) -> (TestBroker, Client) {
    let broker = TestBroker::start(directory, &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "empty", 1, &[]);
    assert_eq!(metadata(&mut client, &["t"]).topics[0].partitions[0].leader_epoch, 0);
    assert_eq!(produce(&mut client, "t", 0, batch(&["a", "b", "c"])).error_code, 0);
    broker.abandon();
    let broker = TestBroker::start(directory, &[]);
    let mut client = broker.client();
    let before = end_of_epoch(&mut client, -1, 0);
    assert_eq!((before.leader_epoch, before.end_offset), (0, 3), "also before anything is written in epoch 1");
    assert_eq!(end_of_epoch(&mut client, -1, 1).end_offset, 3);
    assert_eq!(produce(&mut client, "t", 0, batch(&["d", "e"])).error_code, 0);
    (broker, client)
}

#[test]
fn an_unclean_start_raises_the_epoch_and_a_clean_one_does_not() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (broker, mut client) = two_epochs(directory.path());
    for topic in ["t", "empty"] {
        assert_eq!(metadata(&mut client, &[topic]).topics[0].partitions[0].leader_epoch, 1);
    }
    let epochs: Vec<_> = split(&fetch(&mut client, "t", 0, 0).bytes()).iter().map(|batch| batch[15]).collect();
    assert_eq!(epochs, [0, 1], "batches keep the epoch they were written in");
    assert_eq!(list_offset(&mut client, "t", 0, -1).leader_epoch, 1);
    assert_eq!(list_offset(&mut client, "t", 0, -2).leader_epoch, 0);
    assert_eq!(list_offset(&mut client, "t", 0, 1_000).leader_epoch, 0);
    broker.stop();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    assert_eq!(metadata(&mut client, &["t"]).topics[0].partitions[0].leader_epoch, 1);
    assert_eq!(list_offset(&mut client, "t", 0, -2).leader_epoch, 0, "the history of epochs is kept");
}

#[test]
fn the_ends_of_epochs_are_told() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (_broker, mut client) = two_epochs(directory.path());
    for (asked, epoch, end_offset) in [(0, 0, 3), (1, 1, 5), (-1, -1, -1)] {
        let found = end_of_epoch(&mut client, -1, asked);
        assert_eq!((found.error_code, found.leader_epoch, found.end_offset), (0, epoch, end_offset), "{asked}");
    }
}

#[test]
fn clients_with_an_old_or_a_future_epoch_are_told() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (_broker, mut client) = two_epochs(directory.path());
    for (epoch, code) in [(-1, 0), (0, 74), (1, 0), (2, 75)] {
        let mut request = fetch_request("t", 0, 0);
        request.topics[0].partitions[0].current_leader_epoch = epoch;
        assert_eq!(client.call(&request, 12).responses[0].partitions[0].error_code, code, "fetch in epoch {epoch}");
        let partition = ListOffsetsPartition { current_leader_epoch: epoch, timestamp: -1, partition_index: 0 };
        let topics = vec![ListOffsetsTopic { name: "t".to_owned(), partitions: vec![partition] }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
        let answer = client.call(&request, 6);
        assert_eq!(answer.topics[0].partitions[0].error_code, code, "list offsets in epoch {epoch}");
        assert_eq!(end_of_epoch(&mut client, epoch, 0).error_code, code, "end of epoch in epoch {epoch}");
    }
}

#[test]
fn a_client_with_an_old_epoch_is_told_the_leader_and_its_epoch() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (broker, mut client) = two_epochs(directory.path());
    let topic_id = metadata(&mut client, &["t"]).topics[0].topic_id;
    let nobody = LeaderIdAndEpoch::default();
    for version in 9..=18 {
        for (epoch, code) in [(-1, 0), (0, 74), (1, 0), (2, 75)] {
            let mut request = fetch_request("t", 0, 0);
            request.topics[0].topic_id = topic_id;
            request.topics[0].partitions[0].current_leader_epoch = epoch;
            let answer = client.call(&request, version);
            let partition = &answer.responses[0].partitions[0];
            let is_told = version >= 16 && code == 74;
            let leader = if is_told { LeaderIdAndEpoch { leader_id: 1, leader_epoch: 1 } } else { nobody.clone() };
            assert_eq!((partition.error_code, &partition.current_leader), (code, &leader), "{epoch} in {version}");
            let endpoints: Vec<_> =
                answer.node_endpoints.iter().map(|node| (node.node_id, &*node.host, node.port)).collect();
            let here = (1, "127.0.0.1", i32::from(broker.address.port()));
            assert_eq!(endpoints, if is_told { vec![here] } else { Vec::new() }, "{epoch} in {version}");
        }
    }
}

#[test]
fn a_reader_whose_history_parted_from_the_logs_is_told_where() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (_broker, mut client) = two_epochs(directory.path());
    let none = DivergingEpoch::default();
    // Read up to 4 in epoch 0, which ended at 3; or in an epoch that never was.
    for (offset, last_fetched_epoch, diverging) in [
        (3, 0, none.clone()),
        (5, 1, none),
        (4, 0, DivergingEpoch { epoch: 0, end_offset: 3 }),
        (5, 7, DivergingEpoch { epoch: 1, end_offset: 5 }),
    ] {
        let mut request = fetch_request("t", 0, offset);
        request.topics[0].partitions[0].last_fetched_epoch = last_fetched_epoch;
        let partition = client.call(&request, 12).responses.remove(0).partitions.remove(0);
        let parts = diverging != DivergingEpoch::default();
        assert_eq!((partition.error_code, &partition.diverging_epoch), (0, &diverging), "{offset}");
        assert!(!parts || partition.bytes().is_empty(), "records come only after the reader has cut its log");
    }
}
