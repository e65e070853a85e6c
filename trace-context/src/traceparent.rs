//! W3C `traceparent`: the 55 characters that name a trace and the span a message came from.
//!
//! ```text
//! 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//! |  |                                |                flags: bit 0 sampled, bit 1 random trace id
//! |  |                                parent id, 8 bytes, not all zero
//! |  trace id, 16 bytes, not all zero
//! version; `ff` is forbidden
//! ```
//!
//! Parsed by hand because the SDK's propagator accepts what the specification forbids (`00-1-1-01`) and forgets the
//! random bit. Invariant: a value of these types is valid: no zero id can be built.

use std::fmt;
use std::str::FromStr;

use opentelemetry::trace::{SpanContext, TraceFlags};

/// Length of a version 00 `traceparent` in bytes.
pub const TRACEPARENT_LENGTH: usize = 55;

/// Flag bit of W3C Trace Context: the caller may have recorded this trace.
const FLAG_SAMPLED: u8 = 0x01;
/// Flag bit of W3C Trace Context level 2: the right-most 7 bytes of the trace id are random.
const FLAG_RANDOM: u8 = 0x02;
/// The flags whose meaning is known; the others are written as zero, as the specification asks.
const KNOWN_FLAGS: u8 = FLAG_SAMPLED | FLAG_RANDOM;

/// Identity of a trace: 16 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Identity of a span within its trace: 8 bytes, not all zero. W3C calls it `parent-id` where it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// Where a message comes from: its trace, the span that sent it, and whether that span was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The span that sent the message.
    pub parent_id: SpanId,
    /// Sampled (bit 0) and random (bit 1); other bits are ignored when written.
    pub flags: u8,
}

/// Why a text is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTraceParent {
    /// Not 55 bytes (version 00), or shorter than 55 (any version), or longer without `-` at byte 55.
    #[error("a traceparent of this version has another length than 55 bytes")]
    Length,
    /// A `-` is missing where a field ends.
    #[error("a traceparent has '-' at bytes 2, 35 and 52")]
    Delimiter,
    /// Something else than `0-9a-f`; upper case is forbidden.
    #[error("a traceparent's fields are lower-case hexadecimal")]
    Hexadecimal,
    /// Version `ff`.
    #[error("traceparent version ff is forbidden")]
    Version,
    /// A trace id or parent id of zeros only.
    #[error("a traceparent's ids are not all zeros")]
    ZeroId,
}

impl TraceId {
    /// The id of these bytes (big endian, as written), or `None` if all are zero.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// The bytes as they are written.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Reads 32 lower-case hexadecimal digits.
    pub(crate) fn from_hex(text: &[u8]) -> Result<Self, InvalidTraceParent> {
        Self::from_bytes(decode_hex(text)?).ok_or(InvalidTraceParent::ZeroId)
    }
}

impl SpanId {
    /// The id of these bytes (big endian, as written), or `None` if all are zero.
    pub fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    /// The bytes as they are written.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0
    }

    /// Reads 16 lower-case hexadecimal digits.
    pub(crate) fn from_hex(text: &[u8]) -> Result<Self, InvalidTraceParent> {
        Self::from_bytes(decode_hex(text)?).ok_or(InvalidTraceParent::ZeroId)
    }
}

impl TraceParent {
    /// Reads a `traceparent` as W3C Trace Context asks, without allocating.
    ///
    /// Version 00 has exactly 55 bytes. A higher version is read by its first 55 bytes; when it is longer, a `-`
    /// must follow them. Surrounding blanks are not accepted: whoever holds a header trims it first.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidTraceParent> {
        let Some((fields, rest)) = text.split_at_checked(TRACEPARENT_LENGTH) else {
            return Err(InvalidTraceParent::Length);
        };
        if fields[2] != b'-' || fields[35] != b'-' || fields[52] != b'-' {
            return Err(InvalidTraceParent::Delimiter);
        }
        let [version] = decode_hex::<1>(&fields[..2])?;
        let length_is_valid = rest.is_empty() || (version > 0 && rest[0] == b'-');
        if version == 0xff {
            return Err(InvalidTraceParent::Version);
        }
        if !length_is_valid {
            return Err(InvalidTraceParent::Length);
        }
        let trace_id = TraceId::from_hex(&fields[3..35])?;
        let parent_id = SpanId::from_hex(&fields[36..52])?;
        let [flags] = decode_hex::<1>(&fields[53..])?;
        Ok(Self { trace_id, parent_id, flags: flags & KNOWN_FLAGS })
    }

    /// Whether the sender may have recorded its span.
    pub fn is_sampled(&self) -> bool {
        self.flags & FLAG_SAMPLED != 0
    }

    /// Whether the trace id's right-most 7 bytes were made at random (W3C Trace Context level 2).
    pub fn is_random(&self) -> bool {
        self.flags & FLAG_RANDOM != 0
    }

    /// Writes version 00, without allocating. The result is ASCII.
    pub fn to_bytes(&self) -> [u8; TRACEPARENT_LENGTH] {
        let mut text = [b'-'; TRACEPARENT_LENGTH];
        encode_hex(&[0], &mut text[..2]);
        encode_hex(&self.trace_id.0, &mut text[3..35]);
        encode_hex(&self.parent_id.0, &mut text[36..52]);
        encode_hex(&[self.flags & KNOWN_FLAGS], &mut text[53..]);
        text
    }

    /// The same in OpenTelemetry's terms: a remote parent without `tracestate`.
    pub fn to_span_context(&self) -> SpanContext {
        self.to_span_context_with(opentelemetry::trace::TraceState::NONE)
    }

    pub(crate) fn to_span_context_with(self, trace_state: opentelemetry::trace::TraceState) -> SpanContext {
        SpanContext::new(self.trace_id.into(), self.parent_id.into(), TraceFlags::new(self.flags), true, trace_state)
    }

    /// The span of an OpenTelemetry context, or `None` if that has no valid ids (a span that is not recorded by
    /// anyone, or that was started after shutdown).
    pub fn from_span_context(context: &SpanContext) -> Option<Self> {
        let trace_id = TraceId::from_bytes(context.trace_id().to_bytes())?;
        let parent_id = SpanId::from_bytes(context.span_id().to_bytes())?;
        Some(Self { trace_id, parent_id, flags: context.trace_flags().to_u8() & KNOWN_FLAGS })
    }
}

impl From<TraceId> for opentelemetry::TraceId {
    fn from(id: TraceId) -> Self {
        opentelemetry::TraceId::from_bytes(id.0)
    }
}

impl From<SpanId> for opentelemetry::SpanId {
    fn from(id: SpanId) -> Self {
        opentelemetry::SpanId::from_bytes(id.0)
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text.as_bytes())
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ascii(formatter, &self.to_bytes())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 32];
        encode_hex(&self.0, &mut text);
        write_ascii(formatter, &text)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 16];
        encode_hex(&self.0, &mut text);
        write_ascii(formatter, &text)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TraceId({self})")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SpanId({self})")
    }
}

fn write_ascii(formatter: &mut fmt::Formatter<'_>, text: &[u8]) -> fmt::Result {
    formatter.pad(std::str::from_utf8(text).expect("hexadecimal digits and dashes are ASCII"))
}

fn encode_hex(bytes: &[u8], text: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (byte, pair) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0x0f)];
    }
}

fn decode_hex<const BYTES: usize>(text: &[u8]) -> Result<[u8; BYTES], InvalidTraceParent> {
    if text.len() != 2 * BYTES {
        return Err(InvalidTraceParent::Length);
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(bytes)
}

fn digit(character: u8) -> Result<u8, InvalidTraceParent> {
    match character {
        b'0'..=b'9' => Ok(character - b'0'),
        b'a'..=b'f' => Ok(character - b'a' + 10),
        _ => Err(InvalidTraceParent::Hexadecimal),
    }
}

#[cfg(test)]
mod tests;
