//! A look at the trace headers of a batch's records, without decompressing, copying or decoding anything else.
//!
//! Records are walked by their lengths: some ten variable-length integers each. Of a compressed batch nothing is seen.

use bytes::Bytes;
use opentelemetry::trace::SpanContext;
use pillion_trace_context::Propagators;
use pillion_wire::records::{BatchHeader, Compression, HEADER_BYTES};
use pillion_wire::{DecodeError, Reader};

/// Sampled records that are noted: a span has no more links.
const CONTEXTS_MAX: usize = 128;
/// Trace headers of one record that are looked at; the context is told by one, or by B3's four.
const CANDIDATES_MAX: usize = 8;

/// A header that may tell of a trace: its name and value.
type Candidate<'a> = (&'a str, Option<&'a [u8]>);

/// The contexts of the sampled records, in their order. What cannot be read ends the look: it is told elsewhere.
pub(super) fn sampled(header: &BatchHeader, batch: &Bytes) -> Vec<SpanContext> {
    let mut found = Vec::new();
    if batch.len() < HEADER_BYTES || !matches!(header.compression(), Ok(Compression::None)) {
        return found;
    }
    let body = batch.slice(HEADER_BYTES..);
    let mut reader = Reader::new(&body);
    let propagators = Propagators::in_force();
    let mut candidates = [("", None); CANDIDATES_MAX];
    for _ in 0..header.record_count {
        let Ok(count) = next_record(&mut reader, &mut candidates) else { break };
        if count == 0 {
            continue;
        }
        let context = propagators.extract(candidates[..count].iter().copied()).into_context();
        if let Some(context) = context.filter(|context| context.traceparent.is_sampled()) {
            found.push(context.to_span_context());
            if found.len() == CONTEXTS_MAX {
                break;
            }
        }
    }
    found
}

/// Steps over one record, and puts the headers of it that may tell of a trace in front; answers how many they are.
fn next_record<'a>(
    reader: &mut Reader<'a>,
    candidates: &mut [Candidate<'a>; CANDIDATES_MAX],
) -> Result<usize, DecodeError> {
    let mut count = 0;
    reader.get_varint()?;
    reader.get_i8()?;
    reader.get_varlong()?;
    reader.get_varint()?;
    skip(reader)?;
    skip(reader)?;
    for _ in 0..reader.get_varint()? {
        let name = bytes(reader)?.unwrap_or_default();
        let value = bytes(reader)?;
        if may_tell(name) && count < CANDIDATES_MAX {
            candidates[count] = (std::str::from_utf8(name).unwrap_or_default(), value);
            count += 1;
        }
    }
    Ok(count)
}

fn may_tell(name: &[u8]) -> bool {
    match name.len() {
        2 => name.eq_ignore_ascii_case(b"b3"),
        // The shortest and the longest of B3's many.
        10..=14 => {
            let is_b3 = name.get(..5).is_some_and(|front| front.eq_ignore_ascii_case(b"x-b3-"));
            is_b3 || name.eq_ignore_ascii_case(b"traceparent")
        }
        _ => false,
    }
}

fn skip(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    bytes(reader).map(|_| ())
}

fn bytes<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, DecodeError> {
    match reader.get_varint()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| DecodeError::InvalidLength(i64::from(length)))?;
            reader.take(length).map(Some)
        }
    }
}

#[cfg(test)]
mod tests;
