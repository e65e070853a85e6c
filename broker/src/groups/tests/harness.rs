//! A shard with a clock that stands still until told, and a log that is as quick or as slow as a test wants.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::ErrorCode;
use uuid::Uuid;

use super::super::action::{Action, Answer, JoinAnswer, Persist, SyncAnswer};
use super::super::event::{
    Commit, Heartbeat, Join, Leave, LeavingMember, MemberProtocol, PartitionOffset, Sync, WaiterId,
};
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::record::{CommittedOffset, GroupRecord};
use super::super::shard::GroupShard;

pub(super) const GROUP: &str = "saga";
const WALL_START_MS: i64 = 1_700_000_000_000;

/// A shard and what surrounds it. Answers are kept until asked for; a waiter answered twice fails the test.
pub(super) struct Harness {
    pub(super) shard: GroupShard,
    pub(super) limits: Arc<GroupLimits>,
    pub(super) now: Moment,
    /// Whether records are durable as soon as they are written.
    pub(super) is_log_prompt: bool,
    /// Records whose durability has not been reported.
    pub(super) in_flight: VecDeque<Persist>,
    /// All records that are durable, in order.
    pub(super) log: Vec<GroupRecord>,
    answers: std::collections::HashMap<WaiterId, Answer>,
    waiters: u64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_limits(GroupLimits::default())
    }

    pub(super) fn with_limits(limits: GroupLimits) -> Self {
        let limits = Arc::new(limits);
        Self {
            shard: GroupShard::new(Arc::clone(&limits)),
            limits,
            now: Moment { monotonic: MonotonicMs(1_000), wall_ms: WALL_START_MS },
            is_log_prompt: true,
            in_flight: VecDeque::new(),
            log: Vec::new(),
            answers: std::collections::HashMap::new(),
            waiters: 0,
        }
    }

    pub(super) fn waiter(&mut self) -> WaiterId {
        self.waiters += 1;
        WaiterId(self.waiters)
    }

    /// The answer to a waiter, if it has come.
    pub(super) fn answer(&mut self, waiter: WaiterId) -> Option<Answer> {
        self.answers.remove(&waiter)
    }

    pub(super) fn join_answer(&mut self, waiter: WaiterId) -> Option<JoinAnswer> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Join(answer) => answer,
            other => panic!("not an answer to JoinGroup: {other:?}"),
        })
    }

    pub(super) fn sync_answer(&mut self, waiter: WaiterId) -> Option<SyncAnswer> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Sync(answer) => answer,
            other => panic!("not an answer to SyncGroup: {other:?}"),
        })
    }

    pub(super) fn settle(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Answer(waiter, answer) => {
                    assert!(self.answers.insert(waiter, answer).is_none(), "{waiter:?} is answered twice");
                }
                Action::Persist(persist) => self.in_flight.push_back(persist),
            }
        }
        if self.is_log_prompt {
            self.flush();
        }
    }

    /// The oldest append becomes durable.
    pub(super) fn flush_one(&mut self) {
        let Some(persist) = self.in_flight.pop_front() else { return };
        self.log.extend(persist.records.iter().cloned());
        let mut actions = Vec::new();
        self.shard.persisted(persist, self.now, &mut actions);
        self.settle(actions);
    }

    /// Everything written becomes durable.
    pub(super) fn flush(&mut self) {
        while !self.in_flight.is_empty() {
            self.flush_one();
        }
    }

    /// Time passes, and whatever becomes due on the way is done when it is due.
    pub(super) fn pass(&mut self, wait: Duration) {
        let end = self.now.monotonic.after(wait);
        while let Some(deadline) = self.shard.next_deadline().filter(|deadline| *deadline <= end) {
            self.advance_to(deadline.max(self.now.monotonic));
            let mut actions = Vec::new();
            self.shard.tick(self.now, &mut actions);
            self.settle(actions);
        }
        self.advance_to(end);
    }

    fn advance_to(&mut self, monotonic: MonotonicMs) {
        let passed = monotonic.0 - self.now.monotonic.0;
        self.now = Moment { monotonic, wall_ms: self.now.wall_ms + i64::try_from(passed).unwrap() };
    }

    pub(super) fn join(&mut self, join: Join) -> WaiterId {
        let waiter = join.waiter;
        let mut actions = Vec::new();
        self.shard.join(&Arc::from(GROUP), &join, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    /// A join as a consumer of version 4 or later sends it.
    pub(super) fn join_request(&mut self, member_id: &str) -> Join {
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

    pub(super) fn rejoin(&mut self, member_id: &str) -> WaiterId {
        let join = self.join_request(member_id);
        self.join(join)
    }

    /// Asks for a member id and joins with it.
    pub(super) fn join_new(&mut self) -> (Arc<str>, WaiterId) {
        let join = self.join_request("");
        let waiter = self.join(join);
        let answer = self.join_answer(waiter).expect("an id is handed out at once");
        assert_eq!(answer.error, ErrorCode::MemberIdRequired);
        let waiter = self.rejoin(&answer.member_id);
        (answer.member_id, waiter)
    }

    pub(super) fn sync(&mut self, member_id: &str, generation: i32, assignments: &[(&str, &str)]) -> WaiterId {
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
                .map(|(member_id, assignment)| (Arc::from(*member_id), Bytes::from((*assignment).to_owned())))
                .collect(),
        };
        self.sync_with(sync)
    }

    pub(super) fn sync_with(&mut self, sync: Sync) -> WaiterId {
        let waiter = sync.waiter;
        let mut actions = Vec::new();
        self.shard.sync(&Arc::from(GROUP), &sync, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(super) fn heartbeat(&mut self, member_id: &str, generation: i32) -> ErrorCode {
        self.heartbeat_static(member_id, None, generation)
    }

    pub(super) fn heartbeat_static(
        &mut self,
        member_id: &str,
        instance_id: Option<&str>,
        generation: i32,
    ) -> ErrorCode {
        let heartbeat =
            Heartbeat { member_id: Arc::from(member_id), group_instance_id: instance_id.map(Arc::from), generation };
        self.shard.heartbeat(GROUP, &heartbeat, self.now)
    }

    pub(super) fn leave(&mut self, members: &[(&str, Option<&str>)]) -> WaiterId {
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

    pub(super) fn commit(&mut self, member_id: &str, generation: i32, offset: i64) -> WaiterId {
        let commit = self.commit_request(member_id, generation, offset);
        self.commit_with(commit)
    }

    /// Commits one offset of partition 0 of `orders`.
    pub(super) fn commit_request(&mut self, member_id: &str, generation: i32, offset: i64) -> Commit {
        Commit {
            waiter: self.waiter(),
            member_id: Arc::from(member_id),
            group_instance_id: None,
            generation,
            knows_group_id_not_found: true,
            offsets: vec![partition_offset("orders", 0, offset, "")],
        }
    }

    pub(super) fn commit_with(&mut self, commit: Commit) -> WaiterId {
        let waiter = commit.waiter;
        let mut actions = Vec::new();
        self.shard.commit(&Arc::from(GROUP), commit, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(super) fn commit_results(&mut self, waiter: WaiterId) -> Option<Vec<ErrorCode>> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Commit(results) => results,
            other => panic!("not an answer to OffsetCommit: {other:?}"),
        })
    }

    /// The committed offset of partition 0 of `orders`.
    pub(super) fn committed(&self) -> Option<i64> {
        self.shard.committed(GROUP, "orders", 0).map(|committed| committed.offset)
    }

    pub(super) fn expire_offsets(&mut self) {
        let mut actions = Vec::new();
        self.shard.expire_offsets(self.now, &mut actions);
        self.settle(actions);
    }

    /// The process dies and another one reads what was durable.
    pub(super) fn restart(&mut self) {
        self.in_flight.clear();
        self.shard = GroupShard::new(Arc::clone(&self.limits));
        for record in self.log.clone() {
            self.shard.replay(record, self.now);
        }
        // Reading takes longer than a session timeout.
        self.advance_to(self.now.monotonic.after(Duration::from_secs(60)));
        let mut actions = Vec::new();
        self.shard.loaded(self.now, &mut actions);
        self.settle(actions);
    }

    /// Two dynamic members in a stable group: the leader, the follower, the generation.
    pub(super) fn stable_pair(&mut self) -> (Arc<str>, Arc<str>, i32) {
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

pub(super) fn protocols(names: &[&str]) -> Vec<MemberProtocol> {
    names
        .iter()
        .map(|name| MemberProtocol { name: Arc::from(*name), metadata: Bytes::from(format!("by {name}")) })
        .collect()
}

pub(super) fn partition_offset(topic: &str, partition: i32, offset: i64, metadata: &str) -> PartitionOffset {
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
