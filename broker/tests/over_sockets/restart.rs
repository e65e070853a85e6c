//! Stopping and starting again: what is kept, and which directories are refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pillion_broker::{DataDirectoryError, RealDisk, StartError};
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::{DescribeClusterRequest, DescribeConfigsRequest};

use crate::support::{
    Client, TestBroker, batch, config, create_topic, delete_topic, idempotent, metadata, produce, producer_id, read_all,
};

/// A producer id that the broker does not give out in these tests.
const PRODUCER_ID: i64 = 1 << 40;

fn cluster_id(client: &mut Client) -> String {
    client.call(&DescribeClusterRequest::default(), 0).cluster_id
}

fn retention(client: &mut Client) -> Option<String> {
    let resource = DescribeConfigsResource {
        resource_type: 2,
        resource_name: "a".to_owned(),
        configuration_keys: Some(vec!["retention.ms".to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    client.call(&request, 4).results.remove(0).configs.remove(0).value
}

/// Stops a broker one way or the other, starts it again and checks that nothing is lost.
fn check_kept(stop: fn(TestBroker), rounds: i32) {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "a", 3, &[("retention.ms", "-1"), ("segment.bytes", "1000")]);
    create_topic(&mut client, "gone", 1, &[]);
    delete_topic(&mut client, "gone");
    let cluster = cluster_id(&mut client);
    let mut producer_ids = vec![producer_id(&mut client)];
    let sequenced = |round: i32| idempotent(&[&format!("sequenced {round}")], PRODUCER_ID, 0, round);
    let mut broker = broker;
    for round in 0..rounds {
        for _ in 0..20 {
            assert_eq!(produce(&mut client, "a", 1, batch(&[&"x".repeat(100)])).error_code, 0);
        }
        assert_eq!(produce(&mut client, "a", 0, sequenced(round)).base_offset, i64::from(round));
        stop(broker);
        broker = TestBroker::start(directory.path(), &[]);
        client = broker.client();
        assert_eq!(cluster_id(&mut client), cluster);
        let topics = metadata(&mut client, &["a", "gone"]).topics;
        assert_eq!((topics[0].topic_id, topics[0].partitions.len()), (id, 3));
        assert_eq!(topics[1].error_code, 3, "a deleted topic stays deleted");
        assert_eq!(retention(&mut client).as_deref(), Some("-1"));
        let expected = 20 * (round as usize + 1);
        assert_eq!(read_all(&mut client, "a", 1).len(), expected);
        let again = produce(&mut client, "a", 0, sequenced(round));
        assert_eq!((again.error_code, again.base_offset), (0, i64::from(round)), "a retry is still known");
        assert_eq!(produce(&mut client, "a", 0, sequenced(round + 5)).error_code, 45, "a gap is still one");
        producer_ids.push(producer_id(&mut client));
        assert!(producer_ids.is_sorted_by(|left, right| left < right), "an id was given twice: {producer_ids:?}");
    }
}

#[test]
fn a_clean_stop_keeps_everything() {
    check_kept(TestBroker::stop, 3);
}

#[test]
fn an_unclean_stop_keeps_everything_acknowledged() {
    check_kept(TestBroker::abandon, 3);
}

#[test]
fn a_clean_start_finds_segments_without_the_room_they_were_grown_by() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let one = batch(&["x"]);
    produce(&mut client, "t", 0, one.clone());
    broker.stop();
    let segment = directory.path().join("t-0").join(format!("{:020}.log", 0));
    assert_eq!(std::fs::metadata(segment).expect("it is there").len(), one.len() as u64);
}

/// Every file of a directory with what it holds, but for the lock.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("it is a directory") {
        let path = entry.expect("it is readable").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let inside = self::contents(&path).into_iter();
            contents.extend(inside.map(|(inner, content)| (format!("{name}/{inner}"), content)));
        } else if name != ".lock" {
            contents.insert(name, std::fs::read(&path).expect("it is readable"));
        }
    }
    contents
}

/// A directory that a broker has used, with one line of its `meta.properties` changed.
fn used_directory(replace: (&str, &str)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    create_topic(&mut broker.client(), "t", 1, &[]);
    broker.stop();
    let meta = directory.path().join("meta.properties");
    let text = std::fs::read_to_string(&meta).expect("it is there");
    assert!(text.contains(replace.0), "{text}");
    std::fs::write(&meta, text.replace(replace.0, replace.1)).expect("it is writable");
    directory
}

fn refusal(directory: &Path) -> DataDirectoryError {
    match TestBroker::try_start(Arc::new(RealDisk), config(directory, &[])).err() {
        Some(StartError::DataDirectory(error)) => error,
        other => panic!("the directory is not refused: {other:?}"),
    }
}

#[test]
fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let error = refusal(directory.path());
    assert!(matches!(error, DataDirectoryError::InUse(_)), "{error:?}");
    assert_eq!(metadata(&mut broker.client(), &[]).brokers.len(), 1, "the first one goes on");
    broker.stop();
    TestBroker::start(directory.path(), &[]).stop();
}

#[test]
fn a_newer_format_is_refused_before_anything_is_written() {
    for newer in ["2", "99", "1.1", "none"] {
        let directory = used_directory(("pillion.format=1", &format!("pillion.format={newer}")));
        let before = contents(directory.path());
        let error = refusal(directory.path());
        assert!(matches!(error, DataDirectoryError::NewerFormat { .. }), "{newer}: {error:?}");
        assert_eq!(contents(directory.path()), before, "{newer}");
    }
}

#[test]
fn another_nodes_directory_is_refused() {
    let directory = used_directory(("node.id=1", "node.id=2"));
    let before = contents(directory.path());
    let error = refusal(directory.path());
    assert!(matches!(error, DataDirectoryError::OtherNode { .. }), "{error:?}");
    assert!(error.to_string().contains("node.id=2"), "it says what to set: {error}");
    assert_eq!(contents(directory.path()), before);
}
