use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use super::name::InvalidTopicName;
use super::*;
use crate::disk::{Disk, SimulatedDisk};

fn open(disk: &SimulatedDisk, clean: bool) -> Catalogue {
    let data = Path::new("/data");
    disk.create_directory(data).expect("makes");
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
    let catalogue = Catalogue::open(&files, data, clean).expect("opens");
    disk.sync_all(data).expect("syncs");
    catalogue
}

fn topic(number: u128) -> TopicRecord {
    let configs = vec![ConfigEntry { name: "retention.ms".to_owned(), value: "5".to_owned() }];
    TopicRecord { topic_id: Uuid::from_u128(number), partitions: 3, configs }
}

#[test]
fn what_was_put_survives_every_crash() {
    for seed in 0..50 {
        let disk = SimulatedDisk::new();
        let catalogue = open(&disk, false);
        catalogue.put_topics([("a".to_owned(), Some(topic(1))), ("b".to_owned(), Some(topic(2)))]).expect("puts");
        catalogue.put_topics([("a".to_owned(), None)]).expect("deletes");
        disk.crash(seed);
        assert_eq!(open(&disk, false).topics().expect("reads"), vec![("b".to_owned(), topic(2))], "seed {seed}");
    }
}

#[test]
fn a_producer_id_is_never_given_out_twice() {
    let disk = SimulatedDisk::new();
    let mut last = -1;
    for seed in 0..5 {
        let catalogue = open(&disk, false);
        for _ in 0..1_500 {
            let id = catalogue.next_producer_id().expect("gives one");
            assert!(id > last);
            last = id;
        }
        disk.crash(seed);
    }
}

#[test]
fn producer_ids_of_two_brokers_and_of_kafka_are_apart() {
    let (here, there) = (SimulatedDisk::new(), SimulatedDisk::new());
    let of = |disk: &SimulatedDisk| open(disk, false).next_producer_id().expect("gives one");
    let (here, there) = (of(&here), of(&there));
    assert!(here.abs_diff(there) >= 1 << 20, "{here} and {there}");
    for id in [here, there] {
        assert!((1 << 52..1 << 53).contains(&id), "{id}");
    }
    let adopted = SimulatedDisk::new();
    let catalogue = open(&adopted, false);
    catalogue.adopt([], 1, 3_000).expect("takes over");
    assert!(catalogue.next_producer_id().expect("gives one") >= 1 << 52, "Kafka will go on from 3000");
}

#[test]
fn the_leader_epoch_rises_after_an_unclean_stop_only() {
    let disk = SimulatedDisk::new();
    let catalogue = open(&disk, false);
    assert_eq!(catalogue.begin_leader_epoch(false).expect("begins"), 0, "a new broker begins at 0");
    catalogue.put_topics([("a".to_owned(), Some(topic(1)))]).expect("puts");
    disk.crash(3);
    let catalogue = open(&disk, false);
    assert_eq!(catalogue.begin_leader_epoch(false).expect("begins"), 1);
    catalogue.close().expect("closes");
    let catalogue = open(&disk, true);
    assert_eq!(catalogue.begin_leader_epoch(true).expect("begins"), 1);
    disk.crash(4);
    assert_eq!(open(&disk, false).begin_leader_epoch(false).expect("begins"), 2);
}

#[test]
fn names_that_could_leave_the_data_directory_or_are_its_own_are_refused() {
    let long = "x".repeat(250);
    for name in ["", ".", "..", "a/b", "a\0b", "ä", "a b", &long, "__pillion_catalogue", "__cluster_metadata"] {
        assert_eq!(check_topic_name(name), Err(InvalidTopicName), "{name:?}");
    }
    for name in ["a", "...", "A-b_c.9", &long[..249]] {
        assert_eq!(check_topic_name(name), Ok(()), "{name:?}");
    }
}

#[test]
fn a_change_of_nothing_leaves_what_follows_readable() {
    let disk = SimulatedDisk::new();
    let catalogue = open(&disk, false);
    catalogue.put_topics([]).expect("puts nothing");
    catalogue.put_topics([("a".to_owned(), Some(topic(1)))]).expect("puts");
    drop(catalogue);
    assert_eq!(open(&disk, false).topics().expect("reads"), [("a".to_owned(), topic(1))]);
}

#[test]
fn after_a_failed_sync_nothing_is_promised_until_the_next_start() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new();
        let catalogue = open(&disk, false);
        catalogue.put_topics([("a".to_owned(), Some(topic(1)))]).expect("puts");
        disk.fail_syncs_of("/data/__pillion_catalogue-0/00000000000000000000.log", true);
        assert!(catalogue.put_topics([("b".to_owned(), Some(topic(2)))]).is_err());
        disk.fail_syncs_of("/data/__pillion_catalogue-0/00000000000000000000.log", false);
        let refused = catalogue.put_topics([("c".to_owned(), Some(topic(3)))]);
        assert!(refused.is_err(), "no later sync makes up for one that failed");
        assert!(catalogue.close().is_err(), "the next start must recover");
        drop(catalogue);
        if seed > 0 {
            disk.crash(seed);
        }
        let catalogue = open(&disk, false);
        assert_eq!(catalogue.topics().expect("reads"), [("a".to_owned(), topic(1))], "seed {seed}");
        catalogue.put_topics([("d".to_owned(), Some(topic(4)))]).expect("puts again");
    }
}

#[test]
fn it_is_compacted_though_the_broker_is_never_stopped_cleanly() {
    let disk = SimulatedDisk::new();
    for (seed, clean) in [(1, false), (2, false)] {
        let catalogue = open(&disk, clean);
        catalogue.begin_leader_epoch(clean).expect("begins");
        for number in 0..60 {
            let topics: Vec<_> = (0..500).map(|name| (format!("topic-{name}"), Some(topic(number)))).collect();
            catalogue.put_topics(topics).expect("puts");
        }
        catalogue.compact(1 << 20).expect("compacts");
        let bytes = catalogue.state.lock().log.size();
        assert!(bytes < 3 << 20, "{bytes} bytes are left");
        disk.crash(seed);
        let topics = open(&disk, false).topics().expect("reads");
        assert!(topics.len() == 500 && topics.iter().all(|(_, record)| *record == topic(59)));
    }
}
