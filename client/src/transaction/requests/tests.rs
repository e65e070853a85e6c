use super::{add_partitions, commit_offsets, merge};
use crate::committed::{CommittedOffset, GroupMetadata};
use crate::producer::Identity;

const IDENTITY: Identity = Identity { id: 7, epoch: 3 };

fn offset(topic: &str, partition: i32, offset: i64) -> CommittedOffset {
    CommittedOffset { topic: topic.to_owned(), partition, offset, leader_epoch: 2, metadata: None }
}

#[test]
fn partitions_are_added_by_topic() {
    let request = add_partitions("id", IDENTITY, &[("a".into(), 0), ("b".into(), 0), ("a".into(), 2)]);
    let topics: Vec<_> = request.v3_and_below_topics.iter().map(|topic| (&*topic.name, &*topic.partitions)).collect();
    assert_eq!(topics, [("a", &[0, 2][..]), ("b", &[0][..])]);
    assert_eq!((request.v3_and_below_producer_id, request.v3_and_below_producer_epoch), (7, 3));
}

#[test]
fn last_offset_of_a_partition_and_last_member_of_a_group_count() {
    let outside = GroupMetadata::outside("group");
    let member = GroupMetadata { generation_id: 4, member_id: "member".to_owned(), ..outside.clone() };
    let mut all = Vec::new();
    merge(&mut all, &outside, vec![offset("a", 0, 5), offset("a", 1, 5)]);
    merge(&mut all, &GroupMetadata::outside("other"), vec![offset("a", 0, 1)]);
    merge(&mut all, &member, vec![offset("a", 0, 9)]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].group, member);
    assert_eq!(all[0].offsets, [offset("a", 0, 9), offset("a", 1, 5)]);
}

#[test]
fn member_is_named_from_version_3_on() {
    let group = GroupMetadata { generation_id: 4, member_id: "member".to_owned(), ..GroupMetadata::outside("group") };
    let mut all = Vec::new();
    merge(&mut all, &group, vec![offset("a", 0, 5)]);
    let (older, newer) = (commit_offsets("id", IDENTITY, &all[0], 2), commit_offsets("id", IDENTITY, &all[0], 3));
    assert_eq!((older.generation_id_or_member_epoch, older.member_id.as_str()), (-1, ""));
    assert_eq!((newer.generation_id_or_member_epoch, newer.member_id.as_str()), (4, "member"));
    assert_eq!(newer.topics[0].partitions[0].committed_offset, 5);
}
