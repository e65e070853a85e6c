//! Administration of groups and a look at the disk.

use std::time::Duration;

use pillion_client::{
    Client, CommittedOffset, ErrorCode, GroupConfig, GroupMetadata, OffsetReset, Polled, TopicPartition,
};

use crate::cluster::{Cluster, PATIENCE, new_topic, record, unique};

fn offset(topic: &str, partition: i32, offset: i64) -> CommittedOffset {
    CommittedOffset { topic: topic.to_owned(), partition, offset, leader_epoch: -1, metadata: Some("m".to_owned()) }
}

async fn commit(client: &Client, group: &str, offsets: Vec<CommittedOffset>) {
    client.commit_offsets(&GroupMetadata::outside(group), offsets).await.unwrap();
}

#[tokio::test]
async fn a_group_without_members_is_listed_described_and_deleted() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let admin = client.admin();
    let (topic, group) = (new_topic(&client, "administered", 2).await, unique("group"));
    client.producer(Default::default()).send(record(&topic, 1, "x")).await.unwrap().await.unwrap();
    commit(&client, &group, vec![offset(&topic, 1, 1), offset(&topic, 0, 0)]).await;

    let listed = admin.list_groups().await.unwrap();
    let found = listed.iter().find(|listed| listed.group_id == group).expect("it is listed");
    assert_eq!(found.state, "Empty");
    let described = admin.describe_group(&group).await.unwrap();
    assert_eq!((described.state.as_str(), described.members.len()), ("Empty", 0));
    let committed = admin.group_offsets(&group).await.unwrap();
    let places: Vec<_> = committed.iter().map(|one| (one.partition, one.offset, one.metadata.as_deref())).collect();
    assert_eq!(places, [(0, 0, Some("m")), (1, 1, Some("m"))], "in the order of partitions");

    admin.delete_group_offsets(&group, &[TopicPartition::new(&*topic, 0)]).await.unwrap();
    assert_eq!(admin.group_offsets(&group).await.unwrap().len(), 1);
    let outcomes = admin.delete_groups(vec![group.clone(), unique("nobody")]).await.unwrap();
    outcomes[0].result.as_ref().unwrap();
    assert_eq!(outcomes[1].result.as_ref().unwrap_err().error_code(), Some(ErrorCode::GroupIdNotFound));
    assert!(admin.group_offsets(&group).await.unwrap().is_empty());
    client.shutdown().await;
}

#[tokio::test]
async fn a_group_with_a_member_shows_what_it_reads_and_is_not_deleted() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let admin = client.admin();
    let (topic, group) = (new_topic(&client, "administered", 2).await, unique("group"));
    let config = GroupConfig { offset_reset: OffsetReset::Earliest, ..GroupConfig::new(&*group, vec![topic.clone()]) };
    let mut member = client.group_consumer(config).unwrap();
    let joined = async {
        while !matches!(member.poll(Duration::from_millis(100)).await.unwrap(), Polled::Assigned(_)) {}
        // The assignment is the coordinator's to tell once the generation is stable.
        while admin.describe_group(&group).await.unwrap().state != "Stable" {
            member.poll(Duration::from_millis(20)).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, joined).await.expect("it joins");

    let described = admin.describe_group(&group).await.unwrap();
    let [only] = described.members.as_slice() else { panic!("{described:?}") };
    let expected = [TopicPartition::new(&*topic, 0), TopicPartition::new(&*topic, 1)];
    assert_eq!((only.assigned.as_slice(), only.client_id.as_str()), (&expected[..], "pillion"));
    let outcomes = admin.delete_groups(vec![group.clone()]).await.unwrap();
    assert_eq!(outcomes[0].result.as_ref().unwrap_err().error_code(), Some(ErrorCode::NonEmptyGroup));
    let outside = client.commit_offsets(&GroupMetadata::outside(&*group), vec![offset(&topic, 0, 0)]).await;
    assert_eq!(outside.unwrap_err().error_code(), Some(ErrorCode::UnknownMemberId));
    member.close().await.unwrap();
    client.shutdown().await;
}

#[tokio::test]
async fn directories_tell_what_partitions_take() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let admin = client.admin();
    let topic = new_topic(&client, "sized", 1).await;
    client.producer(Default::default()).send(record(&topic, 0, "x".repeat(1000))).await.unwrap().await.unwrap();
    let mut bytes = 0;
    for broker in admin.describe_cluster().await.unwrap().brokers {
        let directories = admin.describe_log_directories(broker.id).await.unwrap();
        assert!(directories.iter().all(|directory| directory.total_bytes >= directory.usable_bytes));
        let partitions = directories.iter().flat_map(|directory| &directory.partitions);
        bytes += partitions.filter(|(name, ..)| *name == topic).map(|(.., size)| size).sum::<u64>();
    }
    assert!(bytes >= 1000, "{bytes}");
    client.shutdown().await;
}
