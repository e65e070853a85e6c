//! The client's side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677). Pure: the nonce is an argument.
//!
//! ```text
//! client  n,,n=user,r=nonce                       →
//!         ← r=nonce+theirs,s=salt,i=iterations      server
//! client  c=biws,r=nonce+theirs,p=proof           →
//!         ← v=signature                             server
//! ```
//!
//! The password never leaves; the server proves in the last message that it knows what was derived from it. Names and
//! passwords are taken as they are, without SASLprep, as Kafka's own clients and brokers take them.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use thiserror::Error;

use super::Secret;

/// Fewest rounds accepted, as Kafka's clients: fewer make guessing cheap.
const ITERATIONS_MIN: u32 = 4_096;
/// Most rounds accepted, tens of milliseconds of work; Kafka's brokers store at most 16,384.
const ITERATIONS_MAX: u32 = 65_536;
/// Longest message of a server, in bytes; a usual one has about 120.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// `n,,` in base64: no channel binding, no other identity.
const CHANNEL: &str = "biws";

/// What a server said that it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScramError {
    /// A message that does not follow RFC 5802.
    #[error("message {0} of the server is not SCRAM's")]
    Malformed(&'static str),
    /// The server's nonce does not begin with the client's.
    #[error("the server answered another client's first message")]
    Nonce,
    /// A number of rounds outside what is accepted.
    #[error("the server wants {0} rounds of hashing, outside 4096 to 65536")]
    Iterations(u32),
    /// The server does not know what only the real one can.
    #[error("the server cannot prove that it knows the password: it is not the broker it claims to be")]
    Signature,
    /// The server ended the exchange with an error of its own.
    #[error("the server refused the proof")]
    Refused,
}

/// A hash function in the three ways SCRAM uses it.
#[derive(Clone, Copy)]
pub(crate) struct Hash {
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

impl Hash {
    /// Of SCRAM-SHA-256.
    pub(crate) fn sha256() -> Self {
        Self { digest: &digest::SHA256, hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256 }
    }

    /// Of SCRAM-SHA-512.
    pub(crate) fn sha512() -> Self {
        Self { digest: &digest::SHA512, hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512 }
    }
}

/// An exchange that has begun.
pub(crate) struct Exchange<'a> {
    hash: Hash,
    password: &'a Secret,
    nonce: String,
    /// The client's first message without its header.
    first_bare: String,
}

impl<'a> Exchange<'a> {
    /// Begins with a nonce of printable characters but the comma.
    pub(crate) fn new(hash: Hash, username: &str, password: &'a Secret, nonce: String) -> Self {
        let username = username.replace('=', "=3D").replace(',', "=2C");
        let first_bare = format!("n={username},r={nonce}");
        Self { hash, password, nonce, first_bare }
    }

    /// The client's first message.
    pub(crate) fn first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// The client's last message, and what checks the server's.
    ///
    /// # Errors
    /// [`ScramError`] when the server's first message is not one.
    pub(crate) fn answer(&self, server_first: &[u8]) -> Result<(String, Expected), ScramError> {
        let text = message(server_first, "1")?;
        let mut attributes = text.split(',');
        let mut attribute = |name| attributes.next().and_then(|one| one.strip_prefix(name));
        let malformed = ScramError::Malformed("1");
        let nonce = attribute("r=").ok_or(malformed)?;
        let salt = attribute("s=").and_then(|salt| BASE64.decode(salt).ok()).ok_or(malformed)?;
        let iterations: u32 = attribute("i=").and_then(|count| count.parse().ok()).ok_or(malformed)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ScramError::Nonce);
        }
        let Some(rounds) =
            NonZeroU32::new(iterations).filter(|_| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations))
        else {
            return Err(ScramError::Iterations(iterations));
        };
        let mut salted = vec![0; self.hash.digest.output_len()];
        pbkdf2::derive(self.hash.pbkdf2, rounds, &salt, self.password.expose().as_bytes(), &mut salted);
        let salted = hmac::Key::new(self.hash.hmac, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest, client_key.as_ref());
        let without_proof = format!("c={CHANNEL},r={nonce}");
        let said = format!("{},{text},{without_proof}", self.first_bare);
        let signature = hmac::sign(&hmac::Key::new(self.hash.hmac, stored_key.as_ref()), said.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, sign)| key ^ sign).collect();
        let server_key = hmac::Key::new(self.hash.hmac, hmac::sign(&salted, b"Server Key").as_ref());
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), Expected { server_key, said }))
    }
}

/// What the server has to sign in its last message.
pub(crate) struct Expected {
    server_key: hmac::Key,
    said: String,
}

impl Expected {
    /// Whether the server knows what was derived from the password.
    ///
    /// # Errors
    /// [`ScramError`].
    pub(crate) fn verify(&self, server_final: &[u8]) -> Result<(), ScramError> {
        let text = message(server_final, "2")?;
        if text.starts_with("e=") {
            return Err(ScramError::Refused);
        }
        let signature = text.split(',').next().and_then(|one| one.strip_prefix("v="));
        let signature = signature.and_then(|signature| BASE64.decode(signature).ok());
        let signature = signature.ok_or(ScramError::Malformed("2"))?;
        hmac::verify(&self.server_key, self.said.as_bytes(), &signature).map_err(|_| ScramError::Signature)
    }
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").finish_non_exhaustive()
    }
}

fn message<'a>(bytes: &'a [u8], which: &'static str) -> Result<&'a str, ScramError> {
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= MESSAGE_BYTES_MAX).ok_or(ScramError::Malformed(which))?;
    std::str::from_utf8(bytes).map_err(|_| ScramError::Malformed(which))
}

#[cfg(test)]
mod tests;
