//! Requests of a transaction, and the error codes of their answers. Pure.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::add_partitions_to_txn::AddPartitionsToTxnTopic;
use pillion_wire::messages::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use pillion_wire::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use crate::committed::{CommittedOffset, GroupMetadata};
use crate::producer::Identity;

/// The first TxnOffsetCommit that says which member commits (KIP-447).
const FIRST_WITH_MEMBERS: i16 = 3;

/// What a group commits with a transaction.
#[derive(Debug, Clone)]
pub(super) struct GroupOffsets {
    pub(super) group: GroupMetadata,
    /// One entry a partition.
    pub(super) offsets: Vec<CommittedOffset>,
}

/// Adds a group's offsets to those there are: of a partition the last one counts, of a group the last member.
pub(super) fn merge(all: &mut Vec<GroupOffsets>, group: &GroupMetadata, offsets: Vec<CommittedOffset>) {
    let place = match all.iter().position(|known| known.group.group_id == group.group_id) {
        Some(place) => place,
        None => {
            all.push(GroupOffsets { group: group.clone(), offsets: Vec::new() });
            all.len() - 1
        }
    };
    let known = &mut all[place];
    known.group = group.clone();
    for offset in offsets {
        let same = |other: &&mut CommittedOffset| other.topic == offset.topic && other.partition == offset.partition;
        match known.offsets.iter_mut().find(same) {
            Some(other) => *other = offset,
            None => known.offsets.push(offset),
        }
    }
}

/// AddPartitionsToTxn up to version 3.
pub(super) fn add_partitions(
    transactional_id: &str,
    identity: Identity,
    partitions: &[(Arc<str>, i32)],
) -> AddPartitionsToTxnRequest {
    let mut topics: Vec<AddPartitionsToTxnTopic> = Vec::new();
    for (topic, partition) in partitions {
        match topics.iter_mut().find(|known| *known.name == **topic) {
            Some(known) => known.partitions.push(*partition),
            None => topics.push(AddPartitionsToTxnTopic { name: topic.to_string(), partitions: vec![*partition] }),
        }
    }
    AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: transactional_id.to_owned(),
        v3_and_below_producer_id: identity.id,
        v3_and_below_producer_epoch: identity.epoch,
        v3_and_below_topics: topics,
        ..AddPartitionsToTxnRequest::default()
    }
}

/// Every partition's code.
pub(super) fn add_partitions_codes(response: &AddPartitionsToTxnResponse) -> Vec<i16> {
    let partitions = response.results_by_topic_v3_and_below.iter().flat_map(|topic| &topic.results_by_partition);
    partitions.map(|partition| partition.partition_error_code).collect()
}

/// TxnOffsetCommit in a version.
pub(super) fn commit_offsets(
    transactional_id: &str,
    identity: Identity,
    committed: &GroupOffsets,
    version: i16,
) -> TxnOffsetCommitRequest {
    let mut topics: Vec<TxnOffsetCommitRequestTopic> = Vec::new();
    for offset in &committed.offsets {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: offset.partition,
            committed_offset: offset.offset,
            committed_leader_epoch: offset.leader_epoch,
            committed_metadata: Some(offset.metadata.clone().unwrap_or_default()),
        };
        match topics.iter_mut().find(|known| known.name == offset.topic) {
            Some(known) => known.partitions.push(partition),
            None => topics.push(TxnOffsetCommitRequestTopic {
                name: offset.topic.clone(),
                partitions: vec![partition],
                ..TxnOffsetCommitRequestTopic::default()
            }),
        }
    }
    let group = &committed.group;
    let mut request = TxnOffsetCommitRequest {
        transactional_id: transactional_id.to_owned(),
        group_id: group.group_id.clone(),
        producer_id: identity.id,
        producer_epoch: identity.epoch,
        topics,
        ..TxnOffsetCommitRequest::default()
    };
    if version >= FIRST_WITH_MEMBERS {
        request.generation_id_or_member_epoch = group.generation_id;
        request.member_id.clone_from(&group.member_id);
        request.group_instance_id.clone_from(&group.group_instance_id);
    }
    request
}

/// Every partition's code.
pub(super) fn commit_offsets_codes(response: &TxnOffsetCommitResponse) -> Vec<i16> {
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| partition.error_code).collect()
}

/// What to do about a refusal.
pub(super) fn advice(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::InvalidTransactionTimeout => {
            Some("transaction.timeout.ms must be above 0 and no more than the broker's transaction.max.timeout.ms")
        }
        ErrorCode::TransactionalIdAuthorizationFailed => Some("the principal needs WRITE on the transactional id"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
