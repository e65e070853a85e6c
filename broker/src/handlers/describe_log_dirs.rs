//! DescribeLogDirs (35), versions 1 to 5: the data directory, what its partitions take, and what the disk has left.
//!
//! There is one directory, nothing is on its way to another, and nothing lags. A partition's size is that of its
//! batches: segment files are grown ahead, and may be larger on the disk.

use std::collections::HashSet;

use pillion_wire::messages::describe_log_dirs::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use pillion_wire::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use super::blocking;
use crate::broker::BrokerState;
use crate::catalogue::Topic;
use crate::dispatch::{Call, Flow};
use crate::partition::Partition;

/// Answers; the disk is asked for its space, which may take a while.
pub(crate) fn handle(call: Call, request: DescribeLogDirsRequest) -> Flow {
    blocking(move || {
        let result = describe(&call.broker, &request);
        call.answer(&DescribeLogDirsResponse { results: vec![result], ..DescribeLogDirsResponse::default() });
    })
}

fn describe(broker: &BrokerState, request: &DescribeLogDirsRequest) -> DescribeLogDirsResult {
    let all = broker.topics.snapshot();
    let topics = match &request.topics {
        None => all.sorted().iter().map(|topic| of_topic(topic, |_| true)).collect(),
        Some(asked) => {
            let mut seen = HashSet::new();
            let asked = asked.iter().filter(|asked| seen.insert(&asked.topic));
            let known = asked.filter_map(|asked| Some((all.by_name(&asked.topic)?, &asked.partitions)));
            let known = known.map(|(topic, indexes)| {
                let indexes: HashSet<i32> = indexes.iter().copied().collect();
                of_topic(topic, |index| indexes.contains(&index))
            });
            known.filter(|topic| !topic.partitions.is_empty()).collect()
        }
    };
    let space = broker.partitions.disk().space(broker.data_directory()).ok();
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    DescribeLogDirsResult {
        log_dir: broker.absolute_data_directory().display().to_string(),
        topics,
        total_bytes: space.as_ref().map_or(-1, |space| bytes(space.total)),
        usable_bytes: space.as_ref().map_or(-1, |space| bytes(space.free)),
        ..DescribeLogDirsResult::default()
    }
}

fn of_topic(topic: &Topic, is_wanted: impl Fn(i32) -> bool) -> DescribeLogDirsTopic {
    let partition = |held: &Partition| DescribeLogDirsPartition {
        partition_index: held.index(),
        partition_size: i64::try_from(held.size()).unwrap_or(i64::MAX),
        ..DescribeLogDirsPartition::default()
    };
    let wanted = topic.partitions.iter().filter(|held| is_wanted(held.index()));
    DescribeLogDirsTopic { name: topic.name.to_string(), partitions: wanted.map(|held| partition(held)).collect() }
}
