//! SaslAuthenticate (key 36), versions 0 to 2.
//!
//! Carries one token of the mechanism that SaslHandshake chose, and the server's next one back.
//!
//! Versions: 1 brought the session's lifetime (KIP-368); 2 flexible fields.

use std::fmt;

use bytes::Bytes;

use crate::Message;

/// The client's next token.
#[derive(Clone, PartialEq, Message)]
#[message(
    key = 36,
    name = "SaslAuthenticate",
    versions = "0-2",
    flexible = "2+",
    response = "SaslAuthenticateResponse"
)]
pub struct SaslAuthenticateRequest {
    /// The token, as the mechanism defines it. With PLAIN it holds the password.
    pub auth_bytes: Bytes,
}

impl fmt::Debug for SaslAuthenticateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token may be a password; its length says enough.
        f.debug_struct("SaslAuthenticateRequest").field("auth_bytes_length", &self.auth_bytes.len()).finish()
    }
}

/// The server's next token, or why there is none.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 36, name = "SaslAuthenticate", versions = "0-2", flexible = "2+")]
pub struct SaslAuthenticateResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// The token, as the mechanism defines it.
    pub auth_bytes: Bytes,
    /// Milliseconds until the client has to authenticate anew; 0 means never.
    #[field(versions = "1+", ignorable)]
    pub session_lifetime_ms: i64,
}
