//! OffsetFetch (9), versions 1 to 10: where a group goes on reading. One group before version 8, several from then on;
//! topics by name, from version 10 on by id; without topics, everything the group has committed.
//!
//! Only durable offsets are told. With `require_stable` (version 7) an answer waits for commits of the group that are
//! on their way into the log, and what an open transaction may yet change is UNSTABLE_OFFSET_COMMIT (KIP-447). What was never committed is answered with offset −1: leaving it out breaks clients.
//! Member ids and epochs (version 9) concern groups of KIP-848 only, which there are none of here.

use std::collections::HashSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use pillion_wire::messages::{OffsetFetchRequest, OffsetFetchResponse};
use uuid::Uuid;

use super::gathering::Gathering;
use crate::catalogue::TopicsSnapshot;
use crate::dispatch::{Call, Flow};
use crate::groups::record::CommittedOffset;
use crate::groups::shard::GroupShard;
use crate::network::Responder;

/// The first version that names topics by id.
const BY_ID: i16 = 10;
/// The first version with several groups.
const SEVERAL_GROUPS: i16 = 8;

/// Asks each group's shard, and answers when all have.
pub(crate) fn handle(call: Call, request: OffsetFetchRequest) -> Flow {
    let version = call.version();
    let is_stable = request.require_stable;
    let groups = if version >= SEVERAL_GROUPS { request.groups } else { vec![single_group(request)] };
    // A group named again is not told again.
    let mut seen = HashSet::new();
    let groups: Vec<_> = groups.into_iter().filter(|group| seen.insert(group.group_id.clone())).collect();
    let topics = call.broker.topics.snapshot();
    let responder = call.responder;
    let gathering = Arc::new(Gathering::new(groups.len(), move |groups| respond(responder, version, groups)));
    for (position, asked) in groups.into_iter().enumerate() {
        let asked = Asked { version, is_stable, topics: Arc::clone(&topics), group: asked };
        let gathering = Arc::clone(&gathering);
        let group_id = asked.group.group_id.clone();
        match call.broker.groups.shard(&group_id) {
            Err(error) => gathering.put(position, asked.refused(error)),
            Ok(shard) => {
                let asked = Arc::new(asked);
                let (reading, responding) = (Arc::clone(&asked), asked);
                let read = move |core: &GroupShard| reading.look_up(core);
                let respond = move |seen: Result<_, ErrorCode>| {
                    gathering.put(position, seen.unwrap_or_else(|error| responding.refused(error)));
                };
                shard.read_offsets(&group_id, is_stable, read, respond);
            }
        }
    }
    Flow::Done
}

/// The form of versions before 8, as one of the later lists.
fn single_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topics = request.topics.map(|topics| {
        let topic = |topic: pillion_wire::messages::offset_fetch::OffsetFetchRequestTopic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            ..OffsetFetchRequestTopics::default()
        };
        topics.into_iter().map(topic).collect()
    });
    OffsetFetchRequestGroup { group_id: request.group_id, topics, ..OffsetFetchRequestGroup::default() }
}

/// What is asked of one group, and the topics as they were then.
struct Asked {
    version: i16,
    is_stable: bool,
    topics: Arc<TopicsSnapshot>,
    group: OffsetFetchRequestGroup,
}

impl Asked {
    fn look_up(&self, core: &GroupShard) -> OffsetFetchResponseGroup {
        let group_id = &self.group.group_id;
        let mut seen = HashSet::new();
        let topics = match &self.group.topics {
            Some(asked) => asked.iter().map(|topic| self.look_up_topic(core, topic, &mut seen)).collect(),
            None => self.everything(core),
        };
        OffsetFetchResponseGroup { group_id: group_id.clone(), topics, error_code: ErrorCode::None.code() }
    }

    /// A partition named again, which is in `seen`, is not told again: with its metadata an answer would be a thousand
    /// times its question.
    fn look_up_topic<'a>(
        &'a self,
        core: &GroupShard,
        asked: &'a OffsetFetchRequestTopics,
        seen: &mut HashSet<(&'a str, Uuid, i32)>,
    ) -> OffsetFetchResponseTopics {
        let name = if self.version >= BY_ID {
            self.topics.by_id(&asked.topic_id).map(|topic| &*topic.name)
        } else {
            Some(asked.name.as_str())
        };
        let partition = |index: &i32| match name {
            Some(name) => {
                // Of a topic made again under its name, what was committed to the one before is not the same.
                let committed = core.committed(&self.group.group_id, name, *index).filter(|committed| {
                    let (asked, committed) = (asked.topic_id, committed.topic_id);
                    asked.is_nil() || committed.is_nil() || asked == committed
                });
                self.partition(core, name, *index, committed)
            }
            None => failed_partition(*index, ErrorCode::UnknownTopicId),
        };
        OffsetFetchResponseTopics {
            name: asked.name.clone(),
            topic_id: asked.topic_id,
            partitions: asked
                .partition_indexes
                .iter()
                .filter(|index| seen.insert((&asked.name, asked.topic_id, **index)))
                .map(partition)
                .collect(),
        }
    }

    /// What was committed; to those who want it stable nothing that an open transaction may yet change.
    fn partition(
        &self,
        core: &GroupShard,
        name: &str,
        index: i32,
        committed: Option<&CommittedOffset>,
    ) -> OffsetFetchResponsePartitions {
        if self.is_stable && core.is_pending(&self.group.group_id, name, index) {
            return failed_partition(index, ErrorCode::UnstableOffsetCommit);
        }
        partition(index, committed)
    }

    /// By id only what still has one.
    fn everything(&self, core: &GroupShard) -> Vec<OffsetFetchResponseTopics> {
        core.all_committed(&self.group.group_id)
            .into_iter()
            .filter_map(|(name, partitions)| {
                let topic_id = self.topics.by_name(name).map(|topic| topic.id);
                if self.version >= BY_ID && topic_id.is_none() {
                    return None;
                }
                Some(OffsetFetchResponseTopics {
                    name: name.to_string(),
                    topic_id: topic_id.unwrap_or_default(),
                    partitions: partitions
                        .into_iter()
                        .map(|(index, committed)| self.partition(core, name, index, Some(committed)))
                        .collect(),
                })
            })
            .collect()
    }

    /// The same error for the group and, for version 1, which has no other place for it, for each partition.
    fn refused(&self, error: ErrorCode) -> OffsetFetchResponseGroup {
        let asked = if self.version < 2 { self.group.topics.as_deref().unwrap_or_default() } else { &[] };
        let topic = |topic: &OffsetFetchRequestTopics| OffsetFetchResponseTopics {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions: topic.partition_indexes.iter().map(|index| failed_partition(*index, error)).collect(),
        };
        OffsetFetchResponseGroup {
            group_id: self.group.group_id.clone(),
            topics: asked.iter().map(topic).collect(),
            error_code: error.code(),
        }
    }
}

fn partition(index: i32, committed: Option<&CommittedOffset>) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: index,
        committed_offset: committed.map_or(-1, |committed| committed.offset),
        committed_leader_epoch: committed.map_or(-1, |committed| committed.leader_epoch),
        metadata: Some(committed.map_or_else(String::new, |committed| committed.metadata.to_string())),
        error_code: ErrorCode::None.code(),
    }
}

fn failed_partition(index: i32, error: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions { error_code: error.code(), ..partition(index, None) }
}

/// All groups' answers, in the form of the version.
fn respond(responder: Responder, version: i16, groups: Vec<OffsetFetchResponseGroup>) {
    if version >= SEVERAL_GROUPS {
        responder.answer(&OffsetFetchResponse { groups, ..OffsetFetchResponse::default() });
    } else {
        responder.answer(&single_response(groups.into_iter().next().unwrap_or_default()));
    }
}

/// The one group's answer in the form of versions before 8.
fn single_response(group: OffsetFetchResponseGroup) -> OffsetFetchResponse {
    let partition = |partition: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        metadata: partition.metadata,
        error_code: partition.error_code,
    };
    let topic = |topic: OffsetFetchResponseTopics| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic.partitions.into_iter().map(partition).collect(),
    };
    OffsetFetchResponse {
        topics: group.topics.into_iter().map(topic).collect(),
        error_code: group.error_code,
        ..OffsetFetchResponse::default()
    }
}
