//! The list of all messages that the codec tests go through, and where their random values come from.
//!
//! Invariant: the list is complete; [`names`] is compared with what `messages` re-exports.

/// Hands every message's type name to `$callback!`.
macro_rules! every_message {
    ($callback:ident) => {
        $callback! {
            ApiVersionsRequest, ApiVersionsResponse,
            ConsumerProtocolAssignment, ConsumerProtocolSubscription,
            CreatePartitionsRequest, CreatePartitionsResponse,
            CreateTopicsRequest, CreateTopicsResponse,
            DeleteGroupsRequest, DeleteGroupsResponse,
            DeleteRecordsRequest, DeleteRecordsResponse,
            DeleteTopicsRequest, DeleteTopicsResponse,
            DescribeClusterRequest, DescribeClusterResponse,
            DescribeConfigsRequest, DescribeConfigsResponse,
            DescribeGroupsRequest, DescribeGroupsResponse,
            FetchRequest, FetchResponse,
            FindCoordinatorRequest, FindCoordinatorResponse,
            HeartbeatRequest, HeartbeatResponse,
            IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
            InitProducerIdRequest, InitProducerIdResponse,
            JoinGroupRequest, JoinGroupResponse,
            LeaveGroupRequest, LeaveGroupResponse,
            ListGroupsRequest, ListGroupsResponse,
            ListOffsetsRequest, ListOffsetsResponse,
            MetadataRequest, MetadataResponse,
            OffsetCommitRequest, OffsetCommitResponse,
            OffsetFetchRequest, OffsetFetchResponse,
            OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
            ProduceRequest, ProduceResponse,
            SyncGroupRequest, SyncGroupResponse,
            // kafka-protocol has no record formats of __consumer_offsets.
            @ours GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue,
        }
    };
}
pub(crate) use every_message;

use pillion_wire::{Message, Writer};

macro_rules! names {
    ($($shared:ident,)* @ours $($ours:ident,)*) => { &[$(stringify!($shared),)* $(stringify!($ours),)*] };
}

/// The listed messages' names.
pub(crate) fn names() -> &'static [&'static str] {
    every_message!(names)
}

/// The names that `messages` re-exports, read from its source.
pub(crate) fn exported_names() -> Vec<&'static str> {
    include_str!("../../src/messages/mod.rs")
        .split("pub use ")
        .skip(1)
        .filter_map(|line| line.split_once("::")?.1.split_once(';'))
        .flat_map(|(list, _)| list.split(|character: char| !character.is_alphanumeric()))
        .filter(|name| !name.is_empty())
        .collect()
}

/// A sequence of random numbers that is the same in every run (SplitMix64).
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The body of `message` in `version`.
pub(crate) fn encode<M: Message>(message: &M, version: i16) -> bytes::Bytes {
    let mut writer = Writer::new();
    if let Err(error) = message.write(&mut writer, version) {
        panic!("{} version {version} does not encode: {error}", M::NAME);
    }
    writer.into_bytes()
}
