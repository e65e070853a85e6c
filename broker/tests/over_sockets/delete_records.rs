//! Records deleted by request: the log start offset rises, readers below it are told, and it stays so.

use pillion_wire::messages::DeleteRecordsRequest;
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};

use crate::support::{Client, TestBroker, batch, create_topic, fetch, list_offset, produce, read_all};

/// Deletes below `offset` in partition 0; answers the low watermark and the code.
fn delete(client: &mut Client, topic: &str, offset: i64) -> (i64, i16) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: topic.to_owned(), partitions }];
    let mut answer = client.call(&DeleteRecordsRequest { topics, timeout_ms: 1_000 }, 2);
    let partition = answer.topics.remove(0).partitions.remove(0);
    (partition.low_watermark, partition.error_code)
}

#[test]
fn what_cannot_be_deleted_is_refused() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "compacted", 1, &[("cleanup.policy", "compact")]);
    create_topic(&mut client, "both", 1, &[("cleanup.policy", "compact,delete")]);
    create_topic(&mut client, "neither", 1, &[("cleanup.policy", "")]);
    produce(&mut client, "t", 0, batch(&["a", "b", "c"]));
    for (topic, offset, answer) in [
        ("t", 4, (-1, 1)),
        ("t", -2, (-1, 1)),
        ("t", i64::MAX, (-1, 1)),
        ("missing", 0, (-1, 3)),
        ("compacted", 0, (-1, 44)),
        ("both", 0, (0, 0)),
        ("neither", -1, (0, 0)),
    ] {
        assert_eq!(delete(&mut client, topic, offset), answer, "{topic} below {offset}");
    }
    assert_eq!(read_all(&mut client, "t", 0).len(), 3);
}

#[test]
fn records_below_the_offset_are_gone_for_good() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    for _ in 0..3 {
        produce(&mut client, "t", 0, batch(&["a", "b", "c"]));
    }
    assert_eq!(delete(&mut client, "t", 4), (4, 0));
    assert_eq!(delete(&mut client, "t", 2), (4, 0), "it never falls");
    assert_eq!(fetch(&mut client, "t", 0, 3).error_code, 1);
    assert_eq!(list_offset(&mut client, "t", 0, -2).offset, 4);
    assert_eq!(read_all(&mut client, "t", 0).len(), 5);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    assert_eq!(list_offset(&mut client, "t", 0, -2).offset, 4);
    assert_eq!(delete(&mut client, "t", -1), (9, 0), "everything");
    assert!(read_all(&mut client, "t", 0).is_empty());
    assert_eq!(produce(&mut client, "t", 0, batch(&["d"])).base_offset, 9, "offsets go on");
}
