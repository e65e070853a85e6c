//! The list of all messages that the codec tests go through, and where their random values come from.
//!
//! Invariant: the list is complete; the differential test compares it with what `messages` re-exports.

/// Hands every message's type name to `$callback!`.
macro_rules! every_message {
    ($callback:ident) => {
        $callback! {
            AddOffsetsToTxnRequest, AddOffsetsToTxnResponse,
            AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
            AlterConfigsRequest, AlterConfigsResponse,
            AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
            AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse,
            ApiVersionsRequest, ApiVersionsResponse,
            ConsumerProtocolAssignment, ConsumerProtocolSubscription,
            CreatePartitionsRequest, CreatePartitionsResponse,
            CreateTopicsRequest, CreateTopicsResponse,
            DeleteGroupsRequest, DeleteGroupsResponse,
            DeleteRecordsRequest, DeleteRecordsResponse,
            DeleteTopicsRequest, DeleteTopicsResponse,
            DescribeAclsRequest, DescribeAclsResponse,
            DescribeClientQuotasRequest, DescribeClientQuotasResponse,
            DescribeClusterRequest, DescribeClusterResponse,
            DescribeConfigsRequest, DescribeConfigsResponse,
            DescribeDelegationTokenRequest, DescribeDelegationTokenResponse,
            DescribeGroupsRequest, DescribeGroupsResponse,
            DescribeLogDirsRequest, DescribeLogDirsResponse,
            DescribeProducersRequest, DescribeProducersResponse,
            DescribeQuorumRequest, DescribeQuorumResponse,
            DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
            DescribeTransactionsRequest, DescribeTransactionsResponse,
            DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
            ElectLeadersRequest, ElectLeadersResponse,
            EndTxnRequest, EndTxnResponse,
            FetchRequest, FetchResponse,
            FindCoordinatorRequest, FindCoordinatorResponse,
            HeartbeatRequest, HeartbeatResponse,
            IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
            InitProducerIdRequest, InitProducerIdResponse,
            JoinGroupRequest, JoinGroupResponse,
            LeaveGroupRequest, LeaveGroupResponse,
            ListConfigResourcesRequest, ListConfigResourcesResponse,
            ListGroupsRequest, ListGroupsResponse,
            ListOffsetsRequest, ListOffsetsResponse,
            ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
            ListTransactionsRequest, ListTransactionsResponse,
            MetadataRequest, MetadataResponse,
            OffsetCommitRequest, OffsetCommitResponse,
            OffsetDeleteRequest, OffsetDeleteResponse,
            OffsetFetchRequest, OffsetFetchResponse,
            OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
            ProduceRequest, ProduceResponse,
            SaslAuthenticateRequest, SaslAuthenticateResponse,
            SaslHandshakeRequest, SaslHandshakeResponse,
            SyncGroupRequest, SyncGroupResponse,
            TxnOffsetCommitRequest, TxnOffsetCommitResponse,
            UpdateFeaturesRequest, UpdateFeaturesResponse,
            WriteTxnMarkersRequest, WriteTxnMarkersResponse,
            // kafka-protocol has no record formats of internal topics.
            @ours GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue, TransactionLogKey,
            TransactionLogValue,
        }
    };
}
pub(crate) use every_message;

use pillion_wire::{Message, Writer};

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
