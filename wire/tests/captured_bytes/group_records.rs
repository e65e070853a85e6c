//! Records of `__consumer_offsets` and the consumer protocol.

use bytes::Bytes;
use pillion_wire::messages::consumer_protocol::TopicPartition;
use pillion_wire::messages::group_records::MemberMetadata;
use pillion_wire::messages::{
    ConsumerProtocolSubscription, GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue,
};
use pillion_wire::{DecodeError, Message, Reader};
use uuid::Uuid;

use super::{TOPIC_ID, bytes, check, check_lossy};

#[test]
fn offset_commit_keys_of_both_kinds_have_the_same_fields() {
    let key = OffsetCommitKey { group: "g".to_owned(), topic: "orders".to_owned(), partition: 3 };
    for version in OffsetCommitKey::VERSIONS {
        check(version, "00016700066f726465727300000003", &key);
    }
}

#[test]
fn offset_commit_values_keep_what_their_version_has() {
    let value = OffsetCommitValue {
        offset: 42,
        leader_epoch: 5,
        metadata: "note".to_owned(),
        commit_timestamp: 1_700_000_000_000,
        expire_timestamp: 1_700_000_001_000,
        topic_id: TOPIC_ID,
    };
    let bare = OffsetCommitValue { leader_epoch: -1, expire_timestamp: -1, topic_id: Uuid::nil(), ..value.clone() };
    let with_expiry = OffsetCommitValue { expire_timestamp: value.expire_timestamp, ..bare.clone() };
    let with_epoch = OffsetCommitValue { leader_epoch: 5, ..bare.clone() };
    let with_topic_id = OffsetCommitValue { topic_id: value.topic_id, ..with_epoch.clone() };
    check_lossy(0, "000000000000002a00046e6f74650000018bcfe56800", &value, &bare);
    check_lossy(1, "000000000000002a00046e6f74650000018bcfe568000000018bcfe56be8", &value, &with_expiry);
    check_lossy(2, "000000000000002a00046e6f74650000018bcfe56800", &value, &bare);
    check_lossy(3, "000000000000002a0000000500046e6f74650000018bcfe56800", &value, &with_epoch);
    check_lossy(
        4,
        "000000000000002a00000005056e6f74650000018bcfe568000100100102030405060708090a0b0c0d0e0f10",
        &value,
        &with_topic_id,
    );
}

#[test]
fn group_metadata_values_keep_what_their_version_has() {
    let key = GroupMetadataKey { group: "g".to_owned() };
    check(2, "000167", &key);

    let member = MemberMetadata {
        member_id: "m".to_owned(),
        group_instance_id: Some("i".to_owned()),
        client_id: "c".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        rebalance_timeout: 300_000,
        session_timeout: 45_000,
        subscription: Bytes::from_static(&[1, 2]),
        assignment: Bytes::from_static(&[3]),
    };
    let value = GroupMetadataValue {
        protocol_type: "consumer".to_owned(),
        generation: 9,
        protocol: Some("range".to_owned()),
        leader: None,
        current_state_timestamp: 1_700_000_000_000,
        members: vec![member.clone()],
    };
    let dynamic = MemberMetadata { group_instance_id: None, ..member };
    let with_timestamp = GroupMetadataValue { members: vec![dynamic.clone()], ..value.clone() };
    let with_timeout = GroupMetadataValue { current_state_timestamp: -1, ..with_timestamp.clone() };
    let oldest = MemberMetadata { rebalance_timeout: -1, ..dynamic };
    let oldest = GroupMetadataValue { members: vec![oldest], ..with_timeout.clone() };

    let head = "0008636f6e73756d657200000009000572616e6765ffff";
    let host = "000a2f3132372e302e302e31";
    let tail = "0000afc80000000201020000000103";
    check_lossy(0, &format!("{head} 00000001 00016d 000163 {host} {tail}"), &value, &oldest);
    check_lossy(1, &format!("{head} 00000001 00016d 000163 {host} 000493e0 {tail}"), &value, &with_timeout);
    let head = format!("{head} 0000018bcfe56800");
    check_lossy(2, &format!("{head} 00000001 00016d 000163 {host} 000493e0 {tail}"), &value, &with_timestamp);
    check(3, &format!("{head} 00000001 00016d 000169 000163 {host} 000493e0 {tail}"), &value);
    check(
        4,
        "09636f6e73756d6572000000090672616e6765000000018bcfe5680002026d026902630b2f3132372e302e302e31000493e0\
         0000afc803010202030000",
        &value,
    );
}

#[test]
fn a_subscription_of_a_newer_version_reads_as_the_newest_known() {
    let partitions = TopicPartition { topic: "orders".to_owned(), partitions: vec![3, 4] };
    let subscription = ConsumerProtocolSubscription {
        topics: vec!["orders".to_owned()],
        user_data: None,
        owned_partitions: vec![partitions],
        generation_id: 9,
        rack_id: Some("r".to_owned()),
    };
    let captured = "0000000100066f7264657273ffffffff0000000100066f726465727300000002000000030000000400000009000172";
    check(3, captured, &subscription);

    let newer = bytes(&format!("{captured} 00000007"));
    assert_eq!(
        ConsumerProtocolSubscription::read(&mut Reader::new(&newer), 3),
        Ok(subscription),
        "fields appended by a newer version are left unread"
    );
    assert_eq!(
        ConsumerProtocolSubscription::read(&mut Reader::new(&newer), 4),
        Err(DecodeError::UnknownVersion { message: "ConsumerProtocolSubscription", version: 4 })
    );
}
