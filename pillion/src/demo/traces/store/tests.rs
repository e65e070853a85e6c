//! What is kept and what goes.

use super::*;

fn span(number: u32, name: &str) -> SpanOfService {
    let mut span_id = vec![0; 8];
    span_id[4..].copy_from_slice(&number.to_be_bytes());
    SpanOfService { service: "order".into(), span: Span { span_id, name: name.to_owned(), ..Span::default() } }
}

fn id(number: u16) -> TraceId {
    let mut id = [1; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    id
}

#[test]
fn the_trace_that_came_first_goes_first() {
    let mut store = Store::default();
    for number in 0..=TRACES_MAX as u16 {
        store.add(id(number), span(1, "a"));
        store.add(id(number), span(2, "b"));
    }
    assert!(store.get(&id(0)).is_none());
    assert_eq!(store.traces().count(), TRACES_MAX);
    assert_eq!(store.get(&id(1)).map(|trace| trace.spans.len()), Some(2));
}

#[test]
fn a_span_that_comes_again_replaces_itself() {
    let mut store = Store::default();
    store.add(id(1), span(1, "first"));
    store.add(id(1), span(1, "second"));
    let names: Vec<_> = store.get(&id(1)).unwrap().spans.iter().map(|kept| kept.span.name.as_str()).collect();
    assert_eq!(names, ["second"]);
    assert_eq!(store.bytes, SPAN_BYTES + span(1, "second").span.encoded_len());
}

#[test]
fn spans_beyond_a_traces_bound_are_counted() {
    let mut store = Store::default();
    for number in 0..SPANS_OF_TRACE_MAX as u32 + 3 {
        store.add(id(1), span(number, "a"));
    }
    let trace = store.get(&id(1)).unwrap();
    assert_eq!((trace.spans.len(), trace.left_out), (SPANS_OF_TRACE_MAX, 3));
}

#[test]
fn bytes_are_bounded_however_few_the_spans() {
    let mut store = Store::default();
    let large = "x".repeat(BYTES_MAX / 4);
    for number in 0..10 {
        store.add(id(number), span(1, &large));
    }
    assert_eq!(store.traces().count(), 3);
    assert!(store.bytes <= BYTES_MAX);
    store.add(id(99), span(1, &"x".repeat(BYTES_MAX + 1)));
    assert!(store.get(&id(99)).is_none());
}
