//! Requests of a group's member, and what their answers say. Pure.

use std::time::Duration;

use pillion_wire::messages::join_group::JoinGroupRequestProtocol;
use pillion_wire::messages::leave_group::MemberIdentity;
use pillion_wire::messages::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use pillion_wire::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use pillion_wire::messages::{
    JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse,
};
use pillion_wire::{EncodeError, ErrorCode};

use super::assignor::TopicPartition;
use super::config::GroupConfig;
use super::protocol::{PROTOCOL_TYPE, Subscription, encode_subscription};
use crate::committed::{CommittedOffset, GroupMetadata};

/// The last versions of OffsetCommit and OffsetFetch that name topics; later ones take ids.
pub(super) const OFFSETS_NEWEST: i16 = 9;
/// LeaveGroup takes several members from here on, and OffsetFetch several groups.
const LEAVE_MEMBERS: i16 = 3;
const FETCH_GROUPS: i16 = 8;
/// OffsetFetch can wait for transactions from here on (KIP-447).
const FETCH_STABLE: i16 = 7;

/// JoinGroup with every assignor's subscription.
pub(super) fn join(
    config: &GroupConfig,
    member_id: &str,
    subscription: &Subscription,
) -> Result<JoinGroupRequest, EncodeError> {
    let protocol = |assignor: &super::Assignor| {
        let metadata = encode_subscription(*assignor, subscription)?;
        Ok(JoinGroupRequestProtocol { name: assignor.name().to_owned(), metadata })
    };
    Ok(JoinGroupRequest {
        group_id: config.group_id.clone(),
        session_timeout_ms: millis(config.session_timeout),
        rebalance_timeout_ms: millis(config.max_poll_interval),
        member_id: member_id.to_owned(),
        group_instance_id: config.group_instance_id.clone(),
        protocol_type: PROTOCOL_TYPE.to_owned(),
        protocols: config.assignors.iter().map(protocol).collect::<Result<_, _>>()?,
        reason: None,
    })
}

/// LeaveGroup in a version.
pub(super) fn leave(config: &GroupConfig, member_id: &str, version: i16) -> LeaveGroupRequest {
    let group_id = config.group_id.clone();
    if version < LEAVE_MEMBERS {
        return LeaveGroupRequest { group_id, member_id: member_id.to_owned(), ..LeaveGroupRequest::default() };
    }
    let member = MemberIdentity {
        member_id: member_id.to_owned(),
        group_instance_id: config.group_instance_id.clone(),
        reason: Some("the consumer is closed, or was not polled in time".to_owned()),
    };
    LeaveGroupRequest { group_id, members: vec![member], ..LeaveGroupRequest::default() }
}

/// OffsetCommit as a member, or from outside the group.
pub(super) fn commit(group: &GroupMetadata, offsets: &[CommittedOffset]) -> OffsetCommitRequest {
    let mut topics: Vec<OffsetCommitRequestTopic> = Vec::new();
    for offset in offsets {
        let partition = OffsetCommitRequestPartition {
            partition_index: offset.partition,
            committed_offset: offset.offset,
            committed_leader_epoch: offset.leader_epoch,
            committed_metadata: Some(offset.metadata.clone().unwrap_or_default()),
        };
        match topics.iter_mut().find(|known| known.name == offset.topic) {
            Some(known) => known.partitions.push(partition),
            None => topics.push(OffsetCommitRequestTopic {
                name: offset.topic.clone(),
                partitions: vec![partition],
                ..OffsetCommitRequestTopic::default()
            }),
        }
    }
    OffsetCommitRequest {
        group_id: group.group_id.clone(),
        generation_id_or_member_epoch: group.generation_id,
        member_id: group.member_id.clone(),
        group_instance_id: group.group_instance_id.clone(),
        topics,
        ..OffsetCommitRequest::default()
    }
}

/// The first error of a commit; one that is not retriable before those that are.
pub(super) fn commit_failure(response: &OffsetCommitResponse) -> Option<ErrorCode> {
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let codes = partitions.map(|partition| ErrorCode::from_code(partition.error_code));
    codes.filter(|code| !code.is_ok()).min_by_key(|code| code.is_retriable())
}

/// OffsetFetch in a version.
pub(super) fn fetch(group_id: &str, partitions: &[TopicPartition], version: i16) -> OffsetFetchRequest {
    let mut topics: Vec<(String, Vec<i32>)> = Vec::new();
    for partition in partitions {
        match topics.iter_mut().find(|(topic, _)| *topic == partition.topic) {
            Some((_, numbers)) => numbers.push(partition.partition),
            None => topics.push((partition.topic.clone(), vec![partition.partition])),
        }
    }
    // What an open transaction may replace is waited for: it could be read twice otherwise.
    let require_stable = version >= FETCH_STABLE;
    if version < FETCH_GROUPS {
        let topic = |(name, partition_indexes)| OffsetFetchRequestTopic { name, partition_indexes };
        let topics = Some(topics.into_iter().map(topic).collect());
        return OffsetFetchRequest { group_id: group_id.to_owned(), topics, require_stable, ..Default::default() };
    }
    let topic = |(name, partition_indexes)| OffsetFetchRequestTopics { name, partition_indexes, ..Default::default() };
    let topics = Some(topics.into_iter().map(topic).collect());
    let group = OffsetFetchRequestGroup { group_id: group_id.to_owned(), topics, ..Default::default() };
    OffsetFetchRequest { groups: vec![group], require_stable, ..Default::default() }
}

/// OffsetFetch of everything, in a version; open transactions are not waited for.
pub(super) fn fetch_all(group_id: &str, version: i16) -> OffsetFetchRequest {
    if version < FETCH_GROUPS {
        return OffsetFetchRequest { group_id: group_id.to_owned(), topics: None, ..Default::default() };
    }
    let group = OffsetFetchRequestGroup { group_id: group_id.to_owned(), topics: None, ..Default::default() };
    OffsetFetchRequest { groups: vec![group], ..Default::default() }
}

/// What is committed, in both forms of the answer; partitions without an offset are left out.
///
/// # Errors
/// The first error in it.
pub(super) fn fetched(response: OffsetFetchResponse) -> Result<Vec<CommittedOffset>, ErrorCode> {
    let mut flat = Vec::new();
    check(response.error_code)?;
    for topic in response.topics {
        for found in topic.partitions {
            check(found.error_code)?;
            let epoch = found.committed_leader_epoch;
            flat.push((topic.name.clone(), found.partition_index, found.committed_offset, epoch, found.metadata));
        }
    }
    for group in response.groups {
        check(group.error_code)?;
        for topic in group.topics {
            for found in topic.partitions {
                check(found.error_code)?;
                let epoch = found.committed_leader_epoch;
                flat.push((topic.name.clone(), found.partition_index, found.committed_offset, epoch, found.metadata));
            }
        }
    }
    let committed = flat.into_iter().filter(|(_, _, offset, ..)| *offset >= 0);
    let build = |(topic, partition, offset, leader_epoch, metadata): (String, i32, i64, i32, Option<String>)| {
        CommittedOffset { topic, partition, offset, leader_epoch, metadata: metadata.filter(|text| !text.is_empty()) }
    };
    Ok(committed.map(build).collect())
}

fn check(code: i16) -> Result<(), ErrorCode> {
    match ErrorCode::from_code(code) {
        ErrorCode::None => Ok(()),
        code => Err(code),
    }
}

/// Milliseconds on the wire.
pub(super) fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
