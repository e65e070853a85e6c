//! A whole transaction in each version of each request.

use pillion_wire::messages::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use pillion_wire::messages::{ListTransactionsRequest, TxnOffsetCommitRequest};

use super::producer::{ID, add, add_offsets, batch, broker, end, init, read_committed, write_request};
use super::support::{create_topic, produce_with};

#[test]
fn each_version_of_each_request_does_its_part() {
    let (_broker, mut client) = broker();
    let topic_id = create_topic(&mut client, "orders", 2, &[]);
    let (mut committed, mut round) = (0, 0_i16);
    let versions =
        (0..=5).flat_map(|init| (0..=5).map(move |add| (init, add))).zip((0..=4).cycle()).zip((0..=5).cycle());
    for ((((init_version, add_version), offsets_version), end_version), produce_version) in
        versions.zip((3..=13).cycle())
    {
        let what = format!(
            "init {init_version}, add {add_version}, offsets {offsets_version}, end {end_version}, produce {produce_version}"
        );
        let producer = init(&mut client, ID, init_version);
        assert_eq!(add(&mut client, producer, "orders", &[0], add_version), [0], "{what}");
        assert_eq!(add_offsets(&mut client, producer, "saga", offsets_version), 0, "{what}");
        let mut request = write_request("orders", 0, batch(producer, 0, &["x"]));
        request.topic_data[0].topic_id = topic_id;
        assert_eq!(produce_with(&mut client, &request, produce_version).error_code, 0, "{what}");
        let offset_version = round % 7;
        let partition =
            TxnOffsetCommitRequestPartition { partition_index: 0, committed_offset: 3, ..Default::default() };
        let topic = TxnOffsetCommitRequestTopic { name: "orders".to_owned(), topic_id, partitions: vec![partition] };
        let request = TxnOffsetCommitRequest {
            transactional_id: ID.to_owned(),
            group_id: "saga".to_owned(),
            producer_id: producer.0,
            producer_epoch: producer.1,
            topics: vec![topic],
            ..TxnOffsetCommitRequest::default()
        };
        let answer = client.call(&request, offset_version);
        assert_eq!(answer.topics[0].partitions[0].error_code, 0, "{what}, offsets {offset_version}");
        let commit = round % 3 != 0;
        let next = end(&mut client, producer, commit, end_version);
        assert_eq!(next.1 - producer.1, i16::from(end_version == 5), "{what}");
        committed += usize::from(commit);
        round += 1;
    }
    assert_eq!(read_committed(&mut client, "orders", 0).len(), committed);
    for version in 0..=2 {
        let answer = client.call(&ListTransactionsRequest::default(), version);
        assert_eq!((answer.error_code, answer.transaction_states.len()), (0, 1), "version {version}");
    }
}
