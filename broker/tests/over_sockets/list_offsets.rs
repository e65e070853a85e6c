//! ListOffsets: offsets by time and by mark, as Kafka 4.4 on one node without tiered storage answers.

use pillion_wire::messages::ListOffsetsRequest;
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::records::Compression;

use crate::support::{TestBroker, batch_of, create_topic, list_offset, produce, record};

#[test]
fn offsets_are_listed_by_time_and_by_mark() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[]);
    let records = [record("a", 1_000), record("b", 3_000), record("c", 2_000), record("d", 3_000)];
    produce(&mut client, "t", 0, batch_of(&records, Compression::Gzip, None));
    produce(&mut client, "t", 0, batch_of(&[record("e", 2_500)], Compression::None, None));
    // Timestamp asked for, then offset, timestamp and leader epoch answered.
    let cases = [
        (-1, 5, -1, 0),
        (-2, 0, -1, 0),
        (-3, 1, 3_000, 0),
        (-4, 0, -1, 0),
        (-5, -1, -1, -1),
        (-6, -1, -1, -1),
        (0, 0, 1_000, 0),
        (1_000, 0, 1_000, 0),
        (1_001, 1, 3_000, 0),
        (3_000, 1, 3_000, 0),
        (3_001, -1, -1, -1),
    ];
    for (asked, offset, timestamp, epoch) in cases {
        let found = list_offset(&mut client, "t", 0, asked);
        let answered = (found.error_code, found.offset, found.timestamp, found.leader_epoch);
        assert_eq!(answered, (0, offset, timestamp, epoch), "{asked}");
    }
    for (asked, offset) in [(-1, 0), (-2, 0), (-3, -1), (-4, 0), (-5, -1), (-6, -1), (0, -1)] {
        let found = list_offset(&mut client, "t", 1, asked);
        let epoch = if offset < 0 { -1 } else { 0 };
        assert_eq!((found.offset, found.leader_epoch), (offset, epoch), "{asked} of an empty partition");
    }
}

#[test]
fn a_special_timestamp_is_not_known_before_its_version() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let since = [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12), (i64::MIN, 12), (0, 1)];
    for (timestamp, since) in since {
        for name in ["t", "nope"] {
            let partition = ListOffsetsPartition { timestamp, ..ListOffsetsPartition::default() };
            let topics = vec![ListOffsetsTopic { name: name.to_owned(), partitions: vec![partition] }];
            let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
            for version in 1..=11 {
                let answer = client.call(&request, version);
                let expected = match name {
                    _ if version < since => 35,
                    "t" => 0,
                    _ => 3,
                };
                let code = answer.topics[0].partitions[0].error_code;
                assert_eq!(code, expected, "{timestamp} of {name} in version {version}");
            }
        }
    }
}
