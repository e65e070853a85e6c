//! Records: produce, fetch, and what goes with them.

use pillion_wire::messages::fetch::{FetchPartition, FetchTopic};
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::offset_for_leader_epoch::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use pillion_wire::messages::produce::{PartitionProduceData, TopicProduceData};
use pillion_wire::messages::{
    FetchRequest, InitProducerIdRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest, ProduceRequest,
};
use pillion_wire::records::{BatchProducer, Compression};

use super::World;
use crate::support::{Fetched, altered, batch, batch_of, idempotent, record};

/// Partition numbers, of which the topic has the first two.
const PARTITIONS: [i32; 4] = [0, 1, 2, -1];

pub(super) fn ask(world: &mut World) {
    produce(world);
    fetch(world);
    list_offsets(world);
    offset_for_leader_epoch(world);
    let id = |transactional_id: Option<&str>| {
        let transactional_id = transactional_id.map(str::to_owned);
        move |_| InitProducerIdRequest { transactional_id: transactional_id.clone(), ..Default::default() }
    };
    world.ask(id(None), |_, answer| assert!(answer.error_code == 0 && answer.producer_id >= 0));
    world.ask(id(Some("transactional")), |_, answer| assert_ne!(answer.error_code, 0));
}

fn produce(world: &mut World) {
    let good = batch(&["x"]);
    let transactional = BatchProducer { id: 5, epoch: 0, base_sequence: 0, transactional: true };
    let batches = [
        (Some(good.clone()), 0),
        (None, 87),
        (Some(good.slice(..good.len() - 1)), 87),
        (Some(altered(&good, 21, &[0, 0x20])), 87),
        (Some(idempotent(&["late"], 9, 0, 4)), 0),
        (Some(batch_of(&[record("t", 0)], Compression::None, Some(transactional))), 53),
    ];
    let topics = world.topics();
    for (records, code) in batches {
        for acks in [-1, 1, 3] {
            let request = |_| {
                let partition =
                    |index| PartitionProduceData { index, records: records.clone().map(pillion_wire::Records::Bytes) };
                let topic_data = topics.clone().map(|(name, topic_id)| TopicProduceData {
                    name,
                    topic_id,
                    partition_data: PARTITIONS.map(partition).to_vec(),
                });
                ProduceRequest { acks, timeout_ms: 1_000, topic_data: topic_data.to_vec(), transactional_id: None }
            };
            world.ask(request, |version, answer| {
                let answered = |topic: usize| answer.responses[topic].partition_responses.iter();
                let codes = |topic| answered(topic).map(|partition| partition.error_code).collect::<Vec<_>>();
                let unknown = if version >= 13 { 100 } else { 3 };
                let expected = if acks == 3 { [[21; 4]; 2] } else { [[code, code, 3, 3], [unknown; 4]] };
                assert_eq!([codes(0), codes(1)], expected.map(|codes| codes.to_vec()), "version {version}");
                assert!(answered(0).all(|partition| (partition.base_offset < 0) == (partition.error_code != 0)));
            });
        }
    }
}

fn fetch(world: &mut World) {
    let topics = world.topics();
    for (offset, epoch, isolation_level, code) in
        [(0, -1, 0, 0), (0, -1, 1, 0), (9_999, -1, 0, 1), (-5, -1, 0, 1), (0, 9, 0, 75)]
    {
        let request = |_| {
            let partition = |partition| FetchPartition {
                partition,
                fetch_offset: offset,
                current_leader_epoch: epoch,
                partition_max_bytes: 1 << 20,
                ..FetchPartition::default()
            };
            let topics = topics.clone().map(|(topic, topic_id)| FetchTopic {
                topic,
                topic_id,
                partitions: PARTITIONS.map(partition).to_vec(),
            });
            FetchRequest { isolation_level, min_bytes: 1, topics: topics.to_vec(), ..FetchRequest::default() }
        };
        world.ask(request, |version, answer| {
            let codes = |topic: usize| {
                answer.responses[topic].partitions.iter().map(|partition| partition.error_code).collect::<Vec<_>>()
            };
            // Clients did not tell their leader epoch before version 9.
            let code = if code == 75 && version < 9 { 0 } else { code };
            let unknown = if version >= 13 { 100 } else { 3 };
            assert_eq!(codes(0), [code, code, 3, 3], "version {version}, offset {offset}");
            assert_eq!(codes(1), [unknown; 4], "version {version}");
            assert_eq!(answer.responses[0].partitions[0].bytes().is_empty(), code != 0);
        });
    }
    let lost = |_| FetchRequest { session_id: 12, session_epoch: 3, ..FetchRequest::default() };
    world.ask(lost, |version, answer| assert_eq!(answer.error_code, if version >= 7 { 70 } else { 0 }));
    let diverging = |version| {
        let mut request = crate::support::fetch_request("held", 0, 0);
        request.topics[0].topic_id = topics[0].1;
        request.topics[0].partitions[0].last_fetched_epoch = if version >= 12 { 3 } else { -1 };
        request
    };
    world.ask(diverging, |_, answer| assert_eq!(answer.responses[0].partitions[0].error_code, 0));
}

fn list_offsets(world: &mut World) {
    let topics = world.topics();
    for (timestamp, epoch) in
        [(-1, -1), (-2, -1), (-3, -1), (-4, -1), (-5, -1), (-6, -1), (-7, -1), (1_000, -1), (i64::MAX, -1), (-1, 9)]
    {
        let request = |version| {
            let partition =
                |partition_index| ListOffsetsPartition { partition_index, current_leader_epoch: epoch, timestamp };
            let topics = topics
                .clone()
                .map(|(name, _)| ListOffsetsTopic { name, partitions: PARTITIONS.map(partition).to_vec() });
            let isolation_level = i8::from(version >= 2);
            ListOffsetsRequest { replica_id: -1, isolation_level, topics: topics.to_vec(), timeout_ms: 1_000 }
        };
        world.ask(request, |version, answer| {
            let answered = |topic: usize| &answer.topics[topic].partitions;
            let first = &answered(0)[0];
            // The version that a special timestamp came with.
            let since = [1, 1, 7, 8, 9, 11, 12].get(timestamp.wrapping_neg() as usize - 1).copied().unwrap_or(1);
            let code = match (timestamp, epoch) {
                _ if version < since => 35,
                (_, 9) if version >= 4 => 75,
                _ => 0,
            };
            assert_eq!(first.error_code, code, "version {version}, timestamp {timestamp}");
            let unknown = if version < since { 35 } else { 3 };
            assert!(answered(1).iter().all(|partition| partition.error_code == unknown), "version {version}");
            if version >= 4 && timestamp == -1 && code == 0 {
                assert_eq!(first.leader_epoch, 0);
            }
        });
    }
}

fn offset_for_leader_epoch(world: &mut World) {
    let topics = world.topics();
    for (current_leader_epoch, leader_epoch) in [(-1, 0), (-1, 5), (-1, -1), (0, 0), (9, 0)] {
        let request = |_| {
            let partition = |partition| OffsetForLeaderPartition { partition, current_leader_epoch, leader_epoch };
            let topics = topics
                .clone()
                .map(|(topic, _)| OffsetForLeaderTopic { topic, partitions: PARTITIONS.map(partition).to_vec() });
            OffsetForLeaderEpochRequest { topics: topics.to_vec(), ..OffsetForLeaderEpochRequest::default() }
        };
        world.ask(request, |version, answer| {
            let code = |topic: usize, place: usize| answer.topics[topic].partitions[place].error_code;
            assert_eq!(code(0, 0), if current_leader_epoch == 9 { 75 } else { 0 }, "version {version}");
            assert_eq!((code(0, 2), code(1, 0)), (3, 3), "version {version}");
        });
    }
}
