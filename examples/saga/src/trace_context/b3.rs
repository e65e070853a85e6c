//! Zipkin's B3 headers, read only: `b3: {trace id}-{span id}[-{sampled}[-{parent}]]`, or one `x-b3-…` header for each.
//! Trace ids of 64 bits are filled up with zeroes.

/// All headers, in lower case.
pub(super) const FIELDS: [&str; 5] = ["b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled", "x-b3-flags"];

/// The same as a `traceparent`; `None` when there are no ids, or what is there is malformed. The single header goes
/// before the several ones.
pub(super) fn as_traceparent<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    if let Some(single) = header("b3") {
        let mut parts = single.split('-');
        return traceparent(parts.next()?, parts.next()?, parts.next());
    }
    // The flag 1 is "debug", which is more than sampled.
    let sampled = if header("x-b3-flags") == Some("1") { Some("d") } else { header("x-b3-sampled") };
    traceparent(header("x-b3-traceid")?, header("x-b3-spanid")?, sampled)
}

fn traceparent(trace_id: &str, span_id: &str, sampled: Option<&str>) -> Option<String> {
    let is_id = |text: &str, lengths: &[usize]| {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex && lengths.contains(&text.len()) && text.bytes().any(|byte| byte != b'0')
    };
    if !is_id(trace_id, &[16, 32]) || !is_id(span_id, &[16]) {
        return None;
    }
    let flags = match sampled {
        Some("1" | "d" | "true") => "01",
        // Left open is for us to decide; there is no such thing in a traceparent, and a trace we join is worth keeping.
        None => "01",
        Some(_) => "00",
    };
    Some(format!("00-{:0>32}-{}-{flags}", trace_id.to_ascii_lowercase(), span_id.to_ascii_lowercase()))
}
