//! SaslHandshake (key 17), versions 0 to 1.
//!
//! Names the mechanism a client wants to authenticate with.
//!
//! Versions: 0 is followed by bare tokens without a header; 1 by SaslAuthenticate requests (KIP-152). Never flexible.

use crate::Message;

/// The mechanism wanted.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 17, name = "SaslHandshake", versions = "0-1", response = "SaslHandshakeResponse")]
pub struct SaslHandshakeRequest {
    /// The mechanism's name, such as `SCRAM-SHA-512`.
    pub mechanism: String,
}

/// Whether it is enabled, and which are.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 17, name = "SaslHandshake", versions = "0-1")]
pub struct SaslHandshakeResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The mechanisms enabled on the listener.
    pub mechanisms: Vec<String>,
}
