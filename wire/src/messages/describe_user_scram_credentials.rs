//! DescribeUserScramCredentials (key 50), version 0.
//!
//! Shows which users have SCRAM credentials, never the credentials (KIP-554).

use crate::Message;

/// Which users.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 50,
    name = "DescribeUserScramCredentials",
    versions = "0",
    flexible = "0+",
    response = "DescribeUserScramCredentialsResponse"
)]
pub struct DescribeUserScramCredentialsRequest {
    /// The users wanted; `None` or none means all.
    #[field(nullable = "0+")]
    pub users: Option<Vec<UserName>>,
}

/// A user to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct UserName {
    /// The user's name.
    pub name: String,
}

/// The users.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 50, name = "DescribeUserScramCredentials", versions = "0", flexible = "0+")]
pub struct DescribeUserScramCredentialsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a user.
    pub results: Vec<DescribeUserScramCredentialsResult>,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeUserScramCredentialsResult {
    /// The user's name.
    pub user: String,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a mechanism.
    pub credential_infos: Vec<CredentialInfo>,
}

/// How a user's password is kept.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CredentialInfo {
    /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    pub mechanism: i8,
    /// Rounds of the hash.
    pub iterations: i32,
}
