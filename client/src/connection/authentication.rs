//! Authenticates a connection: SaslHandshake names the mechanism, SaslAuthenticate carries its tokens (KIP-43, KIP-152).

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use pillion_wire::messages::{SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest};
use pillion_wire::{ErrorCode, Request};
use thiserror::Error;

use super::{Connection, ConnectionError};
use crate::security::{Credentials, Exchange, Hash, SaslMechanism, ScramError};

/// From here on tokens travel in SaslAuthenticate rather than bare.
const HANDSHAKE_OLDEST: i16 = 1;
/// Random bytes in a nonce.
const NONCE_BYTES: usize = 24;

/// Why a client was not let in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuthenticationError {
    /// The listener has other mechanisms.
    #[error("sasl.mechanism {mechanism} is not enabled there; set one of these: {enabled}")]
    MechanismNotEnabled {
        /// The mechanism asked for.
        mechanism: &'static str,
        /// Those there are, separated by commas.
        enabled: String,
    },
    /// The listener does not authenticate.
    #[error("this listener does no SASL; set security.protocol=PLAINTEXT or SSL, or use the port of another one")]
    NoSasl,
    /// The broker does not accept name and password.
    #[error(
        "{mechanism} as {username:?} was refused{}; check sasl.username and sasl.password, and that the user exists for \
         this mechanism",
        crate::error::detail(.message)
    )]
    Refused {
        /// The mechanism.
        mechanism: &'static str,
        /// The user.
        username: String,
        /// The broker's words.
        message: Option<String>,
    },
    /// The broker does not keep to the mechanism.
    #[error("{mechanism} failed")]
    Scram {
        /// The mechanism.
        mechanism: &'static str,
        /// What the broker said that it must not.
        #[source]
        source: ScramError,
    },
    /// The broker answered with another error.
    #[error("{mechanism} was answered with {code}")]
    Broker {
        /// The mechanism.
        mechanism: &'static str,
        /// Kafka's error.
        code: ErrorCode,
    },
}

impl AuthenticationError {
    /// Kafka's error that says the same.
    pub(super) fn error_code(&self) -> ErrorCode {
        match self {
            Self::MechanismNotEnabled { .. } => ErrorCode::UnsupportedSaslMechanism,
            Self::NoSasl => ErrorCode::IllegalSaslState,
            Self::Refused { .. } | Self::Scram { .. } => ErrorCode::SaslAuthenticationFailed,
            Self::Broker { code, .. } => *code,
        }
    }
}

/// Authenticates; gives how long that holds, if not forever (KIP-368).
pub(super) async fn authenticate(
    connection: &Connection,
    credentials: &Credentials,
) -> Result<Option<Duration>, ConnectionError> {
    let mechanism = credentials.mechanism.name();
    let handshake = SaslHandshakeRequest { mechanism: mechanism.to_owned() };
    let response = ask(connection, HANDSHAKE_OLDEST, &handshake).await?;
    let refused = match ErrorCode::from_code(response.error_code) {
        ErrorCode::None => None,
        ErrorCode::UnsupportedSaslMechanism => {
            let enabled =
                if response.mechanisms.is_empty() { "none".to_owned() } else { response.mechanisms.join(", ") };
            Some(AuthenticationError::MechanismNotEnabled { mechanism, enabled })
        }
        ErrorCode::IllegalSaslState => Some(AuthenticationError::NoSasl),
        code => Some(AuthenticationError::Broker { mechanism, code }),
    };
    if let Some(refused) = refused {
        return Err(failed(connection, refused));
    }
    let last = match credentials.mechanism {
        SaslMechanism::Plain => {
            let token = format!("\0{}\0{}", credentials.username, credentials.password.expose());
            exchange(connection, credentials, token).await?
        }
        SaslMechanism::ScramSha256 => scram(connection, credentials, Hash::sha256()).await?,
        SaslMechanism::ScramSha512 => scram(connection, credentials, Hash::sha512()).await?,
    };
    let lifetime = u64::try_from(last.session_lifetime_ms).unwrap_or(0);
    Ok((lifetime > 0).then(|| Duration::from_millis(lifetime)))
}

async fn scram(
    connection: &Connection,
    credentials: &Credentials,
    hash: Hash,
) -> Result<SaslAuthenticateResponse, ConnectionError> {
    let mechanism = credentials.mechanism.name();
    let malformed = |source| failed(connection, AuthenticationError::Scram { mechanism, source });
    // Base64 has no comma.
    let nonce = BASE64.encode(rand::random::<[u8; NONCE_BYTES]>());
    let ours = Exchange::new(hash, &credentials.username, &credentials.password, nonce);
    let first = exchange(connection, credentials, ours.first()).await?;
    let (token, expected) = ours.answer(&first.auth_bytes).map_err(malformed)?;
    let last = exchange(connection, credentials, token).await?;
    expected.verify(&last.auth_bytes).map_err(malformed)?;
    Ok(last)
}

/// Sends one token and gives the answer that brings the next.
async fn exchange(
    connection: &Connection,
    credentials: &Credentials,
    token: String,
) -> Result<SaslAuthenticateResponse, ConnectionError> {
    let response = ask(connection, 0, &SaslAuthenticateRequest { auth_bytes: Bytes::from(token) }).await?;
    let mechanism = credentials.mechanism.name();
    match ErrorCode::from_code(response.error_code) {
        ErrorCode::None => Ok(response),
        ErrorCode::SaslAuthenticationFailed => {
            let (username, message) = (credentials.username.clone(), response.error_message);
            Err(failed(connection, AuthenticationError::Refused { mechanism, username, message }))
        }
        ErrorCode::IllegalSaslState => Err(failed(connection, AuthenticationError::NoSasl)),
        code => Err(failed(connection, AuthenticationError::Broker { mechanism, code })),
    }
}

/// Asks outside the turns that other requests wait for: while the client authenticates anew these may all be taken.
async fn ask<R: Request>(connection: &Connection, oldest: i16, message: &R) -> Result<R::Response, ConnectionError> {
    let version = connection.version_from::<R>(oldest, i16::MAX)?;
    let answer = connection.exchange_later(message, version, connection.request_timeout).await;
    connection.decode::<R>(&answer.unwrap_or_else(|_| Err(connection.closed()))?, version)
}

fn failed(connection: &Connection, source: AuthenticationError) -> ConnectionError {
    ConnectionError::Authentication { address: connection.address.to_string(), source }
}
