//! Every version that ApiVersions tells of is answered, for what exists and for what does not, in bytes that decode.

mod cluster;
mod data;
mod groups;
mod topics;
mod transactions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use pillion_wire::messages::{ApiVersionsRequest, ApiVersionsResponse, DescribeClusterRequest};
use pillion_wire::{Message, Request};
use uuid::Uuid;

use crate::support::{Client, TestBroker, batch, create_topic, produce, produce_request};

/// What an Apache Kafka 4.4 broker's listener answers, by API key.
const KAFKA_RANGES: &[(i16, RangeInclusive<i16>)] = &[
    (0, 0..=13),
    (1, 4..=18),
    (2, 1..=11),
    (3, 0..=13),
    (8, 2..=10),
    (9, 1..=10),
    (10, 0..=6),
    (11, 0..=9),
    (12, 0..=4),
    (13, 0..=5),
    (14, 0..=5),
    (15, 0..=6),
    (16, 0..=5),
    (18, 0..=5),
    (19, 2..=7),
    (20, 1..=6),
    (21, 0..=2),
    (22, 0..=5),
    (23, 2..=4),
    (24, 0..=5),
    (25, 0..=4),
    (26, 0..=5),
    (27, 1..=2),
    (28, 0..=6),
    (29, 1..=3),
    (32, 1..=4),
    (33, 0..=2),
    (34, 1..=2),
    (35, 1..=5),
    (37, 0..=3),
    (41, 1..=3),
    (42, 0..=3),
    (43, 0..=2),
    (44, 0..=1),
    (45, 0..=1),
    (46, 0..=0),
    (47, 0..=0),
    (48, 0..=1),
    (50, 0..=0),
    (55, 0..=2),
    (57, 0..=2),
    (60, 0..=2),
    (61, 0..=0),
    (65, 0..=0),
    (66, 0..=2),
    (74, 0..=1),
    (75, 0..=0),
];

/// APIs the broker cannot do without in this slice.
const REQUIRED: [i16; 43] = [
    0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32, 33, 34, 35, 37, 41, 43,
    44, 45, 46, 48, 50, 55, 57, 60, 61, 65, 66, 74, 75,
];

/// A broker with a topic that has records, and what its ApiVersions told.
struct World {
    broker: TestBroker,
    client: Client,
    advertised: BTreeMap<i16, RangeInclusive<i16>>,
    asked: BTreeSet<i16>,
    topic_id: Uuid,
}

impl World {
    fn new() -> Self {
        let broker =
            TestBroker::fresh(&[("offsets.topic.num.partitions", "2"), ("auto.create.topics.enable", "false")]);
        let mut client = broker.client();
        let advertised = client.call(&ApiVersionsRequest::default(), 0);
        let advertised = advertised.api_keys.iter().map(|api| (api.api_key, api.min_version..=api.max_version));
        let advertised = advertised.collect();
        let topic_id = create_topic(&mut client, "held", 2, &[("retention.ms", "-1")]);
        assert_eq!(produce(&mut client, "held", 0, batch(&["a", "b", "c"])).error_code, 0);
        Self { broker, client, advertised, asked: BTreeSet::new(), topic_id }
    }

    /// Versions of an API that are advertised and have a meaning; empty when the API is not there.
    fn versions<R: Request>(&mut self) -> Vec<i16> {
        self.asked.insert(R::KEY);
        let advertised = self.advertised.get(&R::KEY).cloned().into_iter().flatten();
        advertised.filter(|version| R::VERSIONS.contains(version)).collect()
    }

    /// Asks in every version; an answer must come and decode, and pass `check`.
    fn ask<R: Request>(&mut self, request: impl Fn(i16) -> R, check: impl Fn(i16, R::Response)) {
        for version in self.versions::<R>() {
            let answer = self.client.call(&request(version), version);
            check(version, answer);
        }
    }

    /// Some topics, by name and id: one that exists, one that does not.
    fn topics(&self) -> [(String, Uuid); 2] {
        [("held".to_owned(), self.topic_id), ("missing".to_owned(), Uuid::from_u128(7))]
    }
}

#[test]
fn every_advertised_version_is_answered() {
    let mut world = World::new();
    data::ask(&mut world);
    topics::ask(&mut world);
    groups::ask(&mut world);
    transactions::ask(&mut world);
    cluster::ask(&mut world);
    world.ask(
        |_| ApiVersionsRequest {
            client_software_name: "tests".to_owned(),
            client_software_version: "1.0".to_owned(),
            ..ApiVersionsRequest::default()
        },
        |_, answer| assert_eq!(answer.error_code, 0),
    );
    let unasked: Vec<_> = world.advertised.keys().filter(|key| !world.asked.contains(key)).collect();
    assert!(unasked.is_empty(), "advertised and not asked for here: {unasked:?}");
}

#[test]
fn kafkas_own_ranges_are_advertised() {
    let world = World::new();
    for (key, range) in &world.advertised {
        let kafkas = KAFKA_RANGES.iter().find(|(known, _)| known == key);
        assert_eq!(kafkas.map(|(_, range)| range), Some(range), "API {key}");
    }
    let missing: Vec<_> = REQUIRED.iter().filter(|key| !world.advertised.contains_key(key)).collect();
    assert!(missing.is_empty(), "not advertised: {missing:?}");
}

#[test]
fn produce_below_version_3_is_advertised_and_closes_the_connection() {
    let world = World::new();
    assert_eq!(world.advertised[&0].start(), &0);
    let mut frame = crate::support::frame(&produce_request("held", 0, batch(&["x"])), 3, 1);
    for version in 0..3 {
        frame[7] = version;
        let mut client = world.broker.client();
        client.send_bytes(&frame);
        client.expect_closed();
    }
}

#[test]
fn an_api_versions_request_that_is_too_new_is_told_the_range_in_version_0() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for version in [6, 7, i16::MAX] {
        let mut frame = crate::support::frame(&ApiVersionsRequest::default(), 4, 77);
        frame[6..8].copy_from_slice(&version.to_be_bytes());
        client.send_bytes(&frame);
        let answer = client.receive_frame().expect("it is answered");
        assert_eq!(answer[..4], 77_i32.to_be_bytes());
        let body = answer.slice(4..);
        let mut reader = pillion_wire::Reader::new(&body);
        let answer = ApiVersionsResponse::read(&mut reader, 0).expect("it is a version 0 body");
        assert_eq!(reader.remaining(), 0);
        assert_eq!(answer.error_code, 35);
        let own = answer.api_keys.iter().find(|api| api.api_key == 18).expect("its own range is told");
        assert_eq!((own.min_version, own.max_version), (0, 5));
    }
    let request = ApiVersionsRequest {
        client_software_name: "tests".to_owned(),
        client_software_version: "1".to_owned(),
        ..ApiVersionsRequest::default()
    };
    assert_eq!(client.call(&request, 4).error_code, 0, "the same connection goes on");
}

#[test]
fn a_client_that_expects_another_broker_is_sent_back_to_its_bootstrap_addresses() {
    const INVALID_REQUEST: i16 = 42;
    const REBOOTSTRAP_REQUIRED: i16 = 129;
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let described = client.call(&DescribeClusterRequest::default(), 2);
    let (cluster, node) = (described.cluster_id.as_str(), described.brokers[0].broker_id);
    // As Kafka 4.4 answers.
    for (cluster_id, node_id, error_code) in [
        (None, -1, 0),
        (Some(cluster), node, 0),
        (Some(cluster), node + 98, REBOOTSTRAP_REQUIRED),
        (Some("other"), node, REBOOTSTRAP_REQUIRED),
        (Some(""), node, REBOOTSTRAP_REQUIRED),
        (Some(cluster), -1, INVALID_REQUEST),
        (None, node, INVALID_REQUEST),
    ] {
        let request = ApiVersionsRequest {
            client_software_name: "tests".to_owned(),
            client_software_version: "1".to_owned(),
            cluster_id: cluster_id.map(str::to_owned),
            node_id,
        };
        let answer = client.call(&request, 5);
        assert_eq!(answer.error_code, error_code, "{cluster_id:?} {node_id}");
        assert_eq!(answer.api_keys.is_empty(), error_code != 0);
    }
}

#[test]
fn a_client_name_that_is_none_is_an_invalid_request() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for (name, version, code) in
        [("", "1", 42), ("a b", "1", 42), ("-a", "1", 42), ("a", "1.", 42), ("ä", "1", 42), ("a-b.c", "1.0-x", 0)]
    {
        let request = ApiVersionsRequest {
            client_software_name: name.to_owned(),
            client_software_version: version.to_owned(),
            ..ApiVersionsRequest::default()
        };
        assert_eq!(client.call(&request, 3).error_code, code, "{name:?} {version:?}");
    }
}
