//! A coordinator over partitions on a simulated disk, and short ways to ask it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::super::super::action::Answer;
use super::super::super::event::{Commit, Heartbeat, Join, MemberProtocol, PartitionOffset, Producer, Sync};
use super::super::super::limits::GroupLimits;
use super::super::super::record::CommittedOffset;
use super::super::super::shard::GroupShard;
use super::super::HostedShard;
use super::super::requests::Reply;
use super::super::{GroupCoordinator, OFFSETS_TOPIC};
use crate::config::Durability;
use crate::disk::{Disk, OpenFiles, SimulatedDisk};
use crate::hosting::placement::partition_of;
use crate::log::{Log, LogConfig, Opening};
use crate::partition::{Partition, PartitionShared, SpaceGuard};
use crate::sync::{DirtyBytes, SyncScheduler};

pub(super) const LONG: Duration = Duration::from_secs(20);

/// A coordinator over three partitions on a simulated disk.
pub(super) struct Node {
    pub(super) coordinator: Arc<GroupCoordinator>,
    pub(super) partitions: Vec<Arc<Partition>>,
    pub(super) scheduler: SyncScheduler,
}

impl Node {
    pub(super) async fn start(disk: &SimulatedDisk) -> Self {
        Self::start_with(disk, GroupLimits::default()).await
    }

    pub(super) async fn start_with(disk: &SimulatedDisk, limits: GroupLimits) -> Self {
        disk.create_directory("/data".as_ref()).expect("makes");
        let shared = Arc::new(PartitionShared {
            files: Arc::new(OpenFiles::new(Arc::new(disk.clone()), 64)),
            scheduler: SyncScheduler::default(),
            dirty: DirtyBytes::default(),
            space: SpaceGuard::new("/data".into(), None),
            metrics: Arc::default(),
            durability: Durability::Sync,
            leader_epoch: 0,
        });
        let config = Arc::new(LogConfig { segment_bytes: 1 << 20, grow_ahead_bytes: 4096, ..LogConfig::default() });
        let opening = Opening {
            clean: false,
            recovery_point: 0,
            is_known: true,
            log_start_offset: 0,
            cleaned_to: None,
            now_ms: 0,
        };
        let partitions: Vec<Arc<Partition>> = (0..3)
            .map(|index| {
                let directory = PathBuf::from(format!("/data/{OFFSETS_TOPIC}-{index}"));
                let files = Arc::clone(&shared.files);
                let log = Log::open(files, &directory, Uuid::nil(), Arc::clone(&config), opening).expect("opens");
                Arc::new(Partition::new(OFFSETS_TOPIC.into(), index, true, log, Arc::clone(&shared)))
            })
            .collect();
        let coordinator = Arc::new(GroupCoordinator::new(limits));
        let (leading, led) = (Arc::clone(&coordinator), partitions.clone());
        tokio::task::spawn_blocking(move || leading.lead(&led)).await.expect("leads");
        Self { coordinator, partitions, scheduler: shared.scheduler.clone() }
    }

    pub(super) fn shard(&self, group_id: &str) -> Arc<HostedShard> {
        Arc::clone(self.coordinator.shard(group_id).expect("leads"))
    }

    pub(super) fn partition(&self, group_id: &str) -> &Arc<Partition> {
        &self.partitions[partition_of(group_id, 3) as usize]
    }

    pub(super) async fn commit(&self, group_id: &str, offset: i64) -> Result<Answer, ErrorCode> {
        answer(self.begin_commit(group_id, offset)).await
    }

    pub(super) async fn commit_in_transaction(
        &self,
        group_id: &str,
        producer: Producer,
        offset: i64,
    ) -> Result<Answer, ErrorCode> {
        answer(self.begin_commit_in_transaction(group_id, producer, offset)).await
    }

    pub(super) fn begin_commit(&self, group_id: &str, offset: i64) -> Told<Answer> {
        self.begin_commit_of(group_id, None, offset)
    }

    pub(super) fn begin_commit_in_transaction(&self, group_id: &str, producer: Producer, offset: i64) -> Told<Answer> {
        self.begin_commit_of(group_id, Some(producer), offset)
    }

    fn begin_commit_of(&self, group_id: &str, producer: Option<Producer>, offset: i64) -> Told<Answer> {
        let committed = CommittedOffset {
            offset,
            leader_epoch: 3,
            metadata: Arc::from("noted"),
            commit_timestamp_ms: 0,
            expire_timestamp_ms: None,
            topic_id: Uuid::nil(),
        };
        let (reply, told) = replying();
        let commit = |waiter| Commit {
            waiter,
            member_id: Arc::from(""),
            group_instance_id: None,
            generation: -1,
            producer,
            knows_group_id_not_found: true,
            offsets: vec![PartitionOffset { topic: Arc::from("orders"), partition: 0, committed }],
        };
        self.shard(group_id).commit(&Arc::from(group_id), commit, reply);
        told
    }

    pub(super) fn begin_fetch(
        &self,
        group_id: &'static str,
        is_stable: bool,
    ) -> oneshot::Receiver<Result<Option<i64>, ErrorCode>> {
        let (tell, told) = oneshot::channel();
        let read = move |core: &GroupShard| core.committed(group_id, "orders", 0).map(|committed| committed.offset);
        self.shard(group_id).read_offsets(group_id, is_stable, read, |seen| {
            let _ = tell.send(seen);
        });
        told
    }

    /// Whether an open transaction may yet change partition 0 of `orders`.
    pub(super) fn is_pending(&self, group_id: &str) -> bool {
        self.shard(group_id).ask(|core, _| core.is_pending(group_id, "orders", 0)).expect("serves")
    }

    pub(super) async fn fetch(&self, group_id: &'static str) -> Result<Option<i64>, ErrorCode> {
        answer(self.begin_fetch(group_id, false)).await
    }

    /// Joins as the only member before version 4; answers member id and generation.
    pub(super) async fn join(&self, group_id: &str) -> (Arc<str>, i32) {
        match answer(self.begin_join(group_id)).await {
            Ok(Answer::Join(joined)) => (joined.member_id, joined.generation),
            other => panic!("not joined: {other:?}"),
        }
    }

    pub(super) fn begin_join(&self, group_id: &str) -> oneshot::Receiver<Result<Answer, ErrorCode>> {
        self.begin_join_within(group_id, 60_000)
    }

    /// Joins with this session and rebalance timeout.
    pub(super) fn begin_join_within(
        &self,
        group_id: &str,
        timeout_ms: i32,
    ) -> oneshot::Receiver<Result<Answer, ErrorCode>> {
        let (reply, told) = replying();
        let join = |waiter| Join {
            waiter,
            member_id: Arc::from(""),
            group_instance_id: None,
            client_id: Arc::from("client"),
            client_host: Arc::from("/127.0.0.1"),
            session_timeout_ms: timeout_ms,
            rebalance_timeout_ms: timeout_ms,
            protocol_type: Arc::from("consumer"),
            protocols: vec![MemberProtocol { name: Arc::from("range"), metadata: "all".into() }],
            requires_known_member_id: false,
            supports_skip_assignment: false,
            reason: None,
            fresh_id: Uuid::new_v4(),
        };
        self.shard(group_id).join(&Arc::from(group_id), join, reply);
        told
    }

    pub(super) async fn sync(
        &self,
        group_id: &str,
        member_id: &Arc<str>,
        generation: i32,
    ) -> Result<Answer, ErrorCode> {
        let (reply, told) = replying();
        let sync = |waiter| Sync {
            waiter,
            member_id: Arc::clone(member_id),
            group_instance_id: None,
            generation,
            protocol_type: None,
            protocol_name: None,
            assignments: vec![(member_id.to_string(), "everything".into())],
        };
        self.shard(group_id).sync(&Arc::from(group_id), sync, reply);
        answer(told).await
    }

    pub(super) fn heartbeat(&self, group_id: &str, member_id: &Arc<str>, generation: i32) -> ErrorCode {
        let heartbeat = Heartbeat { member_id: Arc::clone(member_id), group_instance_id: None, generation };
        self.shard(group_id).heartbeat(group_id, &heartbeat)
    }
}

pub(super) type Told<T> = oneshot::Receiver<Result<T, ErrorCode>>;

pub(super) fn replying() -> (Reply, Told<Answer>) {
    let (tell, told) = oneshot::channel();
    let reply = move |outcome| {
        let _ = tell.send(outcome);
    };
    (Box::new(reply), told)
}

pub(super) async fn answer<T>(told: Told<T>) -> Result<T, ErrorCode> {
    tokio::time::timeout(LONG, told).await.expect("is answered in time").expect("is answered")
}

pub(super) fn confirmed() -> Result<Answer, ErrorCode> {
    Ok(Answer::Commit(vec![ErrorCode::None]))
}
