//! AlterReplicaLogDirs (34), versions 1 to 2: moves partitions to other directories, of which there is none.
//!
//! To be where it is a partition may be asked; any other directory does not exist for this broker.

use std::path::Path;

use pillion_wire::ErrorCode;
use pillion_wire::messages::alter_replica_log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopic, AlterReplicaLogDirTopicResult,
};
use pillion_wire::messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};

use crate::catalogue::TopicsSnapshot;
use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: AlterReplicaLogDirsRequest) -> Flow {
    let topics = call.broker.topics.snapshot();
    let here = call.broker.absolute_data_directory();
    let of_directory = |path: &str, topic: &AlterReplicaLogDirTopic| {
        let is_here = Path::new(path) == here;
        let partitions = topic.partitions.iter().map(|index| AlterReplicaLogDirPartitionResult {
            partition_index: *index,
            error_code: outcome(&topics, is_here, &topic.name, *index).code(),
        });
        AlterReplicaLogDirTopicResult { topic_name: topic.name.clone(), partitions: partitions.collect() }
    };
    let results = request.dirs.iter().flat_map(|dir| dir.topics.iter().map(|topic| of_directory(&dir.path, topic)));
    call.answer(&AlterReplicaLogDirsResponse { throttle_time_ms: 0, results: results.collect() })
}

fn outcome(topics: &TopicsSnapshot, is_here: bool, topic: &str, index: i32) -> ErrorCode {
    if !is_here {
        return ErrorCode::LogDirNotFound;
    }
    match topics.by_name(topic).and_then(|topic| topic.partition(index)) {
        Some(_) => ErrorCode::None,
        None => ErrorCode::UnknownTopicOrPartition,
    }
}
