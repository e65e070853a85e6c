//! The byte strings were written by Kafka 4.4's own serializers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::super::record::{CommittedOffset, GroupMetadata, GroupRecord, MemberMetadata};
use super::{DecodedRecord, decode, encode};

const OFFSET_KEY: &str = "000100114b61666b61436f6e73756d657244656d6f00066f726465727300000003";
const OFFSET_VALUE_1: &str = "00010000000000001267000762792068616e640000018bcfe5687b0000018bcff4aa3f";
const OFFSET_VALUE_3: &str = "0003000000000000126700000005000762792068616e640000018bcfe5687b";
const OFFSET_VALUE_4: &str =
    "00040000000000001267000000050862792068616e640000018bcfe5687b010010000102030405060708090a0b0c0d0e0f";
const GROUP_KEY: &str = "000200114b61666b61436f6e73756d657244656d6f";
const GROUP_VALUE_0: &str = "00000008636f6e73756d657200000007000572616e67650003632d31000000010003632d31000163000a2f3132\
                             372e302e302e310000afc8000000030102030000000109";
const GROUP_VALUE_3: &str = "00030008636f6e73756d657200000007000572616e67650003632d310000018bcfe569c8000000010003632d31\
                             0003692d31000163000a2f3132372e302e302e31000493e00000afc8000000030102030000000109";
const EMPTY_GROUP_VALUE_3: &str = "00030008636f6e73756d657200000008ffffffff0000018bcfe56b1500000000";

fn bytes(hex: &str) -> Bytes {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect::<Vec<u8>>()
        .into()
}

fn committed() -> CommittedOffset {
    CommittedOffset {
        offset: 4711,
        leader_epoch: 5,
        metadata: Arc::from("by hand"),
        commit_timestamp_ms: 1_700_000_000_123,
        expire_timestamp_ms: None,
        topic_id: Uuid::nil(),
    }
}

fn offset_record(committed: Option<CommittedOffset>) -> GroupRecord {
    GroupRecord::Offset {
        group_id: Arc::from("KafkaConsumerDemo"),
        topic: Arc::from("orders"),
        partition: 3,
        committed,
    }
}

fn stable_group() -> GroupMetadata {
    GroupMetadata {
        protocol_type: Arc::from("consumer"),
        generation: 7,
        protocol_name: Some(Arc::from("range")),
        leader: Some(Arc::from("c-1")),
        state_since_ms: Some(1_700_000_000_456),
        members: vec![MemberMetadata {
            member_id: Arc::from("c-1"),
            group_instance_id: Some(Arc::from("i-1")),
            client_id: Arc::from("c"),
            client_host: Arc::from("/127.0.0.1"),
            rebalance_timeout: Duration::from_secs(300),
            session_timeout: Duration::from_secs(45),
            subscription: Bytes::from_static(&[1, 2, 3]),
            assignment: Bytes::from_static(&[9]),
        }],
    }
}

fn group_record(metadata: Option<GroupMetadata>) -> GroupRecord {
    GroupRecord::Metadata { group_id: Arc::from("KafkaConsumerDemo"), metadata }
}

/// Written as Kafka writes it, and read back as it was.
fn check(record: &GroupRecord, key: &str, value: Option<&str>) {
    let encoded = encode(record).unwrap();
    assert_eq!(encoded.key, bytes(key));
    assert_eq!(encoded.value, value.map(bytes));
    assert_eq!(decode(&encoded.key, encoded.value.as_ref()).unwrap(), DecodedRecord::Known(record.clone()));
}

#[test]
fn committed_offsets_have_kafkas_bytes() {
    check(&offset_record(Some(committed())), OFFSET_KEY, Some(OFFSET_VALUE_3));
    check(&offset_record(None), OFFSET_KEY, None);
}

#[test]
fn a_committed_offset_keeps_its_topic_id() {
    let topic_id = Uuid::from_bytes(std::array::from_fn(|index| u8::try_from(index).unwrap()));
    check(&offset_record(Some(CommittedOffset { topic_id, ..committed() })), OFFSET_KEY, Some(OFFSET_VALUE_4));
}

#[test]
fn an_expiry_of_the_clients_own_is_kept_as_kafka_keeps_it() {
    // Value version 1 has no leader epoch.
    let expiring = CommittedOffset { leader_epoch: -1, expire_timestamp_ms: Some(1_700_000_999_999), ..committed() };
    check(&offset_record(Some(expiring)), OFFSET_KEY, Some(OFFSET_VALUE_1));
}

#[test]
fn groups_have_kafkas_bytes() {
    check(&group_record(Some(stable_group())), GROUP_KEY, Some(GROUP_VALUE_3));
    check(&group_record(None), GROUP_KEY, None);
    let empty = GroupMetadata {
        generation: 8,
        protocol_name: None,
        leader: None,
        state_since_ms: Some(1_700_000_000_789),
        members: Vec::new(),
        ..stable_group()
    };
    check(&group_record(Some(empty)), GROUP_KEY, Some(EMPTY_GROUP_VALUE_3));
}

#[test]
fn a_group_of_the_first_format_is_read_with_what_it_lacks_filled_in() {
    let mut expected = stable_group();
    expected.state_since_ms = None;
    expected.members[0].group_instance_id = None;
    expected.members[0].rebalance_timeout = expected.members[0].session_timeout;
    let decoded = decode(&bytes(GROUP_KEY), Some(&bytes(GROUP_VALUE_0))).unwrap();
    assert_eq!(decoded, DecodedRecord::Known(group_record(Some(expected))));
}

#[test]
fn kinds_of_other_protocols_are_told_apart_from_damage() {
    for kind in [3_i16, 17, 999, -1] {
        let decoded = decode(&Bytes::copy_from_slice(&kind.to_be_bytes()), Some(&bytes(OFFSET_VALUE_3))).unwrap();
        assert_eq!(decoded, DecodedRecord::Unknown { kind });
    }
}

#[test]
fn a_key_or_value_that_ends_early_is_an_error() {
    for (key, value) in [(OFFSET_KEY, OFFSET_VALUE_3), (OFFSET_KEY, OFFSET_VALUE_4), (GROUP_KEY, GROUP_VALUE_3)] {
        let (key, value) = (bytes(key), bytes(value));
        for length in 0..key.len() {
            assert!(decode(&key.slice(..length), Some(&value)).is_err(), "key cut at {length}");
        }
        for length in 0..value.len() {
            assert!(decode(&key, Some(&value.slice(..length))).is_err(), "value cut at {length}");
        }
    }
}
