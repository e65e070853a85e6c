//! DescribeDelegationToken (key 41), versions 1 to 3.
//!
//! Shows tokens that stand for users (KIP-48).
//!
//! Versions: 2 brought flexible fields; 3 who asked for a token (KIP-373).

use bytes::Bytes;

use crate::Message;

/// Whose tokens.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 41,
    name = "DescribeDelegationToken",
    versions = "1-3",
    flexible = "2+",
    response = "DescribeDelegationTokenResponse"
)]
pub struct DescribeDelegationTokenRequest {
    /// The owners wanted; `None` for all.
    #[field(nullable = "0+")]
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
}

/// An owner.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeDelegationTokenOwner {
    /// What the owner is, as `User`.
    pub principal_type: String,
    /// The owner's name.
    pub principal_name: String,
}

/// The tokens.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 41, name = "DescribeDelegationToken", versions = "1-3", flexible = "2+")]
pub struct DescribeDelegationTokenResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// One entry a token.
    pub tokens: Vec<DescribedDelegationToken>,
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
}

/// A token.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribedDelegationToken {
    /// What the owner is, as `User`.
    pub principal_type: String,
    /// The owner's name.
    pub principal_name: String,
    /// What the one who asked for it is.
    #[field(versions = "3+")]
    pub token_requester_principal_type: String,
    /// The name of the one who asked for it.
    #[field(versions = "3+")]
    pub token_requester_principal_name: String,
    /// When it was made, milliseconds since 1970.
    pub issue_timestamp: i64,
    /// When it ends unless renewed.
    pub expiry_timestamp: i64,
    /// When it ends in any case.
    pub max_timestamp: i64,
    /// The token's id.
    pub token_id: String,
    /// What proves that one has it.
    pub hmac: Bytes,
    /// Those who may renew it.
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
}

/// One who may renew a token.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribedDelegationTokenRenewer {
    /// What the renewer is, as `User`.
    pub principal_type: String,
    /// The renewer's name.
    pub principal_name: String,
}
