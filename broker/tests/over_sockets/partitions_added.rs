//! Topics that are given more partitions while they are used.

use pillion_wire::messages::CreatePartitionsRequest;
use pillion_wire::messages::create_partitions::{CreatePartitionsAssignment, CreatePartitionsTopic};

use crate::support::{Client, TestBroker, batch, create_topic, metadata, produce, read_all};

fn add(client: &mut Client, name: &str, count: i32, assigned: Option<&[&[i32]]>, validate_only: bool) -> i16 {
    let assignment = |ids: &&[i32]| CreatePartitionsAssignment { broker_ids: ids.to_vec() };
    let assignments = assigned.map(|assigned| assigned.iter().map(assignment).collect());
    let topics = vec![CreatePartitionsTopic { name: name.to_owned(), count, assignments }];
    client.call(&CreatePartitionsRequest { topics, timeout_ms: 1_000, validate_only }, 3).results[0].error_code
}

fn partitions(client: &mut Client) -> usize {
    metadata(client, &["t"]).topics[0].partitions.len()
}

#[test]
fn added_partitions_are_used_at_once_and_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 1, &[("retention.ms", "-1")]);
    produce(&mut client, "t", 0, batch(&["old"]));
    assert_eq!(add(&mut client, "t", 3, None, true), 0);
    assert_eq!(partitions(&mut client), 1, "it was only to be checked");
    assert_eq!(add(&mut client, "t", 3, None, false), 0);
    assert_eq!(partitions(&mut client), 3);
    assert_eq!(produce(&mut client, "t", 2, batch(&["new"])).error_code, 0);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    assert_eq!(partitions(&mut client), 3);
    assert_eq!(metadata(&mut client, &["t"]).topics[0].topic_id, id);
    for (partition, records) in [(0, 1), (1, 0), (2, 1)] {
        assert_eq!(read_all(&mut client, "t", partition).len(), records, "{partition}");
    }
}

#[test]
fn what_is_no_increase_or_names_other_nodes_is_refused() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 2, &[]);
    for (name, count, assigned, code) in [
        ("t", 2, None, 37),
        ("t", 1, None, 37),
        ("t", 0, None, 37),
        ("t", -1, None, 37),
        ("t", i32::MAX, None, 44),
        ("missing", 3, None, 3),
        ("t", 4, Some(&[&[1] as &[i32]] as &[&[i32]]), 39),
        ("t", 3, Some(&[&[9]]), 39),
        ("t", 3, Some(&[&[1, 1]]), 39),
        ("t", 3, Some(&[&[]]), 39),
    ] {
        assert_eq!(add(&mut client, name, count, assigned, false), code, "{name} {count} {assigned:?}");
        assert_eq!(partitions(&mut client), 2);
    }
    let twice = |count| CreatePartitionsTopic { name: "t".to_owned(), count, assignments: None };
    let request = CreatePartitionsRequest { topics: vec![twice(3), twice(4)], timeout_ms: 1_000, validate_only: false };
    let results = client.call(&request, 3).results;
    assert_eq!((results.len(), results[0].error_code), (1, 42), "which of the two would hold?");
    assert_eq!(add(&mut client, "t", 3, Some(&[&[1]]), false), 0);
    assert_eq!(partitions(&mut client), 3);
}
