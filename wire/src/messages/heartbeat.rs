//! Heartbeat (key 12), versions 0 to 4.
//!
//! Keeps a classic group's member alive and tells it of rebalances.
//!
//! Versions: 3 brought static members (KIP-345); 4 flexible fields.

use crate::Message;

/// A member's sign of life.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 12, name = "Heartbeat", versions = "0-4", flexible = "4+", response = "HeartbeatResponse")]
pub struct HeartbeatRequest {
    /// The group's name.
    pub group_id: String,
    /// The group's generation the member believes in.
    pub generation_id: i32,
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "3+", nullable = "3+", default = None)]
    pub group_instance_id: Option<String>,
}

/// Whether all is well; REBALANCE_IN_PROGRESS asks the member to join again.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 12, name = "Heartbeat", versions = "0-4", flexible = "4+")]
pub struct HeartbeatResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
