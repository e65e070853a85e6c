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
fn properties_text_holds_what_came_in_and_no_empty_tracestate() {
    let plain = remote([("traceparent", TRACEPARENT)]);
    assert_eq!(as_properties(&plain).unwrap(), format!("traceparent={TRACEPARENT}"));

    let full = remote([("baggage", "tenant=acme"), ("tracestate", r"vendor=a\b"), ("traceparent", TRACEPARENT)]);
    assert_eq!(
        as_properties(&full).unwrap(),
        format!("traceparent={TRACEPARENT}\ntracestate=vendor=a\\\\b\nbaggage=tenant=acme")
    );
}

#[test]
fn no_span_makes_no_properties_text() {
    assert_eq!(as_properties(&Context::new()), None);
    assert_eq!(current_as_properties(), None);
    assert_eq!(current_trace_id(), None);
}

#[test]
fn bad_tracestate_does_not_spoil_the_traceparent() {
    let context = remote([("traceparent", TRACEPARENT), ("tracestate", "no equals sign")]);
    assert_eq!(as_properties(&context).unwrap(), format!("traceparent={TRACEPARENT}"));
}
