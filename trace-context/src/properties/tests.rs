//! Java's Properties format, and the contexts read from it.

use proptest::prelude::*;

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The entries of `text` as Java's `Properties.load` gives them, in order.
fn check_entries(text: &str, expected: &[(&str, &str)]) {
    let entries: Vec<_> = Entries { characters: text.chars().peekable() }.flatten().collect();
    let entries: Vec<_> = entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(entries, expected, "{text:?}");
}

#[test]
fn separator_is_an_equals_sign_a_colon_or_blanks() {
    for text in ["k=v", "k:v", "k v", "k\tv", "k\u{c}v", "k = v", "k : v", "  k=v", "k   v", "k  =  v", "k=\\\n  v"] {
        check_entries(text, &[("k", "v")]);
    }
    check_entries("k==v", &[("k", "=v")]);
    check_entries("k = = v", &[("k", "= v")]);
    check_entries("k =: v", &[("k", ": v")]);
    check_entries("=v", &[("", "v")]);
    check_entries("k", &[("k", "")]);
    check_entries("k=", &[("k", "")]);
    check_entries("k=v ", &[("k", "v ")]);
}

#[test]
fn comments_and_blank_lines_are_skipped() {
    check_entries("#Thu Jan 01\n\n  \t\n !note\nk=v\n#end", &[("k", "v")]);
    check_entries("#a comment does not go on \\\nk=v", &[("k", "v")]);
    check_entries("k=v#not a comment", &[("k", "v#not a comment")]);
}

#[test]
fn every_line_end_ends_an_entry() {
    for end in ["\n", "\r", "\r\n"] {
        check_entries(&format!("a=1{end}b=2{end}"), &[("a", "1"), ("b", "2")]);
        check_entries(&format!("a=1\\{end}   2{end}b=3"), &[("a", "12"), ("b", "3")]);
    }
}

#[test]
fn continued_line_may_hold_a_comment_sign_and_a_blank_one_ends_the_entry() {
    check_entries("a=1\\\n#2", &[("a", "1#2")]);
    check_entries("a=1\\\n\nb=2", &[("a", "1"), ("b", "2")]);
    check_entries("a=1\\", &[("a", "1")]);
    check_entries("a=1\\\\\nb=2", &[("a", "1\\"), ("b", "2")]);
    check_entries("ke\\\n  y=v", &[("key", "v")]);
}

#[test]
fn escapes_are_undone() {
    check_entries("a\\=b\\:c\\ d=1", &[("a=b:c d", "1")]);
    check_entries("k=\\t\\n\\r\\f\\\\\\q\\ \\#", &[("k", "\t\n\r\u{c}\\q #")]);
    check_entries("k=\\u00e9\\u20AC\\uD83D\\uDE00", &[("k", "é€😀")]);
    check_entries("\\u006b=v", &[("k", "v")]);
}

#[test]
fn entry_with_a_malformed_escape_is_left_out_alone() {
    for value in ["\\u", "\\u12", "\\u12g4", "\\uD83D", "\\uDE00", "\\uD83Dx", "\\uD83D\\uD83D"] {
        check_entries(&format!("a=1\nbad={value}\nb=2"), &[("a", "1"), ("b", "2")]);
    }
}

#[test]
fn bare_traceparent_is_a_context() {
    for text in [PARENT.to_owned(), format!("  {PARENT}\n"), format!("{PARENT}\r\n")] {
        assert_eq!(TracingSpanContext::parse(&text).unwrap().traceparent.to_string(), PARENT, "{text:?}");
    }
}

#[test]
fn properties_text_is_a_context_with_its_state_and_baggage() {
    let text =
        format!("#Wed Jun 04 10:11:12 UTC 2025\ntraceparent={PARENT}\ntracestate=rojo\\=1\nbaggage: user\\=42\n");
    let context = TracingSpanContext::parse(&text).unwrap();
    assert_eq!(context.traceparent.to_string(), PARENT);
    assert_eq!(context.tracestate.unwrap().as_str(), "rojo=1");
    assert_eq!(context.baggage.unwrap(), "user=42");
}

#[test]
fn properties_text_may_hold_b3() {
    let single = "b3=4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1";
    let many = "X-B3-TraceId=4bf92f3577b34da6a3ce929d0e0e4736\nX-B3-SpanId=00f067aa0ba902b7\nX-B3-Sampled=1";
    for text in [single, many] {
        assert_eq!(TracingSpanContext::parse(text).unwrap().traceparent.to_string(), PARENT, "{text}");
    }
    assert_eq!(TracingSpanContext::extract("b3=0"), Extraction::Denied);
}

#[test]
fn last_of_a_repeated_key_counts() {
    let other = PARENT.replace("4bf9", "aaaa");
    let context = TracingSpanContext::parse(&format!("traceparent={other}\ntraceparent={PARENT}")).unwrap();
    assert_eq!(context.traceparent.to_string(), PARENT);
}

#[test]
fn text_without_a_valid_context_is_absent() {
    for text in ["", " ", "null", "{}", "traceparent=", "traceparent=00-1-1-01", "\\", "=", "tracestate=a=1"] {
        assert_eq!(TracingSpanContext::extract(text), Extraction::Absent, "{text:?}");
    }
}

#[test]
fn text_beyond_its_limit_is_absent() {
    let comment = format!("#{}\n", "x".repeat(MAX_PROPERTIES_BYTES));
    assert_eq!(TracingSpanContext::extract(&format!("{comment}traceparent={PARENT}")), Extraction::Absent);
    let padding = MAX_PROPERTIES_BYTES - "\ntraceparent=".len() - PARENT.len() - 1;
    let fits = format!("#{}\ntraceparent={PARENT}", "x".repeat(padding));
    assert_eq!(fits.len(), MAX_PROPERTIES_BYTES);
    assert!(TracingSpanContext::parse(&fits).is_some());
}

#[test]
fn context_without_state_and_baggage_is_one_line() {
    let context = TraceContext::from(PARENT.parse::<TraceParent>().unwrap());
    assert_eq!(TracingSpanContext::format(&context), format!("traceparent={PARENT}"));
}

proptest! {
    #[test]
    fn written_context_is_read_back(
        tracestate in proptest::option::of("[a-z]{1,9}=[!-+--<>-~]{1,9}(,[0-9]{1,9}=[!-+]{1,9})?"),
        baggage in proptest::option::of("[^\\pC\\pZ]([^\\p{Cc}]{0,40}[^\\pC\\pZ])?"),
    ) {
        let context = TraceContext {
            traceparent: PARENT.parse().unwrap(),
            tracestate: tracestate.and_then(|text| text.parse().ok()),
            baggage,
        };
        prop_assert_eq!(TracingSpanContext::parse(&TracingSpanContext::format(&context)), Some(context));
    }

    #[test]
    fn any_value_survives_escaping(value in any::<String>()) {
        let mut text = String::from("k=");
        escape_into(&value, &mut text);
        let entries: Vec<_> = Entries { characters: text.chars().peekable() }.collect();
        prop_assert_eq!(entries, vec![Some((String::from("k"), value))]);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = TracingSpanContext::extract(&text);
    }

    #[test]
    fn arbitrary_text_of_meaningful_characters_never_panics(text in "(traceparent|[ \\t\\f\\r\\n=:#!\\\\u0-9a-fD]){0,60}") {
        let _ = TracingSpanContext::extract(&text);
    }
}
