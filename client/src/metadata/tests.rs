use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use pillion_wire::messages::MetadataResponse;
use pillion_wire::messages::metadata::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use uuid::Uuid;

use super::cluster::Cluster;
use super::interest::Interest;

fn response(topic: &str, id: u128, partitions: &[(i32, i32, i32)]) -> MetadataResponse {
    let partition = |(partition_index, leader_id, leader_epoch): &(i32, i32, i32)| MetadataResponsePartition {
        partition_index: *partition_index,
        leader_id: *leader_id,
        leader_epoch: *leader_epoch,
        ..MetadataResponsePartition::default()
    };
    let topic = MetadataResponseTopic {
        name: Some(topic.to_owned()),
        topic_id: Uuid::from_u128(id),
        partitions: partitions.iter().map(partition).collect(),
        ..MetadataResponseTopic::default()
    };
    let broker = |node_id| MetadataResponseBroker { node_id, host: "::1".to_owned(), port: 9092, rack: None };
    MetadataResponse { brokers: vec![broker(1), broker(2)], topics: vec![topic], ..MetadataResponse::default() }
}

#[test]
fn leader_with_an_older_epoch_does_not_replace_the_known_one() {
    let known = Cluster::default().merge(response("a", 1, &[(0, 1, 5), (1, 2, 5)]), |_| true);
    let later = known.merge(response("a", 1, &[(0, 2, 4), (1, 1, 6)]), |_| true);
    assert_eq!(later.leader("a", 0), Some((1, 5)));
    assert_eq!(later.leader("a", 1), Some((1, 6)));
}

#[test]
fn recreated_topic_starts_over_with_its_leader_epochs() {
    let known = Cluster::default().merge(response("a", 1, &[(0, 1, 5)]), |_| true);
    let recreated = known.merge(response("a", 2, &[(0, 2, 0)]), |_| true);
    assert_eq!(recreated.leader("a", 0), Some((2, 0)));
}

#[test]
fn topics_left_out_of_an_answer_stay_while_they_are_in_use() {
    let known = Cluster::default().merge(response("a", 1, &[(0, 1, 0)]), |_| true);
    assert!(known.merge(response("b", 2, &[(0, 1, 0)]), |topic| topic == "a").topic("a").is_some());
    assert!(known.merge(response("b", 2, &[(0, 1, 0)]), |_| false).topic("a").is_none());
}

#[test]
fn partition_without_a_reachable_leader_has_none() {
    let cluster = Cluster::default().merge(response("a", 1, &[(0, -1, 0), (1, 3, 0)]), |_| true);
    assert_eq!([cluster.leader("a", 0), cluster.leader("a", 1), cluster.leader("a", 2)], [None; 3]);
    assert_eq!(cluster.leader("a", -1), None);
}

#[test]
fn gap_in_the_partition_numbers_does_not_shift_the_ones_behind_it() {
    let cluster = Cluster::default().merge(response("a", 1, &[(2, 2, 0), (0, 1, 0)]), |_| true);
    assert_eq!(cluster.topic("a").unwrap().partitions.len(), 1);
}

#[test]
fn ipv6_hosts_are_bracketed() {
    let cluster = Cluster::default().merge(response("a", 1, &[]), |_| true);
    assert_eq!(&*cluster.brokers[&1].address, "[::1]:9092");
    assert_eq!(cluster.topic("a").unwrap().error, ErrorCode::None);
}

#[test]
fn idle_topics_are_asked_for_no_more() {
    let start = Instant::now();
    let mut interest = Interest::default();
    interest.note("idle", true, start);
    interest.note("busy", false, start);
    interest.note("busy", false, start + Duration::from_secs(200));
    let topics = interest.topics(start + Duration::from_secs(301));
    assert_eq!(topics, (Vec::new(), vec!["busy".to_owned()]));
}
