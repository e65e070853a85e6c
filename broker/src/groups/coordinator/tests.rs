use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::action::Answer;
use super::super::event::{Commit, Heartbeat, Join, Leave, LeavingMember, MemberProtocol, PartitionOffset, Sync};
use super::super::limits::GroupLimits;
use super::super::record::CommittedOffset;
use super::*;
use crate::config::Durability;
use crate::disk::{Disk, SimulatedDisk};
use crate::log::{Log, LogConfig};
use crate::partition::{PartitionShared, SpaceGuard};
use crate::sync::{DirtyBytes, SyncScheduler};

const LONG: Duration = Duration::from_secs(20);

/// A coordinator over three partitions on a simulated disk.
struct Node {
    coordinator: Arc<GroupCoordinator>,
    partitions: Vec<Arc<Partition>>,
    scheduler: SyncScheduler,
}

impl Node {
    async fn start(disk: &SimulatedDisk) -> Self {
        Self::start_with(disk, GroupLimits::default()).await
    }

    async fn start_with(disk: &SimulatedDisk, limits: GroupLimits) -> Self {
        disk.create_directory("/data".as_ref()).expect("makes");
        let shared = Arc::new(PartitionShared {
            disk: Arc::new(disk.clone()),
            scheduler: SyncScheduler::default(),
            dirty: DirtyBytes::default(),
            space: SpaceGuard::new("/data".into(), None),
            durability: Durability::Sync,
            leader_epoch: 0,
        });
        let config = LogConfig { segment_bytes: 1 << 20, grow_ahead_bytes: 4096 };
        let partitions: Vec<Arc<Partition>> = (0..3)
            .map(|index| {
                let directory = format!("/data/{OFFSETS_TOPIC}-{index}").into();
                let log = Log::open(Arc::new(disk.clone()), directory, config, false).expect("opens");
                Arc::new(Partition::new(OFFSETS_TOPIC.into(), index, true, log, Arc::clone(&shared)))
            })
            .collect();
        let coordinator = Arc::new(GroupCoordinator::new(limits));
        let (leading, led) = (Arc::clone(&coordinator), partitions.clone());
        tokio::task::spawn_blocking(move || leading.lead(&led)).await.expect("leads");
        Self { coordinator, partitions, scheduler: shared.scheduler.clone() }
    }

    fn shard(&self, group_id: &str) -> Arc<HostedShard> {
        Arc::clone(self.coordinator.shard(group_id).expect("leads"))
    }

    fn partition(&self, group_id: &str) -> &Arc<Partition> {
        &self.partitions[partition_of_group(group_id, 3) as usize]
    }

    async fn commit(&self, group_id: &str, offset: i64) -> Result<Answer, ErrorCode> {
        answer(self.begin_commit(group_id, offset)).await
    }

    fn begin_commit(&self, group_id: &str, offset: i64) -> oneshot::Receiver<Result<Answer, ErrorCode>> {
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
            knows_group_id_not_found: true,
            offsets: vec![PartitionOffset { topic: Arc::from("orders"), partition: 0, committed }],
        };
        self.shard(group_id).commit(&Arc::from(group_id), commit, reply);
        told
    }

    fn begin_fetch(&self, group_id: &'static str, is_stable: bool) -> oneshot::Receiver<Result<Option<i64>, ErrorCode>> {
        let (tell, told) = oneshot::channel();
        let read = move |core: &super::super::shard::GroupShard| {
            core.committed(group_id, "orders", 0).map(|committed| committed.offset)
        };
        self.shard(group_id).read(group_id, is_stable, read, |seen| drop(tell.send(seen)));
        told
    }

    async fn fetch(&self, group_id: &'static str) -> Result<Option<i64>, ErrorCode> {
        answer(self.begin_fetch(group_id, false)).await
    }

    /// Joins as the only member before version 4; answers member id and generation.
    async fn join(&self, group_id: &str) -> (Arc<str>, i32) {
        match answer(self.begin_join(group_id)).await {
            Ok(Answer::Join(joined)) => (joined.member_id, joined.generation),
            other => panic!("not joined: {other:?}"),
        }
    }

    fn begin_join(&self, group_id: &str) -> oneshot::Receiver<Result<Answer, ErrorCode>> {
        let (reply, told) = replying();
        let join = |waiter| Join {
            waiter,
            member_id: Arc::from(""),
            group_instance_id: None,
            client_id: Arc::from("client"),
            client_host: Arc::from("/127.0.0.1"),
            session_timeout_ms: 6_000,
            rebalance_timeout_ms: 60_000,
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

    async fn sync(&self, group_id: &str, member_id: &Arc<str>, generation: i32) -> Result<Answer, ErrorCode> {
        let (reply, told) = replying();
        let sync = |waiter| Sync {
            waiter,
            member_id: Arc::clone(member_id),
            group_instance_id: None,
            generation,
            protocol_type: None,
            protocol_name: None,
            assignments: vec![(Arc::clone(member_id), "everything".into())],
        };
        self.shard(group_id).sync(&Arc::from(group_id), sync, reply);
        answer(told).await
    }

    fn heartbeat(&self, group_id: &str, member_id: &Arc<str>, generation: i32) -> ErrorCode {
        let heartbeat = Heartbeat { member_id: Arc::clone(member_id), group_instance_id: None, generation };
        self.shard(group_id).heartbeat(group_id, &heartbeat)
    }
}

type Told<T> = oneshot::Receiver<Result<T, ErrorCode>>;

fn replying() -> (hosted_shard::Reply, Told<Answer>) {
    let (tell, told) = oneshot::channel();
    (Box::new(|outcome| drop(tell.send(outcome))), told)
}

async fn answer<T>(told: Told<T>) -> Result<T, ErrorCode> {
    tokio::time::timeout(LONG, told).await.expect("is answered in time").expect("is answered")
}

fn confirmed() -> Result<Answer, ErrorCode> {
    Ok(Answer::Commit(vec![ErrorCode::None]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_commit_survives_a_power_cut() {
    for seed in 0..25 {
        let disk = SimulatedDisk::new();
        let before = Node::start(&disk).await;
        let mut last_confirmed = -1;
        for offset in 0..8 {
            assert_eq!(before.commit("saga", offset).await, confirmed());
            last_confirmed = offset;
        }
        let unconfirmed = before.begin_commit("saga", 8);
        disk.crash(seed);
        let after = Node::start(&disk).await;
        let committed = after.fetch("saga").await.expect("serves").expect("is there");
        assert!(committed >= last_confirmed, "seed {seed}: {committed} after {last_confirmed} was confirmed");
        drop(unconfirmed);
        before.scheduler.stop();
        after.scheduler.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settled_group_goes_on_after_a_power_cut() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    let (member_id, generation) = before.join("saga").await;
    let synced = before.sync("saga", &member_id, generation).await;
    assert!(matches!(synced, Ok(Answer::Sync(synced)) if synced.assignment == "everything"));
    disk.crash(1);
    let after = Node::start(&disk).await;
    assert_eq!(after.heartbeat("saga", &member_id, generation), ErrorCode::None);
    let synced = after.sync("saga", &member_id, generation).await;
    assert!(matches!(synced, Ok(Answer::Sync(synced)) if synced.assignment == "everything"));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_in_the_partitions_kafka_puts_them() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    for group_id in ["KafkaConsumerDemo", "payment", "inventory", "order"] {
        let before = node.partition(group_id).offsets().log_end_offset;
        assert_eq!(node.commit(group_id, 1).await, confirmed());
        assert_eq!(node.partition(group_id).offsets().log_end_offset, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_offsets_topic_this_is_not_the_coordinator() {
    let coordinator = GroupCoordinator::new(GroupLimits::default());
    assert!(matches!(coordinator.shard("saga"), Err(ErrorCode::NotCoordinator)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_requires_stable_offsets_waits_for_commits_under_way() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    // From here on nothing becomes durable by itself.
    node.scheduler.stop();
    let mut commit = node.begin_commit("saga", 7);
    let mut stable = node.begin_fetch("saga", true);
    assert_eq!(node.fetch("saga").await, Ok(None), "others see what is durable");
    assert_eq!(answer(node.begin_fetch("another", true)).await, Ok(None), "other groups wait for nothing");
    assert!(commit.try_recv().is_err() && stable.try_recv().is_err());
    node.partition("saga").close().expect("syncs");
    assert_eq!(answer(commit).await, confirmed());
    assert_eq!(answer(stable).await, Ok(Some(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_sync_fails_all_who_wait_are_told_and_what_was_durable_is_served() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    let (member_id, generation) = node.join("others").await;
    let parked = node.begin_join("others");
    disk.fail_syncs(true);
    let failing = node.begin_commit("saga", 8);
    let stable = node.begin_fetch("saga", true);
    assert_eq!(answer(failing).await, Ok(Answer::Commit(vec![ErrorCode::NotCoordinator])));
    assert!(matches!(answer(stable).await, Err(ErrorCode::CoordinatorLoadInProgress) | Ok(Some(7))));
    let fetched = tokio::time::timeout(LONG, async {
        loop {
            match node.fetch("saga").await {
                Err(ErrorCode::CoordinatorLoadInProgress) => tokio::task::yield_now().await,
                other => break other,
            }
        }
    });
    assert_eq!(fetched.await.expect("is read again"), Ok(Some(7)));
    if node.partition("saga").index() != node.partition("others").index() {
        assert_eq!(node.heartbeat("others", &member_id, generation), ErrorCode::RebalanceInProgress, "others go on");
    }
    drop(parked);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_write_fails_the_commit_is_refused_and_the_next_one_taken() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    disk.fail_writes(true);
    assert_eq!(node.commit("saga", 8).await, Ok(Answer::Commit(vec![ErrorCode::NotCoordinator])));
    disk.fail_writes(false);
    let committed = tokio::time::timeout(LONG, async {
        loop {
            match node.commit("saga", 9).await {
                Err(ErrorCode::CoordinatorLoadInProgress) => tokio::task::yield_now().await,
                other => break other,
            }
        }
    });
    assert_eq!(committed.await.expect("is read again"), confirmed());
    assert_eq!(node.fetch("saga").await, Ok(Some(9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_members_are_noticed_without_any_request() {
    let limits = GroupLimits {
        session_timeout_min: Duration::from_millis(1),
        initial_rebalance_delay: Duration::ZERO,
        ..GroupLimits::default()
    };
    let disk = SimulatedDisk::new();
    let node = Node::start_with(&disk, limits).await;
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Arc::clone(&node.coordinator).keep_time(stop.clone()));
    let (reply, told) = replying();
    let join = |waiter| Join {
        waiter,
        member_id: Arc::from(""),
        group_instance_id: None,
        client_id: Arc::from("client"),
        client_host: Arc::from("/127.0.0.1"),
        session_timeout_ms: 20,
        rebalance_timeout_ms: 20,
        protocol_type: Arc::from("consumer"),
        protocols: vec![MemberProtocol { name: Arc::from("range"), metadata: "all".into() }],
        requires_known_member_id: false,
        supports_skip_assignment: false,
        reason: None,
        fresh_id: Uuid::new_v4(),
    };
    node.shard("saga").join(&Arc::from("saga"), join, reply);
    assert!(matches!(answer(told).await, Ok(Answer::Join(joined)) if joined.error == ErrorCode::None));
    // The member is gone, and the empty group is written.
    let written = async {
        while node.partition("saga").offsets().high_watermark == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, written).await.expect("somebody looks at the clock");
    stop.cancel();
    keeper.await.expect("ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_of_a_deleted_topic_are_gone_even_if_their_commit_was_under_way() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    let under_way = node.begin_commit("saga", 8);
    node.coordinator.topic_deleted(&Arc::from("orders"));
    assert_eq!(answer(under_way).await, confirmed());
    let fetched = tokio::time::timeout(LONG, async {
        while node.fetch("saga").await != Ok(None) {
            tokio::task::yield_now().await;
        }
    });
    fetched.await.expect("are forgotten");
    disk.crash(1);
    let after = Node::start(&disk).await;
    assert_eq!(after.fetch("saga").await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_stop_members_that_wait_for_others_are_answered_and_commits_under_way_confirmed() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    node.join("saga").await;
    let parked = node.begin_join("saga");
    let commit = node.begin_commit("another", 7);
    node.coordinator.stop();
    assert!(matches!(answer(parked).await, Ok(Answer::Join(joined)) if joined.error == ErrorCode::NotCoordinator));
    assert_eq!(answer(commit).await, confirmed());
    assert_eq!(node.commit("saga", 8).await, Err(ErrorCode::NotCoordinator));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_member_to_leave_is_answered() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    let (member_id, _) = node.join("saga").await;
    let (reply, told) = replying();
    let leaving = LeavingMember { member_id, group_instance_id: None, reason: None };
    node.shard("saga").leave(&Arc::from("saga"), |waiter| Leave { waiter, members: vec![leaving] }, reply);
    assert_eq!(answer(told).await, Ok(Answer::Leave(vec![ErrorCode::None])));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_at_once_are_confirmed_in_their_order() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    let under_way: Vec<_> = (0..500).map(|offset| node.begin_commit("saga", offset)).collect();
    for commit in under_way {
        assert_eq!(answer(commit).await, confirmed());
    }
    assert_eq!(node.fetch("saga").await, Ok(Some(499)));
    disk.crash(3);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(499)));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_nobody_here_wrote_are_passed_over() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    assert_eq!(before.commit("saga", 7).await, confirmed());
    let partition = before.partition("saga");
    let mut builder = BatchBuilder::new(Compression::None);
    let foreign: [(&[u8], &[u8]); 4] = [
        (b"\x00\x03\x00\x04saga", b"\x00\x00\x00\x00\x00\x01"),
        (b"\x00\x02\x7f\xff", b"\x00\x03"),
        (b"\x00", b""),
        (b"", b"no key at all"),
    ];
    for (key, value) in foreign {
        builder.push(&Record { key: Some(key.into()), value: Some(value.into()), ..Record::default() });
    }
    builder.push(&Record { value: Some("null key".into()), ..Record::default() });
    let batch = builder.build(None).expect("builds");
    let header = BatchHeader::parse(&batch).expect("is whole");
    partition.append(&batch, header).expect("appends");
    assert_eq!(before.commit("saga", 8).await, confirmed());
    disk.crash(1);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(8)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_longer_than_one_read_is_read_whole() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    // More than two segments, in batches of many sizes.
    let under_way: Vec<_> = (0..30_000).map(|offset| before.begin_commit("saga", offset)).collect();
    for commit in under_way {
        assert_eq!(answer(commit).await, confirmed());
    }
    assert!(before.partition("saga").offsets().log_end_offset >= 30_000);
    disk.crash(1);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(29_999)));
}
