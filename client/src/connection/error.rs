//! What can go wrong on one connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::{DecodeError, EncodeError, ErrorCode};
use thiserror::Error;

use super::{AuthenticationError, TlsAdvice};

/// A connection that could not be made or used.
///
/// It is cheap to clone: every request that waited on a lost connection gets the same one.
#[derive(Debug, Clone, Error)]
pub enum ConnectionError {
    /// The name has no address.
    #[error("{address} does not resolve")]
    Resolve {
        /// `host:port`.
        address: String,
        /// The resolver's answer.
        #[source]
        source: Arc<io::Error>,
    },
    /// No address of the broker accepted a connection.
    #[error("cannot connect to {address}")]
    Connect {
        /// `host:port`.
        address: String,
        /// What the last address answered.
        #[source]
        source: Arc<io::Error>,
    },
    /// The connection broke. Requests that were on their way may or may not have been carried out.
    #[error("connection to {address} broke")]
    Broken {
        /// `host:port`.
        address: String,
        /// What the socket answered.
        #[source]
        source: Arc<io::Error>,
    },
    /// The broker closed the connection.
    #[error("{address} closed the connection")]
    ClosedByBroker {
        /// `host:port`.
        address: String,
    },
    /// No answer in time; the connection is given up, for answers come in order.
    #[error("{address} did not answer {what} within {waited:?}")]
    TimedOut {
        /// `host:port`.
        address: String,
        /// The request.
        what: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A frame length that no Kafka answer has.
    #[error("{address} sent a frame of {length} bytes; is it a Kafka broker, and a plaintext listener?")]
    FrameLength {
        /// `host:port`.
        address: String,
        /// The length it claimed.
        length: i32,
    },
    /// An answer to a request that was not asked.
    #[error("{address} answered request {actual} where {expected} was due")]
    CorrelationMismatch {
        /// `host:port`.
        address: String,
        /// The request whose answer was due.
        expected: i32,
        /// The request answered.
        actual: i32,
    },
    /// An answer that does not follow its schema.
    #[error("answer to {what} cannot be read")]
    Decode {
        /// The API.
        what: &'static str,
        /// What its bytes lack.
        #[source]
        source: DecodeError,
    },
    /// A request that its version cannot carry.
    #[error("{what} cannot be sent")]
    Encode {
        /// The API.
        what: &'static str,
        /// What the version lacks.
        #[source]
        source: EncodeError,
    },
    /// The broker speaks no version of the API that this client speaks.
    #[error("{address} does not speak a version of {api} this client knows (the broker: {broker})")]
    UnsupportedApi {
        /// `host:port`.
        address: String,
        /// The API.
        api: &'static str,
        /// The broker's range, or `none`.
        broker: String,
    },
    /// The broker refused ApiVersions.
    #[error("{address} refused to tell its versions: {code}")]
    Handshake {
        /// `host:port`.
        address: String,
        /// Its reason.
        code: ErrorCode,
    },
    /// The broker closed the connection before it had served a request.
    #[error(
        "{address} closed the connection before it served a request over {protocol}; if it stays so, check that this is \
         the port of a listener with that security.protocol"
    )]
    ClosedEarly {
        /// `host:port`.
        address: String,
        /// `security.protocol`.
        protocol: &'static str,
    },
    /// A plaintext request was answered in TLS.
    #[error("{address} speaks TLS; set security.protocol=SSL, or SASL_SSL where it wants a password")]
    TlsWanted {
        /// `host:port`.
        address: String,
    },
    /// No TLS session could be made, or it was ended by an error.
    #[error("TLS with {address} failed: {}", advice.text)]
    Tls {
        /// `host:port`.
        address: String,
        /// What to do about it.
        advice: TlsAdvice,
        /// What rustls or the socket says.
        #[source]
        source: Arc<io::Error>,
    },
    /// The broker did not let the client in.
    #[error("{address} did not authenticate this client")]
    Authentication {
        /// `host:port`.
        address: String,
        /// Why.
        #[source]
        source: AuthenticationError,
    },
    /// This side closed the connection.
    #[error("connection to {address} was closed by this client")]
    Closed {
        /// `host:port`.
        address: String,
    },
    /// A broker's answer that leaves out part of what was asked.
    #[error("{what} was answered in part only")]
    NotAnswered {
        /// The API.
        what: &'static str,
    },
    /// The broker's address is not known (any more).
    #[error("broker {node} is not among the cluster's brokers")]
    UnknownBroker {
        /// The broker's id.
        node: i32,
    },
}

impl ConnectionError {
    /// What a socket's error means while a TLS session is being made.
    pub(super) fn of_handshake(address: &str, source: io::Error) -> Self {
        let advice = TlsAdvice::of(&source);
        Self::Tls { address: address.to_owned(), advice, source: source.into() }
    }

    /// What a socket's error means later: an error of the TLS session, or of the socket itself.
    pub(super) fn of_socket(address: &str, source: io::Error) -> Self {
        if source.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Self::of_handshake(address, source);
        }
        Self::Broken { address: address.to_owned(), source: source.into() }
    }

    /// Whether it will stay so until someone changes the client's settings or the cluster's: another certificate,
    /// password or protocol is needed.
    #[must_use]
    pub fn needs_other_settings(&self) -> bool {
        match self {
            Self::Tls { advice, .. } => advice.lasts,
            Self::TlsWanted { .. } | Self::Authentication { .. } => true,
            _ => false,
        }
    }

    /// Kafka's error code that says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Handshake { code, .. } => Some(*code),
            Self::UnsupportedApi { .. } => Some(ErrorCode::UnsupportedVersion),
            Self::TimedOut { .. } => Some(ErrorCode::RequestTimedOut),
            Self::Broken { .. } | Self::ClosedByBroker { .. } | Self::ClosedEarly { .. } => {
                Some(ErrorCode::NetworkException)
            }
            Self::Authentication { source, .. } => Some(source.error_code()),
            _ => None,
        }
    }

    /// Whether another attempt may succeed.
    pub(crate) fn is_retriable(&self) -> bool {
        let is_final = matches!(
            self,
            Self::Decode { .. } | Self::Encode { .. } | Self::UnsupportedApi { .. } | Self::Closed { .. }
        );
        !is_final && !self.needs_other_settings()
    }
}
