use super::*;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn is_joined(traceparent: &str) -> bool {
    remote([("traceparent", traceparent)]).span().span_context().is_valid()
}

#[test]
fn well_formed_traceparent_is_joined() {
    assert!(is_joined(TRACEPARENT));
    assert!(is_joined("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"));
    assert!(is_joined("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert!(is_joined("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
}

#[test]
fn malformed_traceparent_starts_a_new_trace() {
    for traceparent in [
        "",
        "00-1-1-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 ",
        "00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01",
    ] {
        assert!(!is_joined(traceparent), "{traceparent}");
    }
}

#[test]
fn last_header_of_a_name_counts() {
    let other = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01";
    let context = remote([("traceparent", other), ("Traceparent", TRACEPARENT)]);
    assert_eq!(context.span().span_context().span_id().to_string(), "b7ad6b7169203331");
}

#[test]
fn what_came_in_goes_out_and_no_empty_tracestate() {
    let plain = remote([("traceparent", TRACEPARENT)]);
    assert_eq!(fields(&plain), [("traceparent", TRACEPARENT.to_owned())]);

    let full = remote([("baggage", "tenant=acme"), ("tracestate", r"vendor=a\b"), ("traceparent", TRACEPARENT)]);
    assert_eq!(
        fields(&full),
        [
            ("traceparent", TRACEPARENT.to_owned()),
            ("tracestate", r"vendor=a\b".to_owned()),
            ("baggage", "tenant=acme".to_owned())
        ]
    );
}

#[test]
fn no_span_makes_no_headers() {
    assert_eq!(fields(&Context::new()), []);
    assert_eq!(current_fields(), []);
    assert_eq!(to_keep(), "");
    assert!(!kept("").span().span_context().is_valid());
    assert_eq!(current_trace_id(), None);
}

#[test]
fn a_kept_context_is_read_back() {
    let context = kept(&format!("traceparent: {TRACEPARENT}\nbaggage: tenant=acme"));
    assert_eq!(fields(&context)[0], ("traceparent", TRACEPARENT.to_owned()));
    assert_eq!(fields(&context)[1], ("baggage", "tenant=acme".to_owned()));
}

#[test]
fn zipkins_headers_are_joined_unless_there_is_a_traceparent() {
    let check = |headers: &[(&str, &str)], expected: Option<&str>| {
        let fields = fields(&remote(headers.iter().copied()));
        assert_eq!(fields.first().map(|(_, value)| value.as_str()), expected, "{headers:?}");
    };
    let trace = "0af7651916cd43dd8448eb211c80319c";
    check(&[("b3", &format!("{trace}-b7ad6b7169203331-1"))], Some(TRACEPARENT));
    check(&[("b3", &format!("{trace}-b7ad6b7169203331"))], Some(TRACEPARENT));
    check(&[("b3", &format!("{trace}-b7ad6b7169203331-d-00f067aa0ba902b7"))], Some(TRACEPARENT));
    check(
        &[("B3", "8448eb211c80319c-b7ad6b7169203331-0")],
        Some("00-00000000000000008448eb211c80319c-b7ad6b7169203331-00"),
    );
    check(&[("X-B3-TraceId", trace), ("X-B3-SpanId", "b7ad6b7169203331"), ("X-B3-Sampled", "1")], Some(TRACEPARENT));
    let other = ("b3", "000000000000000000000000000000aa-00000000000000aa-1");
    check(&[other, ("traceparent", TRACEPARENT)], Some(TRACEPARENT));
    for malformed in ["0", "", "-", "0af7-b7ad6b7169203331-1", "0000000000000000-b7ad6b7169203331-1", "\u{e9}-\u{e9}-1"]
    {
        check(&[("b3", malformed)], None);
    }
    check(&[("X-B3-TraceId", trace)], None);
}

#[test]
fn bad_tracestate_does_not_spoil_the_traceparent() {
    let context = remote([("traceparent", TRACEPARENT), ("tracestate", "no equals sign")]);
    assert_eq!(fields(&context), [("traceparent", TRACEPARENT.to_owned())]);
}
