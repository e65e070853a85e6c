//! W3C `tracestate`: what tracing systems on a request's way have left for themselves, carried along untouched.
//!
//! Kept as one validated text, because nobody here reads its members: a record's header is that text again.
//! Invariant: 1 to 32 list members with distinct keys, at most 512 bytes, no blanks around members, never empty.

use std::fmt;
use std::str::FromStr;

/// List members a `tracestate` may have (W3C Trace Context, 3.3.1.1).
pub const MAX_TRACESTATE_MEMBERS: usize = 32;
/// Bytes of a `tracestate` we send. The specification asks that at least 512 be carried; beyond it whole members go.
pub const MAX_TRACESTATE_BYTES: usize = 512;
/// Bytes of a text looked at: 32 of the longest members with their separators fit; a longer one is refused unread.
const MAX_INPUT_BYTES: usize = 20 * 1024;
/// Members longer than this are the first to go when the whole is too long (W3C Trace Context, 3.3.1.5).
const LARGE_MEMBER_BYTES: usize = 128;

/// A valid, non-empty `tracestate`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TraceState(String);

/// Why a text is no `tracestate` worth sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTraceState {
    /// No member at all: an empty `tracestate` is not sent.
    #[error("a tracestate has at least one member")]
    Empty,
    /// More than 32 members, or a text no 32 members could fill.
    #[error("a tracestate has at most 32 members")]
    TooManyMembers,
    /// A member is not `key=value`, or one of the two has characters or a length that are not allowed.
    #[error("a tracestate member is not key=value as W3C Trace Context asks")]
    Member,
}

impl TraceState {
    /// Reads and validates a `tracestate`.
    ///
    /// Empty members and blanks around members are dropped. Of members with the same key the first, which is the
    /// newest, stays. A text longer than 512 bytes loses its members above 128 bytes first, then members from the end.
    pub fn parse(text: &str) -> Result<Self, InvalidTraceState> {
        if text.len() > MAX_INPUT_BYTES {
            return Err(InvalidTraceState::TooManyMembers);
        }
        let mut members: Vec<&str> = Vec::new();
        let mut count = 0;
        for member in text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty())
        {
            count += 1;
            if count > MAX_TRACESTATE_MEMBERS {
                return Err(InvalidTraceState::TooManyMembers);
            }
            let key = valid_key_of(member).ok_or(InvalidTraceState::Member)?;
            let is_repeated = members.iter().any(|earlier| valid_key_of(earlier) == Some(key));
            if !is_repeated {
                members.push(member);
            }
        }
        shorten(&mut members);
        if members.is_empty() {
            return Err(InvalidTraceState::Empty);
        }
        Ok(Self(members.join(",")))
    }

    /// The text as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Keys and values, newest first.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split(',').filter_map(|member| member.split_once('='))
    }

    /// The same in OpenTelemetry's terms.
    pub fn to_opentelemetry(&self) -> opentelemetry::trace::TraceState {
        // Both follow the same rules; should they ever differ, no trace state is better than a lost trace.
        opentelemetry::trace::TraceState::from_key_value(self.members()).unwrap_or_default()
    }

    /// The trace state of an OpenTelemetry span, or `None` if there is nothing to send.
    pub fn from_opentelemetry(state: &opentelemetry::trace::TraceState) -> Option<Self> {
        Self::parse(&state.header()).ok()
    }
}

impl FromStr for TraceState {
    type Err = InvalidTraceState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for TraceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// Makes the joined members fit, by whole members only: a cut value would be a lie.
fn shorten(members: &mut Vec<&str>) {
    let joined_length =
        |members: &[&str]| members.iter().map(|member| member.len() + 1).sum::<usize>().saturating_sub(1);
    while joined_length(members) > MAX_TRACESTATE_BYTES {
        match members.iter().rposition(|member| member.len() > LARGE_MEMBER_BYTES) {
            Some(large) => drop(members.remove(large)),
            None => drop(members.pop()),
        }
    }
}

/// The key of a valid `key=value`, else `None`.
fn valid_key_of(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    (is_valid_key(key) && is_valid_value(value)).then_some(key)
}

/// A simple key of up to 256 characters, or `tenant@system` of up to 241 and 14. The tenant or simple key may begin
/// with a digit (level 2 of the specification).
fn is_valid_key(key: &str) -> bool {
    match key.split_once('@') {
        None => is_valid_key_part(key, 256),
        Some((tenant, system)) => is_valid_key_part(tenant, 241) && is_valid_key_part(system, 14),
    }
}

fn is_valid_key_part(part: &str, longest: usize) -> bool {
    let starts_well = part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let continues_well = part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'));
    starts_well && continues_well && part.len() <= longest
}

/// 1 to 256 printable ASCII characters without `,` and `=`, the last one no blank.
fn is_valid_value(value: &str) -> bool {
    let is_printable = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && byte != b',' && byte != b'=');
    is_printable && !value.is_empty() && value.len() <= 256 && !value.ends_with(' ')
}

#[cfg(test)]
mod tests;
