//! What is seen in a batch, and that hostile ones are left alone.

use pillion_wire::records::{BatchBuilder, Record, RecordHeader};

use super::*;

fn batch(headers: &[(&str, Option<&str>)]) -> (BatchHeader, Bytes) {
    let header = |(name, value): &(&str, Option<&str>)| RecordHeader {
        key: (*name).into(),
        value: value.map(|value| value.to_owned().into()),
    };
    let mut builder = BatchBuilder::new(Compression::None);
    let headers = headers.iter().map(header).collect();
    let (key, value) = (Some(Bytes::from_static(b"key")), Some(Bytes::from(vec![b'v'; 300])));
    builder.push(&Record { key, value, headers, ..Record::default() });
    let batch = builder.build(None).expect("builds");
    (BatchHeader::verify(&batch).expect("whole"), batch)
}

fn seen(headers: &[(&str, Option<&str>)]) -> Vec<String> {
    let (header, batch) = batch(headers);
    sampled(&header, &batch).iter().map(|context| context.span_id().to_string()).collect()
}

const W3C: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn the_last_context_of_a_record_counts_whatever_its_format() {
    assert_eq!(seen(&[("TraceParent", Some(W3C))]), ["00f067aa0ba902b7"]);
    let later = W3C.replace("00f067aa0ba902b7", "1111111111111111");
    assert_eq!(seen(&[("traceparent", Some(W3C)), ("traceparent", Some(&later))]), ["1111111111111111"]);
    assert_eq!(seen(&[("b3", Some("80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1"))]), ["e457b5a2e4d86bd1"]);
    let many = [
        ("X-B3-TraceId", Some("80f198ee56343ba864fe8b2a57d3eff7")),
        ("X-B3-SpanId", Some("e457b5a2e4d86bd1")),
        ("X-B3-Sampled", Some("1")),
    ];
    assert_eq!(seen(&many), ["e457b5a2e4d86bd1"]);
}

#[test]
fn what_is_no_sampled_context_is_not_seen() {
    for value in [None, Some(""), Some("00-1-1-01"), Some(&*W3C.replace("-01", "-00"))] {
        assert!(seen(&[("traceparent", value), ("other", Some(W3C))]).is_empty(), "{value:?}");
    }
}

#[test]
fn a_batch_cut_or_spoilt_at_any_byte_is_looked_at_without_harm() {
    let (header, whole) = batch(&[("traceparent", Some(W3C)), ("id", Some("1"))]);
    for end in 0..whole.len() {
        let _ = sampled(&header, &whole.slice(..end));
        let mut spoilt = whole.to_vec();
        spoilt[end] ^= 0xff;
        let _ = sampled(&BatchHeader { record_count: i32::MAX, ..header }, &spoilt.into());
    }
}
