//! What clients ask of the group, in short.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::ErrorCode;
use uuid::Uuid;

use super::super::super::action::Answer;
use super::super::super::event::{
    Commit, DeleteOffsets, Heartbeat, Join, Leave, LeavingMember, MemberProtocol, PartitionOffset, Producer, Sync,
    WaiterId,
};
use super::super::super::record::CommittedOffset;
use super::{GROUP, Harness};

impl Harness {
    pub(in super::super) fn join(&mut self, join: Join) -> WaiterId {
        let waiter = join.waiter;
        let mut actions = Vec::new();
        self.shard.join(&Arc::from(GROUP), &join, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    /// A join as a consumer of version 4 or later sends it.
    pub(in super::super) fn join_request(&mut self, member_id: &str) -> Join {
        let waiter = self.waiter();
        Join {
            waiter,
            member_id: Arc::from(member_id),
            group_instance_id: None,
            client_id: Arc::from("client"),
            client_host: Arc::from("/127.0.0.1"),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 60_000,
            protocol_type: Arc::from("consumer"),
            protocols: protocols(&["range"]),
            requires_known_member_id: true,
            supports_skip_assignment: true,
            reason: None,
            fresh_id: Uuid::from_u128(u128::from(waiter.0)),
        }
    }

    pub(in super::super) fn rejoin(&mut self, member_id: &str) -> WaiterId {
        let join = self.join_request(member_id);
        self.join(join)
    }

    /// Asks for a member id and joins with it.
    pub(in super::super) fn join_new(&mut self) -> (Arc<str>, WaiterId) {
        let join = self.join_request("");
        let waiter = self.join(join);
        let answer = self.join_answer(waiter).expect("an id is handed out at once");
        assert_eq!(answer.error, ErrorCode::MemberIdRequired);
        let waiter = self.rejoin(&answer.member_id);
        (answer.member_id, waiter)
    }

    pub(in super::super) fn sync(
        &mut self,
        member_id: &str,
        generation: i32,
        assignments: &[(&str, &str)],
    ) -> WaiterId {
        let waiter = self.waiter();
        let sync = Sync {
            waiter,
            member_id: Arc::from(member_id),
            group_instance_id: None,
            generation,
            protocol_type: Some(Arc::from("consumer")),
            protocol_name: None,
            assignments: assignments
                .iter()
                .map(|(member_id, assignment)| ((*member_id).to_owned(), Bytes::from((*assignment).to_owned())))
                .collect(),
        };
        self.sync_with(sync)
    }

    pub(in super::super) fn sync_with(&mut self, sync: Sync) -> WaiterId {
        let waiter = sync.waiter;
        let mut actions = Vec::new();
        self.shard.sync(&Arc::from(GROUP), &sync, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(in super::super) fn heartbeat(&mut self, member_id: &str, generation: i32) -> ErrorCode {
        self.heartbeat_static(member_id, None, generation)
    }

    pub(in super::super) fn heartbeat_static(
        &mut self,
        member_id: &str,
        instance_id: Option<&str>,
        generation: i32,
    ) -> ErrorCode {
        let heartbeat =
            Heartbeat { member_id: Arc::from(member_id), group_instance_id: instance_id.map(Arc::from), generation };
        self.shard.heartbeat(GROUP, &heartbeat, self.now)
    }

    pub(in super::super) fn leave(&mut self, members: &[(&str, Option<&str>)]) -> WaiterId {
        let waiter = self.waiter();
        let members = members
            .iter()
            .map(|(member_id, instance_id)| LeavingMember {
                member_id: Arc::from(*member_id),
                group_instance_id: instance_id.map(Arc::from),
                reason: None,
            })
            .collect();
        let mut actions = Vec::new();
        self.shard.leave(&Arc::from(GROUP), &Leave { waiter, members }, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(in super::super) fn commit(&mut self, member_id: &str, generation: i32, offset: i64) -> WaiterId {
        let commit = self.commit_request(member_id, generation, offset);
        self.commit_with(commit)
    }

    /// Commits one offset of partition 0 of `orders`.
    pub(in super::super) fn commit_request(&mut self, member_id: &str, generation: i32, offset: i64) -> Commit {
        Commit {
            waiter: self.waiter(),
            member_id: Arc::from(member_id),
            group_instance_id: None,
            generation,
            producer: None,
            knows_group_id_not_found: true,
            offsets: vec![partition_offset("orders", 0, offset, "")],
        }
    }

    /// Commits one offset of partition 0 of `orders` inside a producer's transaction, from outside the group.
    pub(in super::super) fn commit_in_transaction(&mut self, producer_id: i64, offset: i64) -> WaiterId {
        let mut commit = self.commit_request("", -1, offset);
        commit.producer = Some(Producer { id: producer_id, epoch: 0, guard: None });
        self.commit_with(commit)
    }

    pub(in super::super) fn delete_group(&mut self) -> WaiterId {
        let waiter = self.waiter();
        let mut actions = Vec::new();
        self.shard.delete_group(&Arc::from(GROUP), waiter, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(in super::super) fn delete_offsets(&mut self, partitions: &[(&str, i32)]) -> WaiterId {
        let waiter = self.waiter();
        let partitions = partitions.iter().map(|(topic, partition)| (Arc::from(*topic), *partition)).collect();
        let mut actions = Vec::new();
        self.shard.delete_offsets(&Arc::from(GROUP), DeleteOffsets { waiter, partitions }, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(in super::super) fn commit_with(&mut self, commit: Commit) -> WaiterId {
        let waiter = commit.waiter;
        let mut actions = Vec::new();
        self.shard.commit(&Arc::from(GROUP), commit, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(in super::super) fn commit_results(&mut self, waiter: WaiterId) -> Option<Vec<ErrorCode>> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Commit(results) => results,
            other => panic!("not an answer to OffsetCommit: {other:?}"),
        })
    }

    /// What became of a group's deletion, which must have been answered.
    pub(in super::super) fn deletion(&mut self, waiter: WaiterId) -> ErrorCode {
        match self.answer(waiter) {
            Some(Answer::DeleteGroup(error)) => error,
            other => panic!("not an answer to DeleteGroups: {other:?}"),
        }
    }

    /// What became of the deletion of offsets, which must have been answered.
    pub(in super::super) fn offset_deletions(&mut self, waiter: WaiterId) -> Result<Vec<ErrorCode>, ErrorCode> {
        match self.answer(waiter) {
            Some(Answer::DeleteOffsets(results)) => results,
            other => panic!("not an answer to OffsetDelete: {other:?}"),
        }
    }

    /// Two dynamic members in a stable group: the leader, the follower, the generation.
    pub(in super::super) fn stable_pair(&mut self) -> (Arc<str>, Arc<str>, i32) {
        let (leader, waiter) = self.join_new();
        let generation = self.join_answer(waiter).expect("alone it need not wait").generation;
        let waiter = self.sync(&leader, generation, &[(&leader, "all")]);
        assert_eq!(self.sync_answer(waiter).expect("the leader settles the group").error, ErrorCode::None);
        let (follower, follower_waiter) = self.join_new();
        let leader_waiter = self.rejoin(&leader);
        let answer = self.join_answer(leader_waiter).expect("all have joined");
        assert_eq!(answer.leader, leader);
        let generation = self.join_answer(follower_waiter).expect("all have joined").generation;
        let follower_sync = self.sync(&follower, generation, &[]);
        let leader_sync = self.sync(&leader, generation, &[(&leader, "left"), (&follower, "right")]);
        assert_eq!(self.sync_answer(leader_sync).expect("settled").assignment, "left");
        assert_eq!(self.sync_answer(follower_sync).expect("settled").assignment, "right");
        (leader, follower, generation)
    }
}

pub(in super::super) fn protocols(names: &[&str]) -> Vec<MemberProtocol> {
    names
        .iter()
        .map(|name| MemberProtocol { name: Arc::from(*name), metadata: Bytes::from(format!("by {name}")) })
        .collect()
}

pub(in super::super) fn partition_offset(topic: &str, partition: i32, offset: i64, metadata: &str) -> PartitionOffset {
    PartitionOffset {
        topic: Arc::from(topic),
        partition,
        committed: CommittedOffset {
            offset,
            leader_epoch: 0,
            metadata: Arc::from(metadata),
            commit_timestamp_ms: 0,
            expire_timestamp_ms: None,
            topic_id: Uuid::nil(),
        },
    }
}
