//! What `OTEL_PROPAGATORS` makes of headers.

use super::*;

const W3C: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const B3: &str = "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1";

fn named(names: &str) -> Propagators {
    Propagators::named(names.split(',')).0
}

fn read(propagators: Propagators, headers: &[(&str, &str)]) -> Option<TraceContext> {
    propagators.extract(headers.iter().map(|(name, value)| (*name, Some(value.as_bytes())))).into_context()
}

fn written(propagators: Propagators, context: &TraceContext) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    propagators.inject(context, |name, value| headers.push((name, String::from_utf8(value.to_vec()).unwrap())));
    headers
}

fn context() -> TraceContext {
    let headers = [("traceparent", W3C), ("tracestate", "vendor=1"), ("baggage", "user=ada")];
    read(Propagators::DEFAULT, &headers).unwrap()
}

#[test]
fn everything_is_read_and_w3c_written_unless_somebody_says_otherwise() {
    assert_eq!(read(Propagators::DEFAULT, &[("b3", B3)]).unwrap().traceparent.to_string()[3..35], B3[..32]);
    let both = read(Propagators::DEFAULT, &[("b3", B3), ("traceparent", W3C)]).unwrap();
    assert_eq!(both.traceparent.to_string(), W3C, "W3C comes first");
    let names: Vec<_> = written(Propagators::DEFAULT, &context()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["traceparent", "tracestate", "baggage"]);
}

#[test]
fn only_what_is_named_is_read() {
    let headers = [("traceparent", W3C), ("b3", B3), ("baggage", "user=ada")];
    let of_b3 = read(named("b3"), &headers).unwrap();
    assert_eq!(of_b3.traceparent.to_string()[3..35], B3[..32]);
    assert_eq!(of_b3.baggage, None);
    assert_eq!(read(named("tracecontext"), &headers[1..]), None);
    assert_eq!(read(named("b3multi,baggage"), &headers).unwrap().baggage.as_deref(), Some("user=ada"));
    assert_eq!(read(named("none"), &headers), None);
}

#[test]
fn only_what_is_named_is_written() {
    let single = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1".to_owned();
    assert_eq!(written(named("b3"), &context()), [("b3", single)]);
    let multi = [
        ("X-B3-TraceId", "4bf92f3577b34da6a3ce929d0e0e4736".to_owned()),
        ("X-B3-SpanId", "00f067aa0ba902b7".to_owned()),
        ("X-B3-Sampled", "1".to_owned()),
    ];
    assert_eq!(written(named("b3multi"), &context()), multi);
    let all: Vec<_> = written(named("baggage,b3,tracecontext"), &context()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(all, ["traceparent", "tracestate", "baggage", "b3"]);
    assert_eq!(written(named("none"), &context()), []);
}

#[test]
fn names_that_are_not_known_are_told_and_alone_change_nothing() {
    assert_eq!(Propagators::named(["jaeger"]), (Propagators::DEFAULT, vec!["jaeger"]));
    let (found, unknown) = Propagators::named(["b3", "xray"]);
    assert_eq!((found, unknown), (named("b3"), vec!["xray"]));
}
