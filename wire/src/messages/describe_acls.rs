//! DescribeAcls (key 29), versions 1 to 3.
//!
//! Shows who may do what.
//!
//! Versions: 1 brought patterns (KIP-290); 2 flexible fields; 3 users as resources (KIP-373).

use crate::Message;

/// Which rules.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 29, name = "DescribeAcls", versions = "1-3", flexible = "2+", response = "DescribeAclsResponse")]
pub struct DescribeAclsRequest {
    /// What the rules are on: 1 anything, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 token, 7 user.
    pub resource_type_filter: i8,
    /// Its name; `None` for any.
    #[field(nullable = "0+")]
    pub resource_name_filter: Option<String>,
    /// How the rules name it: 1 anyhow, 2 any that covers it, 3 literally, 4 by prefix.
    #[field(default = 3)]
    pub pattern_type_filter: i8,
    /// Whom they are for; `None` for anyone.
    #[field(nullable = "0+")]
    pub principal_filter: Option<String>,
    /// From which host; `None` for any.
    #[field(nullable = "0+")]
    pub host_filter: Option<String>,
    /// The operation, 1 for any.
    pub operation: i8,
    /// 1 anything, 2 denied, 3 allowed.
    pub permission_type: i8,
}

/// The rules.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 29, name = "DescribeAcls", versions = "1-3", flexible = "2+")]
pub struct DescribeAclsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a resource that has rules.
    pub resources: Vec<DescribeAclsResource>,
}

/// A resource's rules.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeAclsResource {
    /// What they are on, as in the request.
    pub resource_type: i8,
    /// Its name.
    pub resource_name: String,
    /// How it is named: 3 literally, 4 by prefix.
    #[field(default = 3)]
    pub pattern_type: i8,
    /// One entry a rule.
    pub acls: Vec<AclDescription>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AclDescription {
    /// Whom it is for.
    pub principal: String,
    /// From which host.
    pub host: String,
    /// The operation.
    pub operation: i8,
    /// 2 denied, 3 allowed.
    pub permission_type: i8,
}
